"""Reactions at questions that tell how their answers are getting on. One sign among others, see status_board.

Theory of operation. A message has one of our reactions at a time: what it shows next is put first, then what
it showed before is taken away. What this process has put is remembered; of a message that another one has
looked after, Slack is asked for it. A message whose turn ended while the next one
began is looked up in the chat, so that none stays marked as being worked on.
"""

from collections import OrderedDict
from typing import Final

from adapters.contract import Place
from adapters.delivery.call_times import CallTimes
from adapters.delivery.thread_status import Condition, ThreadStatus
from adapters.slack.limits import LOOK, REACT, UNREACT
from adapters.slack.pace import Pace
from adapters.slack.workspaces import Workspace
from config.settings import SlackSettings
from config.slack_surface_settings import emoji
from engine.api import Engine, MessageRef
from engine.chat.content import Finish, Role
from engine.chat.ids import ChatId, MessageId

THREADS_MAX: Final = 10_000
PATIENCE_SECONDS: Final = 120.0
"""How long a reaction waits for its turn: nobody waits for it, but one that is out of date misleads."""
_TURN_MAX: Final = 200
"""Messages of a turn that are looked at to find out how it ended."""
_Shown = tuple[str, Condition]


class Reactions:
    """The reactions of all threads that a process tells of."""

    def __init__(self, engine: Engine, settings: SlackSettings, times: CallTimes) -> None:
        self._engine = engine
        self._times = times
        self._seen = emoji(settings.seen_reaction)
        self._by_condition = {
            Condition.WORKING: emoji(settings.working_reaction),
            Condition.ASKING: emoji(settings.working_reaction),
            Condition.DONE: emoji(settings.done_reaction),
            Condition.FAILED: emoji(settings.failed_reaction),
            Condition.STOPPED: "",
        }
        # Invariant: the message of each thread that was shown something last, and what.
        self._shown: OrderedDict[Place, _Shown] = OrderedDict()

    @property
    def is_any_set(self) -> bool:
        """Whether there is anything to show."""
        return any(self._by_condition.values())

    async def show(self, workspace: Workspace, place: Place, status: ThreadStatus) -> None:
        """Show it at the message that the turn answers."""
        ts = self._message_of(workspace, place, status.source_key)
        if ts is None:
            return
        before = self._shown.get(place)
        if before is not None and before[0] != ts:
            if before[1] in (Condition.WORKING, Condition.ASKING):
                key = workspace.identity.message_key(place.channel, before[0])
                ended = await self._how_it_ended(status.chat_id, key)
                await self._put(workspace, place, before[0], ended, before[1])
            before = None
        shown = None if before is None else before[1]
        if shown is not status.condition:
            await self._put(workspace, place, ts, status.condition, shown)
        self._remember(place, (ts, status.condition))

    async def _put(
        self,
        workspace: Workspace,
        place: Place,
        ts: str,
        condition: Condition,
        shown: Condition | None,
    ) -> None:
        pace = Pace(self._times, workspace.identity.installation)
        wanted = self._by_condition[condition]
        if shown is not None:
            had = {self._by_condition[shown]}
        elif condition in (Condition.WORKING, Condition.ASKING):
            had = set()
        else:
            had = await self._put_before(workspace, place.channel, ts)
        if wanted and (shown is None or wanted != self._by_condition[shown]):
            async with pace.call(REACT, place.channel, seconds_max=PATIENCE_SECONDS):
                await workspace.client.add_reaction(place.channel, ts, wanted)
        if not wanted:
            had.discard(self._seen)
        elif shown is not None:
            had.add(self._seen)
        for name in sorted(had - {wanted, ""}):
            async with pace.call(UNREACT, place.channel, seconds_max=PATIENCE_SECONDS):
                await workspace.client.remove_reaction(place.channel, ts, name)

    async def _put_before(self, workspace: Workspace, channel: str, ts: str) -> set[str]:
        """Our reactions that tell of a turn, at a message that another process has looked after."""
        pace = Pace(self._times, workspace.identity.installation)
        async with pace.call(LOOK, channel, seconds_max=PATIENCE_SECONDS):
            found = await workspace.client.reactions(channel, ts, workspace.identity.bot_user_id)
        return found & {*self._by_condition.values(), self._seen}

    async def _how_it_ended(self, chat_id: ChatId, source_key: str) -> Condition:
        """How the turn of a message that is not the last one any more came to its end."""
        found = await self._engine.find_message_by_source(chat_id, source_key)
        if not isinstance(found, MessageRef):
            return Condition.STOPPED
        after = MessageId(found.message_id)
        read = await self._engine.read_messages(chat_id, after=after, limit=_TURN_MAX)
        finish = None
        for message in read:
            if message.role is Role.USER:
                break
            finish = message.finish or finish
        is_stopped = finish in (None, Finish.INTERRUPTED)
        return Condition.STOPPED if is_stopped else Condition.DONE

    def _message_of(self, workspace: Workspace, place: Place, source_key: str | None) -> str | None:
        """The message of the thread that a source key names; None for messages from elsewhere."""
        start = workspace.identity.message_key(place.channel, "")
        if source_key is None or not source_key.startswith(start):
            return None
        return source_key.removeprefix(start)

    def _remember(self, place: Place, shown: _Shown) -> None:
        self._shown[place] = shown
        self._shown.move_to_end(place)
        while len(self._shown) > THREADS_MAX:
            self._shown.popitem(last=False)
