"""What a turn needs of the store, as a port: the composition root plugs the real one in."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.chat.commands import Command
from engine.chat.content import ToolResultPart
from engine.chat.decision import Refusal
from engine.chat.files import FileInfo, FileRefusal, NewFile
from engine.chat.ids import ChatId, FileId, MessageId, OrganizationId, RunnerId, ToolCallId
from engine.models.attachments import FileData, FilePlan
from engine.store.ledger import LedgerEntry
from engine.store.outcomes import Applied
from engine.store.rows import Prompt


class TurnStore(Protocol):
    """The durable side of a turn. Every method waits out a short absence of the database."""

    async def submit(self, chat_id: ChatId, command: Command) -> Applied | Refusal:
        """Carry out a worker's command."""
        ...

    async def read_prompt(self, chat_id: ChatId) -> Prompt:
        """The messages that the model may see, oldest first, and the history that they are of."""
        ...

    async def read_files(self, plan: FilePlan) -> Mapping[FileId, FileData]:
        """The files that a request needs, as far as they are still stored."""
        ...

    async def keep_file(
        self, organization_id: OrganizationId, chat_id: ChatId, file: NewFile
    ) -> FileInfo | FileRefusal:
        """Store what a tool of this chat has made. It goes after a day unless a message names it."""
        ...

    async def read_ledger(self, chat_id: ChatId, message_id: MessageId) -> Sequence[LedgerEntry]:
        """How far the reserved calls of a message came."""
        ...

    async def mark_started(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        call_ids: tuple[ToolCallId, ...],
        runner_id: RunnerId,
    ) -> bool:
        """Note that these calls start now. False: another runner holds the chat."""
        ...

    async def mark_finished(
        self, chat_id: ChatId, message_id: MessageId, result: ToolResultPart, runner_id: RunnerId
    ) -> bool:
        """Note a call's result. False: another runner holds the chat."""
        ...
