"""What a worker may store, and what it may not once it was overtaken."""

import pytest

from engine.chat import commands as c
from engine.chat.content import Finish, NewMessage, Role, ToolCallPart, Visibility, plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import MessageId, ToolCallId
from engine.chat.snapshot import OpenCall
from engine.chat.synthetic import NO_RESULT, settle
from tests.unit.engine.chat.chats import APPROVE, SEARCH
from tests.unit.engine.chat.steps import DEADLINE, NOW, OVERLOADED, RETRY
from tests.unit.engine.chat.stories import Story, answer, calling, done, runner


def reports(fence: c.Fence) -> tuple[c.Command, ...]:
    """Everything that a worker says of a running chat."""
    said = (answer("late"),)
    return (
        c.CommitStep(fence=fence, messages=said),
        c.EnterRequiresAction(
            fence=fence, messages=said, open_calls=(), actions=(), deadline_at=DEADLINE
        ),
        c.FinishTurn(fence=fence, messages=said),
        c.CompactHistory(fence=fence, messages=said),
        c.CompactHistory(fence=fence, messages=said, ends_turn=True),
        c.RecordAttempt(fence=fence),
        c.RecordRetry(fence=fence, retry=RETRY),
    )


def test_worker_that_another_took_over_from_stores_nothing() -> None:
    story = Story("hello")
    late = story.fence()
    story.chat.lose_lease()
    story.chat.acquire(runner(2))
    everything = (
        *reports(late),
        c.FinishInterruption(fence=late),
        c.FinishError(fence=late, error=OVERLOADED),
        c.ReleaseLease(fence=late),
    )
    assert {story.refused(report) for report in everything} == {RefusalReason.LEASE_LOST}


def test_worker_whose_lease_ran_out_may_still_finish_until_another_takes_over() -> None:
    story = Story("hello")
    story.chat.lose_lease()
    story.finish("Good morning.")
    assert (story.status, story.told[-1]) == ("waiting", "assistant: Good morning.")


def test_worker_with_an_older_history_stores_nothing() -> None:
    story = Story("hello")
    late = story.fence()
    story.call(SEARCH)
    assert {story.refused(report) for report in reports(late)} == {RefusalReason.HISTORY_CHANGED}


def test_interrupted_worker_can_only_put_away_or_leave() -> None:
    story = Story("hello")
    story.do(c.Interrupt())
    late = story.fence()
    assert {story.refused(report) for report in reports(late)} == {RefusalReason.STATUS_CHANGED}
    early = Story("hello")
    finish = c.FinishInterruption(fence=early.fence())
    assert early.chat.submit(finish, NOW) == Refusal(
        reason=RefusalReason.STATUS_CHANGED, detail="running"
    )


def test_partial_answer_is_stored_though_the_history_was_amended_meanwhile() -> None:
    story = Story("helo")
    story.do(c.Interrupt())
    fence = story.fence()
    edit = c.EditMessage(message_id=story.message_id("helo"), content=plain("hello"), rerun=False)
    story.do(edit)
    story.do(c.FinishInterruption(fence=fence, messages=(answer("Goo", Finish.INTERRUPTED),)))
    assert story.told == ["user: hello", "assistant: Goo"]


def test_failed_turn_leaves_a_usable_chat() -> None:
    """E44: the clean-up keeps the reason and the queue; the next message works."""
    story = Story("hello")
    story.call(SEARCH)
    story.send("second")
    story.do(c.FinishError(fence=story.fence(), error=OVERLOADED, messages=()))
    assert (story.status, story.chat.row.last_error) == ("error", OVERLOADED)
    assert story.told[-1] == "tool: tool call was interrupted and did not receive a result"
    assert story.queue == ["second"]
    assert story.send("third").wake
    assert (story.told[-1], story.queue) == ("user: second", ["third"])


def test_last_error_is_kept_in_error_only() -> None:
    """E22: leaving error clears it."""
    for leave in (
        c.SendMessage(content=plain("again")),
        c.RequestCompaction(),
        c.ClearContext(),
    ):
        story = Story("hello")
        story.do(c.FinishError(fence=story.fence(), error=OVERLOADED))
        assert story.chat.row.last_error == OVERLOADED
        story.do(leave)
        assert story.chat.row.last_error is None


