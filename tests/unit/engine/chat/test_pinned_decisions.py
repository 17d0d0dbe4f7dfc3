"""What a decision carries beside the new state: who said it, what was answered, why it was refused."""

from uuid import UUID

import pytest

from engine.chat import commands as c
from engine.chat.content import Author, NewMessage, Role, ToolResultPart, plain
from engine.chat.decide import decide, first_messages
from engine.chat.decision import ChatRow, Decision, Effect, Refusal, RefusalReason
from engine.chat.ids import ActionId, ChatId, ToolCallId
from engine.chat.snapshot import ChatStatus, OpenCall, Snapshot
from engine.chat.writes import (
    ActionState,
    CloseActions,
    Enqueue,
    InsertMessages,
    PromoteQueued,
    Write,
)
from tests.unit.engine.chat.chats import (
    APPROVE,
    FENCE,
    FIRST,
    FULL_QUEUE,
    NOTIFY,
    VERSION,
    accepted,
    chat_in,
)
from tests.unit.engine.chat.steps import ADA, BO, DEADLINE, NOW, RETRY

HELLO = plain("hello")
SAID = NewMessage(role=Role.USER, content=HELLO, author=ADA, source_key="slack:1")
SEND = c.SendMessage(content=HELLO, author=ADA, source_key="slack:1")


def writes_of(snapshot: Snapshot, command: c.Command) -> tuple[Write, ...]:
    return accepted(decide(snapshot, command, NOW)).writes


def refused(snapshot: Snapshot, command: c.Command) -> Refusal:
    outcome = decide(snapshot, command, NOW)
    assert isinstance(outcome, Refusal), outcome
    return outcome


def tool_says(call: OpenCall, said: object, *, is_error: bool = False) -> NewMessage:
    result = ToolResultPart(
        tool_call_id=call.tool_call_id, tool_name=call.tool_name, result=said, is_error=is_error
    )
    return NewMessage(role=Role.TOOL, content=(result,))


def test_a_first_message_is_its_authors_and_known_by_its_source() -> None:
    create = c.CreateChat(
        chat_id=ChatId(UUID(int=1)), content=HELLO, author=ADA, source_key="slack:1"
    )
    assert first_messages(create) == (SAID,)


def test_a_message_is_its_authors_and_known_by_its_source() -> None:
    assert writes_of(chat_in("W0"), SEND) == (InsertMessages(messages=(SAID,)),)


@pytest.mark.parametrize("state", ["R0", "W1"])
def test_a_queued_message_is_its_authors_and_known_by_its_source(state: str) -> None:
    queued = writes_of(chat_in(state), SEND)[-1]
    assert queued == Enqueue(content=HELLO, author=ADA, source_key="slack:1")


def test_a_full_queue_says_how_many_wait() -> None:
    told = refused(chat_in("R1", queue=FULL_QUEUE), SEND)
    assert (told.reason, told.detail) == (RefusalReason.QUEUE_FULL, "20 messages wait already")


@pytest.mark.parametrize("state", ["W1", "E1", "A1"])
def test_a_queued_message_that_is_promoted_in_a_chat_at_rest_is_inserted(state: str) -> None:
    promoted = accepted(
        decide(chat_in(state), c.PromoteQueuedMessage(queued_id=FIRST), NOW),
    )
    assert promoted.effect is Effect.INSERTED
    assert promoted.writes[-1] == PromoteQueued(queued_id=FIRST)


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("by", [BO, None])
def test_an_answer_is_kept_with_who_gave_it(is_error: bool, by: Author | None) -> None:  # noqa: FBT001
    asked = chat_in("A0", action_target=APPROVE.tool_call_id)
    command = c.AnswerAction(
        action_id=ActionId(UUID(int=5)), result="yes", is_error=is_error, by=by
    )
    assert writes_of(asked, command) == (
        CloseActions(
            state=ActionState.ANSWERED,
            tool_call_ids=(APPROVE.tool_call_id,),
            by=by,
            answers=((APPROVE.tool_call_id, "yes"),),
        ),
        InsertMessages(messages=(tool_says(APPROVE, "yes", is_error=is_error),)),
    )


