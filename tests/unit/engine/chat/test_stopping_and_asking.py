"""Interrupting, archiving, asking people, and the commands about the model's context."""

from dataclasses import replace

import pytest

from engine.chat import commands as c
from engine.chat.content import Finish, ToolResultPart, plain
from engine.chat.decide import decide
from engine.chat.decision import Decision, Refusal, RefusalReason
from engine.chat.errors import ErrorKind
from engine.chat.ids import ActionId, ToolCallId
from tests.unit.engine.chat.chats import APPROVE, NOTIFY, SEARCH
from tests.unit.engine.chat.steps import ADA, BO, DEADLINE, LATER, NOW, OVERLOADED
from tests.unit.engine.chat.stories import Story, answer, calling, done, result, runner


def test_interrupted_chat_waits_once_the_partial_answer_is_stored() -> None:
    """E1: interrupting, then waiting with the lease released."""
    story = Story("hello")
    interrupted = story.do(c.Interrupt(by=BO))
    assert (story.status, interrupted.wake) == ("interrupting", False)
    story.finish_interruption(answer("Good m", Finish.INTERRUPTED))
    assert (story.status, story.chat.runner_id) == ("waiting", None)
    assert story.told == ["user: hello", "assistant: Good m"]


def test_interrupted_chat_whose_worker_is_gone_wakes_another_that_finishes_it() -> None:
    """E3: waiting, no lease."""
    story = Story("hello")
    story.call(SEARCH)
    story.chat.lose_lease()
    assert story.do(c.Interrupt()).wake
    assert story.chat.acquire(runner(2))
    story.finish_interruption()
    assert (story.status, story.chat.runner_id) == ("waiting", None)
    assert story.told[-1] == "tool: tool call was interrupted before it produced a result"


def test_interrupt_keeps_every_streamed_character_and_finished_call() -> None:
    """E41: what a worker brings back is stored as it is, and only what is missing is made up."""
    story = Story("hello")
    story.call(SEARCH, APPROVE)
    story.do(c.Interrupt())
    story.finish_interruption(done(SEARCH, "found"))
    assert story.told[-2:] == [
        "tool: found",
        "tool: tool call was interrupted before it produced a result",
    ]
    story.send("again")
    story.chat.acquire(runner(2))
    story.do(c.Interrupt())
    streamed = "Every cha\x00racter \u2026 "
    story.finish_interruption(answer(streamed, Finish.INTERRUPTED))
    assert story.told[-1] == f"assistant: {streamed}"


def test_nothing_to_stop_is_a_refusal() -> None:
    story = Story("hello")
    story.do(c.Interrupt())
    assert story.refused(c.Interrupt()) is RefusalReason.NOT_RUNNING
    story.finish_interruption()
    assert story.refused(c.Interrupt()) is RefusalReason.NOT_RUNNING


@pytest.mark.parametrize("queued", [[], ["second"]])
def test_interrupt_takes_a_question_back(queued: list[str]) -> None:
    story = Story("hello")
    story.ask(APPROVE)
    for text in queued:
        story.send(text)
    interrupted = story.do(c.Interrupt())
    assert "tool: Tool execution interrupted by user" in story.told
    assert (story.status, interrupted.wake) == (("running", True) if queued else ("waiting", False))
    assert story.told[-1] == ("user: second" if queued else story.told[-1])


def test_archived_pending_chat_waits_at_once_without_a_lease() -> None:
    """E4: archived, waiting, no lease; its late worker is fenced off."""
    story = Story("hello")
    late = story.fence()
    story.call(SEARCH)
    story.chat.lose_lease()
    archived = story.do(c.Archive())
    assert (story.status, archived.row.archived, archived.wake) == ("waiting", True, False)
    assert story.chat.runner_id is None
    assert story.told[-1] == "tool: tool call was interrupted and did not receive a result"
    assert story.refused(c.FinishTurn(fence=late)) is RefusalReason.LEASE_LOST


