"""Which tool calls with side effects were started, and what they gave. Kept across crashes.

Entries are reserved together with the assistant's message that asks for them (CommitStep.reserve). A
call goes reserved, started, finished; found started by a later runner, it becomes unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.chat.content import ToolResultPart
from engine.chat.ids import ChatId, MessageId, RunnerId, ToolCallId
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_optional, decode_text, encode_json, encode_text


class CallState(StrEnum):
    """How far a call got."""

    RESERVED = "reserved"
    STARTED = "started"
    FINISHED = "finished"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One call. `result` only once it is finished."""

    tool_call_id: ToolCallId
    tool_name: str
    state: CallState
    result: ToolResultPart | None


class Ledger:
    """Keeps the ledger. Every write is refused once `runner_id` does not hold the chat any more."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def mark_started(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        tool_call_ids: Sequence[ToolCallId],
        runner_id: RunnerId,
    ) -> frozenset[ToolCallId]:
        """The calls that the caller may start now. Those left out were started before, or are not ours."""
        stored = {encode_text(call_id): call_id for call_id in tool_call_ids}
        rows = await self._pool.fetch(
            query("ledger.mark_started"), chat_id, message_id, list(stored), runner_id
        )
        return frozenset(stored[row["tool_call_id"]] for row in rows)

    async def mark_finished(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        result: ToolResultPart,
        runner_id: RunnerId,
    ) -> bool:
        """Keep the result of a started call. False: the chat is not ours any more."""
        changed = await self._pool.execute(
            query("ledger.mark_finished"),
            chat_id,
            message_id,
            encode_text(result.tool_call_id),
            encode_json(result),
            runner_id,
        )
        return changed == 1

    async def mark_unknown(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        tool_call_ids: Sequence[ToolCallId],
        runner_id: RunnerId,
    ) -> int:
        """Say of started calls that nobody will learn what became of them; how many."""
        stored = [encode_text(call_id) for call_id in tool_call_ids]
        return await self._pool.execute(
            query("ledger.mark_unknown"), chat_id, message_id, stored, runner_id
        )

    async def read_ledger(self, chat_id: ChatId, message_id: MessageId) -> tuple[LedgerEntry, ...]:
        """The entries of one assistant's message."""
        rows = await self._pool.fetch(query("ledger.read_ledger"), chat_id, message_id)
        return tuple(
            LedgerEntry(
                tool_call_id=ToolCallId(decode_text(row["tool_call_id"])),
                tool_name=decode_text(row["tool_name"]),
                state=CallState(row["state"]),
                result=decode_optional(row["result"], ToolResultPart),
            )
            for row in rows
        )
