"""What becomes of messages that a chat has: edited, deleted, or come with files only by their second event."""

from adapters.slack.desk import Desk
from adapters.slack.gathering import Gathered, Gathering
from adapters.slack.translate import Delete, Edit, StartOrSend
from engine.api import Applied, MessageRef, QueuedRef
from engine.chat.commands import DeleteQueuedMessage, EditMessage, EditQueuedMessage
from engine.chat.content import Author, Content, FilePart, Role, plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus

DELETED = "(This message was deleted.)"
_AT_REST = (ShownStatus.WAITING, ShownStatus.ERROR)
_TRIES = 3
"""A message may be promoted from the queue between looking and asking, once."""


class Revising:
    """Changes messages of one workspace's chats."""

    def __init__(self, desk: Desk, gathering: Gathering) -> None:
        self._desk = desk
        self._gathering = gathering

    async def edit(self, chat_id: ChatId, edit: Edit, author: Author) -> bool:
        """Change the message, and answer anew where it was the last one. False: it is not there."""
        for _ in range(_TRIES):
            found = await self._find(chat_id, edit.source_key)
            if found is None:
                return False
            stored = await self._stored(chat_id, found)
            if stored is None:
                continue
            gathered = await self._gathering.amend(edit.text, edit.files, author, chat_id, stored)
            outcome = await self._submit_edit(chat_id, gathered.content, author, found)
            if isinstance(outcome, Refusal):
                if outcome.reason is RefusalReason.QUEUED_NOT_FOUND:
                    continue
                if outcome.reason is RefusalReason.USAGE_LIMIT:
                    await self._desk.explain(outcome, edit.channel, edit.thread, edit.user_id)
            else:
                await self._gathering.tell_missed(edit, gathered)
            break
        return True

    async def add_files(self, chat_id: ChatId, said: StartOrSend, author: Author) -> bool:
        """Give a message the files that its second event brings. False: the message is not there.

        A mention's two events are one message, and either may be the one that has the files.
        """
        found = await self._find(chat_id, said.source_key)
        stored = None if found is None else await self._stored(chat_id, found)
        if found is None or stored is None:
            return found is not None
        if _file_count(stored) < len(said.files):
            gathered = await self._gathering.amend(said.text, said.files, author, chat_id, stored)
            await self._amend(chat_id, gathered, found)
            await self._gathering.tell_missed(said, gathered)
        return True

    async def delete(self, deletion: Delete) -> None:
        """Take a message that still waits out of the queue; of one that was heard, forget the words.

        While an answer is being made it is left alone: whoever wants that stopped, stops it.
        """
        binding = await self._desk.binding(deletion.channel, deletion.thread)
        if binding is None:
            return
        found = await self._find(binding.chat_id, deletion.source_key)
        if isinstance(found, QueuedRef):
            await self._desk.submit(binding.chat_id, DeleteQueuedMessage(queued_id=found.queued_id))
        elif found is not None and found.role is Role.USER:
            chat = await self._desk.engine.read_chat(binding.chat_id)
            if chat is not None and chat.status in _AT_REST:
                await self._amend(binding.chat_id, Gathered(content=plain(DELETED)), found)

    async def _amend(
        self, chat_id: ChatId, gathered: Gathered, found: MessageRef | QueuedRef
    ) -> None:
        if isinstance(found, QueuedRef):
            queued = EditQueuedMessage(queued_id=found.queued_id, content=gathered.content)
            await self._desk.submit(chat_id, queued)
            return
        amended = EditMessage(message_id=found.message_id, content=gathered.content, rerun=False)
        await self._desk.submit(chat_id, amended)

    async def _submit_edit(
        self, chat_id: ChatId, content: Content, author: Author, found: MessageRef | QueuedRef
    ) -> Applied | Refusal | None:
        if isinstance(found, QueuedRef):
            command = EditQueuedMessage(queued_id=found.queued_id, content=content)
            return await self._desk.submit(chat_id, command)
        if found.role is not Role.USER:
            return None
        return await self._desk.submit(
            chat_id,
            EditMessage(
                message_id=found.message_id,
                content=content,
                author=author,
                rerun=found.is_last_user_message and not await self._has_queue(chat_id),
            ),
        )

    async def _has_queue(self, chat_id: ChatId) -> bool:
        """Whether others wait behind it: answering anew from there would forget what they said."""
        chat = await self._desk.engine.read_chat(chat_id)
        return chat is not None and chat.queue_length > 0

    async def _find(self, chat_id: ChatId, source_key: str) -> MessageRef | QueuedRef | None:
        return await self._desk.engine.find_message_by_source(chat_id, source_key)

    async def _stored(self, chat_id: ChatId, found: MessageRef | QueuedRef) -> Content | None:
        """What the chat has of a message; None where it went somewhere else meanwhile."""
        if isinstance(found, QueuedRef):
            waiting = await self._desk.engine.read_queue(chat_id)
            return next((one.content for one in waiting if one.id == found.queued_id), None)
        before = MessageId(found.message_id - 1)
        stored = await self._desk.engine.read_messages(chat_id, after=before, limit=1)
        return stored[0].content if stored and stored[0].id == found.message_id else None


def _file_count(content: Content) -> int:
    return sum(isinstance(part, FilePart) for part in content)