def test_archived_pending_compaction_does_not_linger() -> None:
    story = Story("hello")
    story.finish("Good morning.")
    story.do(c.RequestCompaction())
    story.do(c.Archive())
    assert not story.chat.row.compaction_requested


def test_archived_streaming_chat_keeps_its_queue() -> None:
    """E5: interrupted first; the queue still holds the message, one user row is in history."""
    story = Story("hello")
    story.send("second")
    assert not story.do(c.Archive()).wake
    assert (story.status, story.chat.row.archived) == ("interrupting", True)
    story.finish_interruption(answer("Goo", Finish.INTERRUPTED))
    assert story.status == "waiting"
    assert story.queue == ["second"]
    assert story.told == ["user: hello", "assistant: Goo"]


def test_chat_unarchived_while_interrupting_goes_on_with_its_queue() -> None:
    story = Story("hello")
    story.send("second")
    story.do(c.Archive())
    story.do(c.Unarchive())
    story.finish_interruption()
    assert (story.status, story.told[-1]) == ("running", "user: second")


def test_archiving_takes_a_question_back() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    story.do(c.Archive())
    assert story.told[-1] == "tool: Tool execution interrupted by user"
    assert story.status == "waiting"


def test_error_survives_the_archive() -> None:
    story = Story("hello")
    story.do(c.FinishError(fence=story.fence(), error=OVERLOADED))
    story.do(c.Archive())
    story.do(c.Unarchive())
    assert (story.status, story.chat.row.last_error) == ("error", OVERLOADED)


def test_one_step_may_run_some_calls_and_ask_for_others() -> None:
    """E26: the built-in result is stored while the chat waits; the submitted one follows it."""
    story = Story("hello")
    story.call(SEARCH, APPROVE)
    asked = c.EnterRequiresAction(
        fence=story.fence(),
        messages=(done(SEARCH, "found"),),
        open_calls=(APPROVE,),
        actions=(),
        deadline_at=DEADLINE,
    )
    story.do(asked)
    assert (story.status, story.chat.runner_id) == ("requires_action", None)
    assert story.told[-1] == "tool: found"
    story.do(c.SubmitToolResults(results=(result(APPROVE, "yes"),), by=ADA))
    assert (story.status, story.told[-1]) == ("running", "tool: yes")


def test_local_call_is_not_left_for_people_to_answer() -> None:
    story = Story("hello")
    story.do(
        c.EnterRequiresAction(
            fence=story.fence(),
            messages=(calling(SEARCH, APPROVE),),
            open_calls=(APPROVE,),
            actions=(),
            deadline_at=DEADLINE,
        )
    )
    assert story.chat.row.open_calls == (APPROVE,)
    assert story.told[-1] == "tool: tool call was interrupted and did not receive a result"


def test_worker_with_nothing_to_ask_leaves_the_chat_to_the_next() -> None:
    story = Story("hello")
    asked = story.do(
        c.EnterRequiresAction(
            fence=story.fence(), messages=(), open_calls=(), actions=(), deadline_at=DEADLINE
        )
    )
    assert (story.status, asked.wake, story.chat.runner_id) == ("running", True, None)
    assert story.chat.row.actions_deadline_at is None


def test_question_without_an_open_call_is_not_asked() -> None:
    story = Story("hello")
    questions = tuple(
        c.NewAction(
            tool_call_id=call.tool_call_id,
            tool_name=call.tool_name,
            executor=call.executor,
            args="{}",
        )
        for call in (APPROVE, NOTIFY)
    )
    story.do(
        c.EnterRequiresAction(
            fence=story.fence(),
            messages=(calling(APPROVE),),
            open_calls=(APPROVE, NOTIFY),
            actions=questions,
            deadline_at=DEADLINE,
        )
    )
    assert [action.tool_call_id for action in story.chat.actions] == [APPROVE.tool_call_id]