def test_clean_up_after_a_commit_that_went_through_stores_nothing_twice() -> None:
    """E44: the acknowledgement was lost, not the transaction."""
    story = Story("hello")
    fence = story.fence()
    step = (calling(SEARCH), done(SEARCH, "found"))
    story.do(c.CommitStep(fence=fence, messages=step))
    story.do(c.FinishError(fence=fence, error=OVERLOADED, messages=step))
    assert story.told == ["user: hello", "assistant: search()", "tool: found"]
    assert story.status == "error"


def test_interruption_that_fails_keeps_what_was_streamed() -> None:
    story = Story("helo")
    fence = story.fence()
    story.do(c.Interrupt())
    edit = c.EditMessage(message_id=story.message_id("helo"), content=plain("hello"), rerun=False)
    story.do(edit)
    story.do(c.FinishError(fence=fence, error=OVERLOADED, messages=(answer("Goo"),)))
    assert (story.status, story.told[-1]) == ("error", "assistant: Goo")


def test_released_chat_stays_running_without_error_and_wakes_the_next_worker() -> None:
    """E37: pending, without error, and without the retry that nobody waits for."""
    story = Story("hello")
    story.do(c.RecordRetry(fence=story.fence(), retry=RETRY))
    released = story.do(c.ReleaseLease(fence=story.fence()))
    assert (story.status, released.wake) == ("running", True)
    assert story.chat.snapshot().is_pending
    assert (story.chat.row.last_error, story.chat.row.retry) == (None, None)


def test_every_attempt_is_a_new_episode_and_a_retry_shows_until_it_begins() -> None:
    story = Story("hello")
    story.do(c.RecordAttempt(fence=story.fence()))
    story.do(c.RecordRetry(fence=story.fence(), retry=RETRY))
    assert (story.chat.generation_attempt, story.chat.row.retry) == (2, RETRY)
    assert story.chat.retry_version == story.chat.snapshot_version
    story.do(c.RecordAttempt(fence=story.fence()))
    assert (story.chat.generation_attempt, story.chat.row.retry) == (3, None)
    story.call(SEARCH)
    assert story.chat.generation_attempt == 0, "history changed, so attempts count anew"


@pytest.mark.parametrize("ending", ["commit", "ask", "interrupt", "fail", "finish"])
def test_retry_is_shown_no_longer_than_the_step(ending: str) -> None:
    story = Story("hello")
    story.send("second")
    story.do(c.RecordRetry(fence=story.fence(), retry=RETRY))
    match ending:
        case "commit":
            story.call(SEARCH)
        case "ask":
            story.ask(APPROVE)
        case "interrupt":
            story.do(c.Interrupt())
        case "fail":
            story.do(c.FinishError(fence=story.fence(), error=OVERLOADED))
        case _:
            story.finish("Good morning.")
    assert story.chat.row.retry is None


def test_call_with_side_effects_is_entered_in_the_ledger_with_its_step() -> None:
    story = Story("hello")
    reserve = c.Reservation(tool_call_id=SEARCH.tool_call_id, tool_name="search")
    step = c.CommitStep(
        fence=story.fence(), messages=(calling(SEARCH),), open_calls=(SEARCH,), reserve=(reserve,)
    )
    story.do(step)
    assert story.chat.ledger == [SEARCH.tool_call_id]
    assert story.chat.row.open_calls == (SEARCH,)


def test_step_that_says_nothing_changes_no_message() -> None:
    story = Story("hello")
    before = story.chat.history_version
    story.do(c.CommitStep(fence=story.fence(), messages=()))
    assert story.chat.history_version == before


def test_open_calls_are_counted_not_believed() -> None:
    story = Story("hello")
    story.do(c.CommitStep(fence=story.fence(), messages=(calling(SEARCH),), open_calls=(APPROVE,)))
    assert story.chat.row.open_calls == (SEARCH,)


