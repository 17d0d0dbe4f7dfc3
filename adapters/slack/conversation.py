"""What people say in threads, as messages of chats: begun, sent, edited and taken back."""

from uuid import uuid4

from adapters.slack.desk import Desk
from adapters.slack.identity import PLATFORM
from adapters.slack.translate import Delete, Edit, StartOrSend
from engine.api import Applied, Created, MessageRef, QueuedRef
from engine.chat.commands import (
    BusyBehavior,
    CreateChat,
    DeleteQueuedMessage,
    EditMessage,
    EditQueuedMessage,
    SendMessage,
    ThreadBinding,
)
from engine.chat.content import Author, Content, FilePart, Role
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.ids import ChatId, MessageId


class Conversation:
    """Messages of one workspace. Doing anything again changes nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start_or_send(self, said: StartOrSend, author: Author) -> None:
        """Send it to the thread's chat; begin one where the message may and there is none."""
        binding = await self._desk.binding(said.channel, said.thread)
        if binding is not None:
            await self._send(binding.chat_id, said, author)
            return
        if not said.starts:
            return
        defaults = self._desk.house.defaults
        created = await self._desk.engine.create_chat(
            CreateChat(
                chat_id=ChatId(uuid4()),
                content=said.content,
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
        if isinstance(created, Created):
            self._desk.acknowledge(said.channel, said.message_ts)
        elif isinstance(created, Refusal):
            await self._desk.explain(created, said.channel, _active_thread(said), said.user_id)
        else:
            await self._send(created.chat_id, said, author)

    async def _send(self, chat_id: ChatId, said: StartOrSend, author: Author) -> None:
        outcome = await self._desk.submit(
            chat_id,
            SendMessage(
                content=said.content,
                author=author,
                source_key=said.source_key,
                busy=BusyBehavior(self._desk.house.settings.busy_behavior.value),
            ),
        )
        if isinstance(outcome, Refusal):
            await self._desk.explain(outcome, said.channel, said.thread, said.user_id)
        elif outcome is not None and outcome.effect is Effect.DUPLICATE:
            await self._add_files(chat_id, said)
        elif outcome is not None:
            self._desk.acknowledge(said.channel, said.message_ts)

    async def _add_files(self, chat_id: ChatId, said: StartOrSend) -> None:
        """A mention's two events are one message; the second may be the one that has the files."""
        files = file_count(said.content)
        if not files:
            return
        found = await self._desk.engine.find_message_by_source(chat_id, said.source_key)
        if isinstance(found, QueuedRef):
            command = EditQueuedMessage(queued_id=found.queued_id, content=said.content)
            await self._desk.submit(chat_id, command)
        elif found is not None:
            before = MessageId(found.message_id - 1)
            stored = await self._desk.engine.read_messages(chat_id, after=before, limit=1)
            if stored and file_count(stored[0].content) < files:
                amend = EditMessage(message_id=found.message_id, content=said.content, rerun=False)
                await self._desk.submit(chat_id, amend)

    async def edit(self, edit: Edit, author: Author) -> None:
        """Change the message in its chat, and answer anew where it was the last one."""
        binding = await self._desk.binding(edit.channel, edit.thread)
        found = None
        if binding is not None:
            found = await self._desk.engine.find_message_by_source(binding.chat_id, edit.source_key)
        if binding is None or found is None:
            # Not ours so far: an edit that now addresses us is as good as a new message.
            if edit.starts:
                await self.start_or_send(_as_said(edit), author)
            return
        outcome = await self._submit_edit(binding.chat_id, edit, author, found)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.QUEUED_NOT_FOUND:
            # It was promoted between looking and asking.
            found = await self._desk.engine.find_message_by_source(binding.chat_id, edit.source_key)
            if found is not None:
                outcome = await self._submit_edit(binding.chat_id, edit, author, found)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.USAGE_LIMIT:
            await self._desk.explain(outcome, edit.channel, edit.thread, edit.user_id)

    async def _submit_edit(
        self, chat_id: ChatId, edit: Edit, author: Author, found: MessageRef | QueuedRef
    ) -> Applied | Refusal | None:
        if isinstance(found, QueuedRef):
            command = EditQueuedMessage(queued_id=found.queued_id, content=edit.content)
            return await self._desk.submit(chat_id, command)
        if found.role is not Role.USER:
            return None
        return await self._desk.submit(
            chat_id,
            EditMessage(
                message_id=found.message_id,
                content=edit.content,
                author=author,
                rerun=found.is_last_user_message and not await self._has_queue(chat_id),
            ),
        )

    async def _has_queue(self, chat_id: ChatId) -> bool:
        """Whether others wait behind it: answering anew from there would forget what they said."""
        chat = await self._desk.engine.read_chat(chat_id)
        return chat is not None and chat.queue_length > 0

    async def delete(self, deletion: Delete) -> None:
        """Take a message that still waits out of the queue."""
        binding = await self._desk.binding(deletion.channel, deletion.thread)
        if binding is None:
            return
        found = await self._desk.engine.find_message_by_source(binding.chat_id, deletion.source_key)
        if isinstance(found, QueuedRef):
            await self._desk.submit(binding.chat_id, DeleteQueuedMessage(queued_id=found.queued_id))


def file_count(content: Content) -> int:
    """How many files a message names."""
    return sum(isinstance(part, FilePart) for part in content)


def _active_thread(said: StartOrSend) -> str:
    """The thread that a message is in; none where it would begin one, as Slack shows nothing there."""
    return "" if said.thread == said.message_ts else said.thread


def _as_said(edit: Edit) -> StartOrSend:
    return StartOrSend(
        channel=edit.channel,
        thread=edit.thread,
        user_id=edit.user_id,
        message_ts=edit.message_ts,
        source_key=edit.source_key,
        content=edit.content,
        starts=edit.starts,
    )