def test_submitted_results_run_the_chat_in_the_order_of_the_calls() -> None:
    """E25: the pause ends with the submission, and a worker is woken."""
    story = Story("hello")
    story.ask(APPROVE, NOTIFY)
    results = (result(NOTIFY, "told"), result(APPROVE, "yes"))
    submitted = story.do(c.SubmitToolResults(results=results, by=ADA))
    assert (story.status, submitted.wake) == ("running", True)
    assert story.told[-2:] == ["tool: yes", "tool: told"]
    assert [(str(a.state), a.answer) for a in story.chat.actions] == [
        ("answered", "yes"),
        ("answered", "told"),
    ]
    assert story.chat.row.actions_deadline_at is None


def test_ten_submissions_give_one_success_and_nine_conflicts() -> None:
    """E27: the first wins, the others are told that nothing is pending."""
    story = Story("hello")
    story.ask(APPROVE)
    submit = c.SubmitToolResults(results=(result(APPROVE, "yes"),))
    outcomes = [story.chat.submit(submit, NOW) for _ in range(10)]
    assert [isinstance(outcome, Decision) for outcome in outcomes] == [True] + [False] * 9
    assert outcomes[1:] == [Refusal(reason=RefusalReason.NO_ACTION_PENDING)] * 9
    assert story.told.count("tool: yes") == 1


def test_submission_that_does_not_match_says_what_is_wrong() -> None:
    story = Story("hello")
    story.ask(APPROVE, NOTIFY)
    unknown = ToolResultPart(tool_call_id=ToolCallId("call_x"), tool_name="notify", result=1)
    outcome = story.chat.submit(
        c.SubmitToolResults(results=(result(NOTIFY, 1), result(NOTIFY, 2), unknown)), NOW
    )
    assert outcome == Refusal(
        reason=RefusalReason.RESULTS_DO_NOT_MATCH,
        detail="missing call_approve, unknown call_x, call_notify given twice",
    )


def test_late_submission_does_not_answer_a_later_question_with_the_same_ids() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    first = story.chat.history[-1].id
    late = c.SubmitToolResults(results=(result(APPROVE, "yes"),), message_id=first)
    story.do(late)
    assert story.chat.acquire(runner(2))
    story.ask(APPROVE)
    second = story.chat.history[-1].id
    assert second != first
    assert story.chat.submit(late, NOW) == Refusal(
        reason=RefusalReason.RESULTS_DO_NOT_MATCH,
        detail=f"the pending calls are not those of message {first}",
    )
    story.do(c.SubmitToolResults(results=(result(APPROVE, "no"),), message_id=second))
    assert story.told[-1] == "tool: no"


def test_chat_goes_on_with_the_last_of_several_answers() -> None:
    story = Story("hello")
    story.ask(APPROVE, NOTIFY)
    first, second = (action.id for action in story.chat.actions)
    one = story.do(c.AnswerAction(action_id=first, result="no", is_error=False, by=BO))
    assert (story.status, one.wake) == ("requires_action", False)
    again = c.AnswerAction(action_id=first, result="yes")
    assert story.refused(again) is RefusalReason.ACTION_NOT_PENDING
    assert story.do(c.AnswerAction(action_id=second, result="told")).wake
    assert story.told[-2:] == ["tool: no", "tool: told"]
    late = c.AnswerAction(action_id=ActionId(second), result="late")
    assert story.refused(late) is RefusalReason.NO_ACTION_PENDING


def test_interrupt_between_two_answers_makes_up_only_the_missing_one() -> None:
    story = Story("hello")
    story.ask(APPROVE, NOTIFY)
    story.do(c.AnswerAction(action_id=story.chat.actions[0].id, result="yes"))
    story.do(c.Interrupt())
    assert story.told[-2:] == ["tool: yes", "tool: Tool execution interrupted by user"]
    assert [str(action.state) for action in story.chat.actions] == ["answered", "cancelled"]


