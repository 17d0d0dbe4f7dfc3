"""What a new runner does with calls that an earlier one left open. Pure: the ledger decides.

A call that is known not to have started runs now. One that finished has its result. One that had
started, and has side effects, is not started again: its result says that its outcome is unknown.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.chat.content import Message, Role, ToolCallPart, ToolResultPart
from engine.chat.ids import MessageId
from engine.chat.snapshot import OpenCall
from engine.store.ledger import CallState, LedgerEntry

OUTCOME_UNKNOWN = (
    "The outcome of this call is unknown: the process that ran it ended before it reported. "
    "It may or may not have taken effect. Check before you try again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Calls sorted by what is left to do; each open call is in exactly one place."""

    message_id: MessageId
    calls: tuple[ToolCallPart, ...]
    results: tuple[ToolResultPart, ...]


def message_of_calls(messages: Sequence[Message], open_calls: Iterable[OpenCall]) -> Message | None:
    """The newest assistant message that made any of the open calls."""
    wanted = {call.tool_call_id for call in open_calls}
    for message in reversed(messages):
        if message.role is Role.ASSISTANT and wanted & {
            call.tool_call_id for call in _calls(message)
        }:
            return message
    return None


def recover_calls(
    message: Message,
    open_calls: Iterable[OpenCall],
    ledger: Iterable[LedgerEntry],
    needs_entry: Callable[[ToolCallPart], bool] = lambda _call: False,
) -> Recovered:
    """Sort the open calls of a message by its ledger.

    A call without an entry was made where it did no harm twice; where it now does (`needs_entry`,
    after an upgrade), nobody knows whether it ran.
    """
    entries = {entry.tool_call_id: entry for entry in ledger}
    wanted = {call.tool_call_id for call in open_calls}
    calls: list[ToolCallPart] = []
    results: list[ToolResultPart] = []
    for call in _calls(message):
        if call.tool_call_id not in wanted:
            continue
        entry = entries.get(call.tool_call_id)
        if entry is not None and entry.result is not None:
            results.append(entry.result)
        elif needs_entry(call) if entry is None else entry.state is not CallState.RESERVED:
            results.append(_unknown(call))
        else:
            calls.append(call)
    return Recovered(message_id=message.id, calls=tuple(calls), results=tuple(results))


def _calls(message: Message) -> tuple[ToolCallPart, ...]:
    return tuple(part for part in message.content if isinstance(part, ToolCallPart))


def _unknown(call: ToolCallPart) -> ToolResultPart:
    return ToolResultPart(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        result={"error": OUTCOME_UNKNOWN},
        is_error=True,
    )
