"""What people say in threads, as messages of chats: begun with one, and sent to them."""

import logging
from uuid import uuid4

from adapters.slack.desk import Desk
from adapters.slack.gathering import Gathered, Gathering, active_thread
from adapters.slack.identity import PLATFORM, is_app
from adapters.slack.revising import Revising
from adapters.slack.translate import Edit, StartOrSend
from engine.api import Applied, Created
from engine.chat.commands import BusyBehavior, CreateChat, SendMessage, ThreadBinding
from engine.chat.content import Author, Role
from engine.chat.decision import Effect, Refusal
from engine.chat.ids import ChatId, MessageId

logger = logging.getLogger(__name__)

_NEWEST = MessageId(2**62)
_LOOKED_BACK_MAX = 100
"""Messages of a chat among which a person's is looked for."""


class Conversation:
    """Messages of one workspace, for an event that was tried `attempt` times with this one.

    Doing anything again changes nothing. SurfaceError is raised while Slack may yet give what goes
    with a message.
    """

    def __init__(self, desk: Desk, *, attempt: int = 1) -> None:
        self._desk = desk
        self._gathering = Gathering(desk, attempt=attempt)
        self._revising = Revising(desk, self._gathering)

    async def start_or_send(self, said: StartOrSend, author: Author) -> None:
        """Send it to the thread's chat; begin one where the message may and there is none."""
        binding = await self._desk.binding(said.channel, said.thread)
        if binding is None:
            if said.starts:
                await self._start(said, author)
            return
        if is_app(said.user_id) and await self._is_endless(binding.chat_id):
            logger.info("apps among themselves", extra={"action": "slack_bots_left_alone"})
            return
        if said.files and await self._revising.add_files(binding.chat_id, said, author):
            return
        gathered = await self._gathering.gather(said, author, binding)
        if await self._send(binding.chat_id, said, author, gathered) and gathered.is_whole:
            await self._desk.engine.bindings.set_last_seen(binding.id, said.message_ts)

    async def edit(self, edit: Edit, author: Author) -> None:
        """Change the message in its chat; one that is not in any may address us only now."""
        binding = await self._desk.binding(edit.channel, edit.thread)
        if binding is not None and await self._revising.edit(binding.chat_id, edit, author):
            return
        if edit.starts:
            await self.start_or_send(_as_said(edit), author)

    async def _start(self, said: StartOrSend, author: Author) -> None:
        gathered = await self._gathering.gather(said, author, None)
        defaults = self._desk.house.defaults
        created = await self._desk.engine.create_chat(
            CreateChat(
                chat_id=ChatId(uuid4()),
                content=gathered.content,
                author=author,
                source_key=said.source_key,
                bot=defaults.bot,
                model=defaults.model,
                system_prompt=defaults.system_prompt,
                labels=dict(defaults.labels),
                dynamic_tools=defaults.dynamic_tools,
                binding=ThreadBinding(
                    platform=PLATFORM,
                    installation=self._desk.identity.installation,
                    channel=said.channel,
                    thread=said.thread,
                ),
            )
        )
        if isinstance(created, Refusal):
            await self._desk.explain(created, said.channel, active_thread(said), said.user_id)
            return
        if isinstance(created, Created):
            self._desk.acknowledge(said.channel, said.message_ts)
            await self._gathering.tell_missed(said, gathered)
        elif not await self._send(created.chat_id, said, author, gathered):
            return
        binding = await self._desk.binding(said.channel, said.thread)
        if binding is not None and gathered.is_whole:
            await self._desk.engine.bindings.set_last_seen(binding.id, said.message_ts)

    async def _send(
        self, chat_id: ChatId, said: StartOrSend, author: Author, gathered: Gathered
    ) -> bool:
        """Send it; whether the chat has it now."""
        outcome = await self._desk.submit(
            chat_id,
            SendMessage(
                content=gathered.content,
                author=author,
                source_key=said.source_key,
                busy=BusyBehavior(self._desk.house.settings.busy_behavior.value),
            ),
        )
        if isinstance(outcome, Refusal):
            await self._desk.explain(outcome, said.channel, said.thread, said.user_id)
        elif outcome is not None and outcome.effect is not Effect.DUPLICATE:
            self._desk.acknowledge(said.channel, said.message_ts)
            await self._gathering.tell_missed(said, gathered)
        return isinstance(outcome, Applied)

    async def _is_endless(self, chat_id: ChatId) -> bool:
        """Whether apps have talked here long enough without a person."""
        read = await self._desk.engine.read_messages(
            chat_id, before=_NEWEST, limit=_LOOKED_BACK_MAX
        )
        waiting = await self._desk.engine.read_queue(chat_id)
        authors = [message.author for message in read if message.role is Role.USER]
        authors += [message.author for message in waiting]
        turns = 0
        for author in reversed(authors):
            if author is None or not is_app(author.identity.rpartition(":")[2]):
                break
            turns += 1
        return turns >= self._desk.house.settings.bot_turns_max


def _as_said(edit: Edit) -> StartOrSend:
    return StartOrSend(
        channel=edit.channel,
        thread=edit.thread,
        user_id=edit.user_id,
        message_ts=edit.message_ts,
        source_key=edit.source_key,
        text=edit.text,
        starts=edit.starts,
        is_mention=edit.is_mention,
        files=edit.files,
    )
