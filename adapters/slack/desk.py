"""What carrying out an intent needs in one workspace: the engine, whom to ask and how to tell people.

Refusals are told to the person alone. Telling is best effort and never fails an event, since the command
has been decided by then.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from adapters.contract import ChatDefaults
from adapters.delivery.call_times import CallTimes
from adapters.errors import SurfaceError
from adapters.slack.answer_rights import AnswerRights
from adapters.slack.client import SlackClient
from adapters.slack.courtesy import Spawn
from adapters.slack.identity import PLATFORM, SlackIdentity, is_app
from adapters.slack.limits import REACT, TELL
from adapters.slack.pace import Pace
from adapters.slack.refusals import told_of
from adapters.slack.wire import text_at
from adapters.slack.workspaces import Workspace
from config.settings import SlackSettings
from config.slack_surface_settings import emoji
from engine.api import Applied, Binding, Engine
from engine.chat.commands import Unarchive, UserCommand
from engine.chat.content import Author
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import ChatId

logger = logging.getLogger(__name__)

TELL_SECONDS_MAX = 3.0
"""How long the next events of a thread may wait for one to be told of."""
DOWNLOADS_MAX = 4
"""Files that a process holds in memory at a time, on their way from Slack into the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What is the same in every workspace."""

    engine: Engine
    settings: SlackSettings
    defaults: ChatDefaults
    rights: AnswerRights
    spawn: Spawn
    times: CallTimes
    downloads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(DOWNLOADS_MAX))


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One workspace's desk: made for an event and forgotten after it."""

    house: House
    workspace: Workspace

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.house.engine

    @property
    def client(self) -> SlackClient:
        """The workspace's client."""
        return self.workspace.client

    @property
    def pace(self) -> Pace:
        """The pace of calls there that are no part of a reply."""
        return Pace(self.house.times, self.identity.installation)

    @property
    def identity(self) -> SlackIdentity:
        """Who we are there."""
        return self.workspace.identity

    async def submit(self, chat_id: ChatId, command: UserCommand) -> Applied | Refusal | None:
        """Submit; a chat that was put away is taken out again for it."""
        outcome = await self.engine.submit(chat_id, command)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.ARCHIVED:
            await self.engine.submit(chat_id, Unarchive())
            outcome = await self.engine.submit(chat_id, command)
        return outcome

    async def binding(self, channel: str, thread: str) -> Binding | None:
        """The chat that the thread belongs to, if it has one."""
        return await self.engine.bindings.find_binding(
            PLATFORM, self.identity.installation, channel, thread
        )

    async def binding_around(self, channel: str, ts: str) -> Binding | None:
        """The same for the thread that this message is in, or has. Raises SurfaceError.

        The ledger knows what we have posted; of other messages only Slack knows which thread they are in.
        """
        if (binding := await self.binding(channel, ts)) is not None:
            return binding
        installation = self.identity.installation
        found = await self.engine.bindings.find_by_page(PLATFORM, installation, channel, ts)
        if found is not None:
            return found
        messages, _ = await self.client.replies(channel, ts)
        thread = text_at(messages[0], "thread_ts") if messages else ""
        return await self.binding(channel, thread) if thread else None

    def author(self, user_id: str, names: dict[str, str]) -> Author:
        """A person as the author of what they said. `names` were asked of `people`, theirs as well."""
        return Author(
            identity=self.workspace.identity_of(user_id), name=names.get(user_id, user_id)
        )

    def acknowledge(self, channel: str, ts: str) -> None:
        """Show that a message was seen; nobody waits for it."""
        if seen := emoji(self.house.settings.seen_reaction):
            self.house.spawn(self._react(channel, ts, seen))

    async def _react(self, channel: str, ts: str, name: str) -> None:
        try:
            async with self.pace.call(REACT, channel):
                await self.client.add_reaction(channel, ts, name)
        except SurfaceError as error:
            logger.info("no reaction", extra={"action": "slack_not_told", "code": error.code})

    async def explain(self, refusal: Refusal, channel: str, thread: str, user_id: str) -> None:
        """Tell the person why not, where there is something to tell."""
        if text := told_of(refusal):
            await self.tell(channel, thread, user_id, text)
            return
        logger.info("refused", extra={"action": "slack_refused", "reason": refusal.reason.value})

    async def tell(self, channel: str, thread: str, user_id: str, text: str) -> None:
        """Tell one person alone, if Slack lets us. Apps are told nothing."""
        if not channel or not user_id or is_app(user_id):
            return
        try:
            async with self.pace.call(TELL, channel, seconds_max=TELL_SECONDS_MAX):
                await self.client.post_ephemeral(
                    channel=channel, thread=thread, user=user_id, text=text
                )
        except SurfaceError as error:
            logger.info("not told", extra={"action": "slack_not_told", "code": error.code})
