"""The store as a runner sees it: an absence of the database is waited out, not reported.

Repeating a command whose outcome is unknown is safe, because every command of a worker is fenced by
the history that it was made from: had the first try been stored, the second is refused.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from engine.chat.commands import Command
from engine.chat.content import ToolResultPart
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.files import FileInfo, FileRefusal, NewFile
from engine.chat.ids import ChatId, FileId, MessageId, OrganizationId, RunnerId, ToolCallId
from engine.models.attachments import HEAD_BYTES, FileData, FilePlan
from engine.store.chat_machine import ChatMachine
from engine.store.errors import StoreUnavailable
from engine.store.files import Files
from engine.store.ledger import Ledger, LedgerEntry
from engine.store.outcomes import Applied
from engine.store.rows import ChatRows, Prompt

PAUSE_FIRST_SECONDS = 0.05
PAUSE_MAX_SECONDS = 2.0
TRIES_MAX = 60
"""About two minutes: longer than a failover takes, short enough that a person notices no silence."""

Result = TypeVar("Result")
log = logging.getLogger(__name__)


class PatientStore:
    """Everything a turn stores and reads. Raises StoreUnavailable only after about two minutes."""

    def __init__(self, machine: ChatMachine, rows: ChatRows, ledger: Ledger, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._rows = rows
        self._ledger = ledger

    async def submit(self, chat_id: ChatId, command: Command) -> Applied | Refusal:
        """Carry out a worker's command. A chat that is gone is a lost lease."""
        outcome = await _patiently(lambda: self._machine.submit(chat_id, command))
        return outcome or Refusal(reason=RefusalReason.LEASE_LOST, detail="the chat is gone")

    async def read_prompt(self, chat_id: ChatId) -> Prompt:
        """What the model is told; of a chat that is gone, nothing."""
        prompt = await _patiently(lambda: self._rows.read_prompt(chat_id))
        return prompt or Prompt(history_version=0, generation_attempt=0, messages=())

    async def read_files(self, plan: FilePlan) -> Mapping[FileId, FileData]:
        """The files that a request needs."""
        found = await _patiently(lambda: self._files.read_many(plan.whole, plan.heads, HEAD_BYTES))
        return {
            file_id: FileData(media_type=file.info.media_type, data=file.data)
            for file_id, file in found.items()
        }

    async def keep_file(
        self, organization_id: OrganizationId, chat_id: ChatId, file: NewFile
    ) -> FileInfo | FileRefusal:
        """Store what a tool has made. Once more after a lost answer: the first one goes by itself."""
        return await _patiently(
            lambda: self._files.put(file, organization_id=organization_id, chat_id=chat_id)
        )

    async def read_ledger(self, chat_id: ChatId, message_id: MessageId) -> Sequence[LedgerEntry]:
        """How far the reserved calls of a message came."""
        return await _patiently(lambda: self._ledger.read_ledger(chat_id, message_id))

    async def mark_started(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        call_ids: tuple[ToolCallId, ...],
        runner_id: RunnerId,
    ) -> bool:
        """Note that these calls start now. Not repeated: a lost answer may mean that they did."""
        started = await self._ledger.mark_started(chat_id, message_id, call_ids, runner_id)
        return len(started) == len(call_ids)

    async def mark_finished(
        self, chat_id: ChatId, message_id: MessageId, result: ToolResultPart, runner_id: RunnerId
    ) -> bool:
        """Note a call's result."""
        return await _patiently(
            lambda: self._ledger.mark_finished(chat_id, message_id, result, runner_id)
        )


async def _patiently(attempt: Callable[[], Awaitable[Result]]) -> Result:
    pause = PAUSE_FIRST_SECONDS
    for _ in range(TRIES_MAX):
        try:
            return await attempt()
        except StoreUnavailable:
            log.warning("The database is away; trying again.", extra={"action": "store_away"})
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_MAX_SECONDS)
    return await attempt()