def given(call: OpenCall, said: object, *, is_error: bool = False) -> ToolResultPart:
    """A result as a client sends it, under a name of its own."""
    return ToolResultPart(
        tool_call_id=call.tool_call_id, tool_name="", result=said, is_error=is_error
    )


def test_submitted_results_are_kept_in_the_order_of_the_calls_with_who_gave_them() -> None:
    asked = chat_in("A0", open_calls=(APPROVE, NOTIFY))
    results = (given(NOTIFY, "down", is_error=True), given(APPROVE, "yes"))
    assert writes_of(asked, c.SubmitToolResults(results=results, by=BO)) == (
        CloseActions(
            state=ActionState.ANSWERED,
            tool_call_ids=(APPROVE.tool_call_id, NOTIFY.tool_call_id),
            by=BO,
            answers=((APPROVE.tool_call_id, "yes"), (NOTIFY.tool_call_id, "down")),
        ),
        InsertMessages(
            messages=(tool_says(APPROVE, "yes"), tool_says(NOTIFY, "down", is_error=True))
        ),
    )


def test_results_that_do_not_match_are_told_apart() -> None:
    asked = chat_in("A0", open_calls=(APPROVE, NOTIFY))
    other = OpenCall(tool_call_id=ToolCallId("call_other"), tool_name="other")

    def detail(*calls: OpenCall) -> str:
        return refused(
            asked, c.SubmitToolResults(results=tuple(given(call, 1) for call in calls))
        ).detail

    assert detail(NOTIFY) == "missing call_approve"
    assert detail(APPROVE, NOTIFY, other, other) == "unknown call_other"
    assert detail(APPROVE, NOTIFY, NOTIFY) == "call_notify given twice"
    assert detail(APPROVE, APPROVE) == "missing call_notify, call_approve given twice"


@pytest.mark.parametrize(("since", "put_away"), [(None, True), (41, True), (42, True), (40, False)])
def test_a_chat_that_has_changed_since_is_not_put_away(since: int | None, put_away: bool) -> None:  # noqa: FBT001
    # The command itself counts: the version was 41 before it.
    idle = chat_in("W0", snapshot_version=VERSION + 2)
    outcome = decide(idle, c.Archive(unless_changed_since=since), NOW)
    if put_away:
        assert accepted(outcome).row.archived
    else:
        assert outcome == Refusal(reason=RefusalReason.STATUS_CHANGED, detail="waiting")


def test_a_retry_is_over_once_the_history_is_compacted_or_nobody_is_left_to_ask() -> None:
    retrying = chat_in("R0", retry=RETRY)
    summary = (NewMessage(role=Role.ASSISTANT, content=HELLO),)
    compacted = accepted(decide(retrying, c.CompactHistory(fence=FENCE, messages=summary), NOW))
    assert (compacted.row.status, compacted.row.retry) == (ChatStatus.RUNNING, None)
    asks_nobody = c.EnterRequiresAction(
        fence=FENCE, messages=summary, open_calls=(), actions=(), deadline_at=DEADLINE
    )
    left = accepted(decide(retrying, asks_nobody, NOW))
    assert (left.row.status, left.row.retry) == (ChatStatus.RUNNING, None)
    assert (left.row.keep_runner, left.row.actions_deadline_at) == (False, None)
    assert left.writes == (InsertMessages(messages=summary),)


def test_a_row_as_it_is_holds_everything_of_the_chat() -> None:
    retrying = chat_in("R0", retry=RETRY, compaction_requested=True, open_calls=(APPROVE,))
    row = ChatRow.of(retrying)
    assert (row.retry, row.compaction_requested, row.open_calls) == (RETRY, True, (APPROVE,))
    assert (row.keep_runner, row.next_attempt) == (True, False)
    asked = ChatRow.of(chat_in("A0"))
    assert asked.actions_deadline_at == chat_in("A0").actions_deadline_at
    assert ChatRow.of(chat_in("EX0")).last_error == chat_in("EX0").last_error
    assert ChatRow.of(chat_in("EX0")).archived


def test_a_decision_without_writes_of_its_own_is_done_and_wakes_nobody() -> None:
    kept = accepted(decide(chat_in("WX0"), c.Unarchive(), NOW))
    assert kept == Decision(row=kept.row, writes=(), effect=Effect.DONE, wake=False)