def test_action_past_its_deadline_ends_in_an_error_that_the_next_message_clears() -> None:
    """E19: calls answered synthetically, no lease; sending a message then works."""
    story = Story("hello")
    story.ask(APPROVE, NOTIFY)
    assert story.refused(c.ExpireActions()) is RefusalReason.NOT_DUE
    expired = story.chat.submit(c.ExpireActions(), LATER)
    assert isinstance(expired, Decision)
    assert (story.status, story.chat.runner_id) == ("error", None)
    assert story.chat.row.last_error is not None
    assert story.chat.row.last_error.kind is ErrorKind.ACTION_TIMEOUT
    assert "Dynamic tool execution timed out" in story.chat.row.last_error.message
    assert story.told[-2:] == ["tool: Dynamic tool execution timed out"] * 2
    assert [str(action.state) for action in story.chat.actions] == ["expired", "expired"]
    assert story.send("again").wake
    assert story.status == "running"
    assert story.chat.row.last_error is None


def test_action_is_due_at_its_deadline_and_not_before() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    assert isinstance(decide(story.chat.snapshot(), c.ExpireActions(), DEADLINE), Decision)


def test_chat_goes_on_past_the_deadline_where_every_call_says_so() -> None:
    story = Story("hello")
    story.ask(NOTIFY)
    expired = story.chat.submit(c.ExpireActions(), LATER)
    assert isinstance(expired, Decision)
    assert (story.status, expired.wake) == ("running", True)
    assert story.told[-1] == "tool: Dynamic tool execution timed out"


def test_compaction_runs_an_idle_chat_once() -> None:
    story = Story("hello")
    assert story.refused(c.RequestCompaction()) is RefusalReason.BUSY
    story.finish("Good morning.")
    assert story.do(c.RequestCompaction()).wake
    assert story.chat.row.compaction_requested
    story.chat.acquire(runner(2))
    story.do(c.FinishTurn(fence=story.fence()))
    assert (story.status, story.chat.row.compaction_requested) == ("waiting", False)


@pytest.mark.parametrize("stop", [c.Interrupt(), c.Archive()])
def test_interrupted_compaction_is_not_asked_for_again(stop: c.Command) -> None:
    story = Story("hello")
    story.finish("Good morning.")
    story.do(c.RequestCompaction())
    story.chat.acquire(runner(2))
    story.do(stop)
    story.finish_interruption()
    assert not story.chat.row.compaction_requested


@pytest.mark.parametrize("interrupt", [False, True])
def test_message_queued_during_a_compaction_is_answered_without_another(*, interrupt: bool) -> None:
    story = Story("hello")
    story.finish("Good morning.")
    story.do(c.RequestCompaction())
    story.chat.acquire(runner(2))
    story.send("second", interrupt=interrupt)
    if interrupt:
        story.finish_interruption()
    else:
        story.do(c.FinishTurn(fence=story.fence()))
    assert (story.status, story.told[-1]) == ("running", "user: second")
    assert not story.chat.row.compaction_requested


def test_edit_during_a_compaction_answers_instead() -> None:
    story = Story("hello")
    story.finish("Good morning.")
    story.do(c.RequestCompaction())
    story.do(c.EditMessage(message_id=story.message_id("hello"), content=plain("hi")))
    assert (story.status, story.chat.row.compaction_requested) == ("running", False)


def test_cleared_context_hides_what_came_before_from_the_model_only() -> None:
    story = Story("hello")
    assert story.refused(c.ClearContext()) is RefusalReason.BUSY
    story.do(c.FinishError(fence=story.fence(), error=OVERLOADED, messages=(answer("Goo"),)))
    story.do(c.ClearContext())
    assert story.status == "waiting"
    assert story.told == ["user: hello", "assistant: Goo"]
    assert story.chat.cleared_after() == 2
    story.do(c.EditMessage(message_id=story.message_id("hello"), content=plain("hi")))
    assert story.chat.cleared_after() == 0, "what was cleared after the message is void with it"


def test_snapshot_knows_the_call_of_an_open_action_only() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    wrong = replace(story.chat.snapshot(), action_target=ToolCallId("call_x"))
    outcome = decide(wrong, c.AnswerAction(action_id=ActionId(1), result="yes"), NOW)
    assert outcome == Refusal(reason=RefusalReason.ACTION_NOT_PENDING)