def test_first_result_of_a_call_is_the_one() -> None:
    story = Story("hello")
    story.call(SEARCH)
    twice = (done(SEARCH, "found"), done(SEARCH, "found again"))
    story.do(c.CommitStep(fence=story.fence(), messages=twice))
    story.do(c.CommitStep(fence=story.fence(), messages=(done(SEARCH, "and again"),)))
    assert story.told[-1] == "tool: found"


def test_ids_that_come_back_in_a_later_step_are_other_calls() -> None:
    settled, still_open = settle(
        (SEARCH,), (done(SEARCH, "first"), calling(SEARCH), done(SEARCH, "second")), NO_RESULT
    )
    assert (len(settled), still_open) == (3, ())
    settled, still_open = settle((SEARCH,), (done(SEARCH, "first"), calling(SEARCH)), NO_RESULT)
    assert (len(settled), still_open) == (2, (SEARCH,))


def test_stray_result_leaves_the_rest_of_its_message() -> None:
    both = NewMessage(role=Role.TOOL, content=(*done(APPROVE, 1).content, *done(SEARCH, 2).content))
    settled, still_open = settle((SEARCH,), (both,), NO_RESULT)
    assert settled == (done(SEARCH, 2),)
    assert still_open == ()


def test_calls_left_open_are_answered_before_the_model_speaks_again() -> None:
    settled, still_open = settle((SEARCH,), (answer("Well."),), NO_RESULT)
    assert [message.role for message in settled] == [Role.TOOL, Role.ASSISTANT]
    assert still_open == ()


def test_call_that_nobody_described_is_a_local_one() -> None:
    call = ToolCallPart(tool_call_id=ToolCallId("call_0"), tool_name="search")
    message = NewMessage(role=Role.ASSISTANT, content=(call,))
    _, still_open = settle((), (message,), NO_RESULT)
    assert still_open == (OpenCall(tool_call_id=ToolCallId("call_0"), tool_name="search"),)


def summary(boundary: int) -> NewMessage:
    """What stands, for the model, in the place of all up to a message."""
    return NewMessage(
        role=Role.USER,
        content=plain("Ada said hello."),
        visibility=Visibility.MODEL,
        summary_of=MessageId(boundary),
    )


def test_summary_that_ends_the_turn_lets_the_queue_go_on_in_one_step() -> None:
    story = Story("hello")
    story.send("And you?")
    story.do(c.CommitStep(fence=story.fence(), messages=(answer("Aye."),)))
    story.do(c.CompactHistory(fence=story.fence(), messages=(summary(3),), ends_turn=True))
    assert (story.status, story.queue) == ("running", [])
    assert story.told == [
        "user: hello",
        "assistant: Aye.",
        "user: Ada said hello.",
        "user: And you?",
    ]
    story.finish("Well.")
    assert story.status == "waiting"


def test_summary_in_mid_turn_answers_nobody_and_ends_nothing() -> None:
    story = Story("hello")
    story.send("And you?")
    story.do(c.CompactHistory(fence=story.fence(), messages=(summary(1),)))
    assert (story.status, story.queue) == ("running", ["And you?"])


@pytest.mark.parametrize("ends_turn", [False, True])
def test_summary_that_was_asked_for_is_asked_for_once(*, ends_turn: bool) -> None:
    story = Story("hello")
    story.finish("Aye.")
    story.do(c.RequestCompaction())
    story.chat.acquire(runner(2))
    assert story.chat.row.compaction_requested
    compact = c.CompactHistory(fence=story.fence(), messages=(summary(2),), ends_turn=ends_turn)
    story.do(compact)
    assert not story.chat.row.compaction_requested


@pytest.mark.parametrize("ends_turn", [False, True])
def test_summary_leaves_no_call_open(*, ends_turn: bool) -> None:
    story = Story("hello")
    story.call(SEARCH)
    compact = c.CompactHistory(fence=story.fence(), messages=(summary(1),), ends_turn=ends_turn)
    story.do(compact)
    assert story.chat.row.open_calls == ()
    assert story.told[-2:] == [f"tool: {NO_RESULT}", "user: Ada said hello."]
