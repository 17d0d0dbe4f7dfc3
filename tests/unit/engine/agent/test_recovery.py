"""What becomes of the calls that a dead runner left: each runs, has its result, or is unknown."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from engine.agent.recovery import OUTCOME_UNKNOWN, message_of_calls, recover_calls
from engine.chat.content import Message, Role, TextPart, ToolCallPart, ToolResultPart
from engine.chat.ids import ChatId, MessageId, ToolCallId
from engine.chat.snapshot import OpenCall
from engine.store.ledger import CallState, LedgerEntry

CALLS = ("a", "b")


def message(message_id: int, *call_ids: str, role: Role = Role.ASSISTANT) -> Message:
    return Message(
        id=MessageId(message_id),
        chat_id=ChatId(UUID(int=1)),
        role=role,
        content=(
            TextPart(text="Aye."),
            *(ToolCallPart(tool_call_id=ToolCallId(i), tool_name="deploy") for i in call_ids),
        ),
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


def still_open(*call_ids: str) -> tuple[OpenCall, ...]:
    return tuple(OpenCall(tool_call_id=ToolCallId(i), tool_name="deploy") for i in call_ids)


def entry(call_id: str, state: CallState, value: str | None = None) -> LedgerEntry:
    found = ToolResultPart(tool_call_id=ToolCallId(call_id), tool_name="deploy", result=value)
    return LedgerEntry(
        tool_call_id=ToolCallId(call_id),
        tool_name="deploy",
        state=state,
        result=found if value is not None else None,
    )


@pytest.mark.parametrize(
    ("ledger", "runs", "results"),
    [
        ([], ["a", "b"], {}),
        ([entry("a", CallState.RESERVED)], ["a", "b"], {}),
        ([entry("a", CallState.STARTED)], ["b"], {"a": {"error": OUTCOME_UNKNOWN}}),
        ([entry("a", CallState.UNKNOWN)], ["b"], {"a": {"error": OUTCOME_UNKNOWN}}),
        ([entry("b", CallState.FINISHED, "done")], ["a"], {"b": "done"}),
        ([entry("x", CallState.STARTED)], ["a", "b"], {}),
    ],
)
def test_the_ledger_decides(
    ledger: list[LedgerEntry], runs: list[str], results: dict[str, object]
) -> None:
    found = recover_calls(message(7, *CALLS), still_open(*CALLS), ledger)
    assert found.message_id == 7
    assert [call.tool_call_id for call in found.calls] == runs
    assert {part.tool_call_id: part.result for part in found.results} == results


def test_a_call_that_is_answered_already_is_left_alone() -> None:
    found = recover_calls(message(7, *CALLS), still_open("b"), [entry("a", CallState.STARTED)])
    assert [call.tool_call_id for call in found.calls] == ["b"]
    assert found.results == ()


def test_a_call_that_an_upgrade_made_risky_is_not_run_unrecorded() -> None:
    found = recover_calls(
        message(7, *CALLS),
        still_open(*CALLS),
        [entry("a", CallState.RESERVED)],
        lambda _call: True,
    )
    assert [call.tool_call_id for call in found.calls] == ["a"]
    assert [part.result for part in found.results] == [{"error": OUTCOME_UNKNOWN}]


def test_the_newest_message_that_made_a_call_is_found() -> None:
    """Ids are unique within one message only, so an old message may have the same."""
    history = [message(1, "a"), message(2, role=Role.USER), message(3, "a"), message(4)]
    found = message_of_calls(history, still_open("a"))
    assert found is not None
    assert found.id == 3
    assert message_of_calls(history, still_open("z")) is None
    assert message_of_calls([], still_open("a")) is None
