"""What people say to a chat, and change of what they said."""

from dataclasses import fields

import pytest

from engine.chat import commands as c
from engine.chat.content import FilePart, Finish, Role, ToolCallPart, Visibility, plain
from engine.chat.decide import first_messages
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.ids import MessageId, QueuedId, ToolCallId
from engine.chat.snapshot import Snapshot
from tests.unit.engine.chat.chats import APPROVE, SEARCH
from tests.unit.engine.chat.steps import ADA, BO, NOW, RETRY
from tests.unit.engine.chat.stories import Story, answer, runner


def test_message_sent_while_running_is_queued() -> None:
    """E7: the status and the lease stay as they are."""
    story = Story("hello")
    before = story.chat.view()
    sent = story.send("and then?")
    after = story.chat.view()
    assert (sent.effect, sent.wake) == (Effect.QUEUED, False)
    assert story.queue == ["and then?"]
    assert story.told == ["user: hello"]
    assert (after.status, after.has_runner, after.lease_live) == (before.status, True, True)
    assert after.history_version == before.history_version
    assert after.queue_version == after.snapshot_version


def test_message_sent_to_an_idle_chat_starts_it_and_wakes_a_worker() -> None:
    story = Story("hello")
    story.finish("Good morning.")
    sent = story.send("and then?")
    assert (sent.effect, sent.wake, story.status) == (Effect.INSERTED, True, "running")
    assert story.told[-1] == "user: and then?"


def test_message_behind_a_backlog_keeps_the_order() -> None:
    """E8: the backlog of a waiting chat is answered first."""
    story = story_with_backlog("first", "second")
    sent = story.send("third")
    assert (sent.effect, sent.wake, story.status) == (Effect.QUEUED, True, "running")
    assert story.told[-1] == "user: first"
    assert story.queue == ["second", "third"]


def test_full_backlog_does_not_keep_an_idle_chat_from_going_on() -> None:
    texts = [f"message {number}" for number in range(c.QUEUE_MAX)]
    story = story_with_backlog(*texts)
    story.send("one more")
    assert story.status == "running"
    assert story.queue == [*texts[1:], "one more"]


def test_twenty_first_message_to_a_busy_chat_is_refused() -> None:
    story = Story("hello")
    for number in range(c.QUEUE_MAX):
        story.send(f"message {number}")
    before = story.chat.view()
    assert story.refused(c.SendMessage(content=plain("one more"))) is RefusalReason.QUEUE_FULL
    assert story.chat.view() == before


def test_interrupting_message_waits_for_the_partial_answer() -> None:
    """E9: queued first; when the interruption is finished the partial answer stands before it."""
    story = Story("hello")
    sent = story.send("stop, Bo here", interrupt=True)
    assert (sent.effect, story.status) == (Effect.QUEUED, "interrupting")
    assert (story.told, story.queue) == (["user: hello"], ["stop, Bo here"])
    story.finish_interruption(answer("Good m", Finish.INTERRUPTED))
    assert story.status == "running"
    assert story.told == ["user: hello", "assistant: Good m", "user: stop, Bo here"]
    assert story.queue == []


def test_messages_are_answered_in_the_order_they_were_said() -> None:
    """E14: promotion knows no limit: nothing is asked between one message and the next."""
    story = Story("hello")
    story.send("queued", interrupt=True)
    story.send("later queued")
    story.finish_interruption(answer("Goo", Finish.INTERRUPTED))
    finished = story.finish("To queued.")
    assert not finished.wake, "the same runner goes on without waiting for a poll"
    story.finish("To later queued.")
    assert story.status == "waiting"
    assert story.told == [
        "user: hello",
        "assistant: Goo",
        "user: queued",
        "assistant: To queued.",
        "user: later queued",
        "assistant: To later queued.",
    ]


def test_interrupting_message_takes_back_what_people_are_asked() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    sent = story.send("never mind", interrupt=True)
    assert (sent.effect, sent.wake, story.status) == (Effect.INSERTED, True, "running")
    assert story.told[-2:] == ["tool: Tool execution interrupted by user", "user: never mind"]
    assert [str(action.state) for action in story.chat.actions] == ["cancelled"]


def test_message_waits_while_people_are_asked() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    assert story.send("one more thing").effect is Effect.QUEUED
    assert story.status == "requires_action"


@pytest.mark.parametrize("busy", list(c.BusyBehavior))
def test_same_source_key_is_one_message(busy: c.BusyBehavior) -> None:
    story = Story("hello", source_key="slack:1")
    story.send("again", source_key="slack:2")
    before = story.chat.view()
    for source_key in ("slack:1", "slack:2"):
        sent = story.do(c.SendMessage(content=plain("again"), source_key=source_key, busy=busy))
        assert sent.effect is Effect.DUPLICATE
    assert (story.chat.view().history, story.chat.view().queue) == (before.history, before.queue)
    assert story.status == "running"


def test_late_duplicate_of_a_message_is_no_refusal_in_an_archived_chat() -> None:
    story = Story("hello", source_key="slack:1")
    story.finish("Good morning.")
    story.do(c.Archive())
    assert story.send("hello", source_key="slack:1").effect is Effect.DUPLICATE
    assert story.refused(c.SendMessage(content=plain("new"))) is RefusalReason.ARCHIVED


def test_nobody_can_say_nothing() -> None:
    story = Story("hello")
    assert story.refused(c.SendMessage(content=plain(" \n\t"))) is RefusalReason.EMPTY_MESSAGE
    assert story.refused(c.SendMessage(content=())) is RefusalReason.EMPTY_MESSAGE
    story.do(c.SendMessage(content=(FilePart(name="chart.png", media_type="image/png"),)))


def test_nobody_can_speak_in_the_parts_of_a_model() -> None:
    forged = (*plain("hi"), ToolCallPart(tool_call_id=ToolCallId("call_0"), tool_name="search"))
    story = Story("hello")
    assert story.chat.submit(c.SendMessage(content=forged), NOW) == Refusal(
        reason=RefusalReason.UNFIT_CONTENT, detail="only text and files"
    )


def test_edit_forgets_what_followed_and_fences_the_old_worker_off() -> None:
    """E10: history is the edited message alone, the queue is empty, the chat is pending."""
    story = Story("hello")
    story.finish("Good morning.")
    story.send("second")
    story.chat.acquire(runner(2))
    late = story.fence()
    story.send("third")
    old_id = story.message_id("hello")
    edited = story.do(c.EditMessage(message_id=old_id, content=plain("hello!"), author=ADA))
    assert (edited.effect, edited.wake) == (Effect.INSERTED, True)
    assert (story.told, story.queue) == (["user: hello!"], [])
    assert story.message_id("hello!") != old_id
    assert story.chat.snapshot().is_pending
    for command in (
        c.CommitStep(fence=late, messages=(answer("late"),)),
        c.FinishTurn(fence=late, messages=(answer("late"),)),
        c.FinishInterruption(fence=late, messages=(answer("late"),)),
        c.ReleaseLease(fence=late),
    ):
        assert story.refused(command) is RefusalReason.LEASE_LOST


def test_edit_while_people_are_asked_takes_the_question_back() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    story.do(c.EditMessage(message_id=story.message_id("hello"), content=plain("hi")))
    assert story.told == ["user: hi"]
    assert [str(action.state) for action in story.chat.actions] == ["cancelled"]


def test_edit_is_by_whoever_edited_where_that_is_known() -> None:
    story = Story("hello")
    for text, author, known in (("hi", BO, BO), ("hey", None, BO)):
        (said,) = story.chat.live()
        story.do(c.EditMessage(message_id=said.id, content=plain(text), author=author))
        assert [stored.message.author for stored in story.chat.live()] == [known]


def test_edit_keeps_the_source_key_so_that_a_redelivery_is_still_known() -> None:
    story = Story("hello", source_key="slack:1")
    story.do(c.EditMessage(message_id=story.message_id("hello"), content=plain("hi")))
    assert story.send("hello", source_key="slack:1").effect is Effect.DUPLICATE


def test_edit_of_an_unknown_message_is_a_typed_refusal() -> None:
    """E16: message_not_found."""
    story = Story("hello")
    unknown = c.EditMessage(message_id=MessageId(999), content=plain("hi"))
    assert story.refused(unknown) is RefusalReason.MESSAGE_NOT_FOUND


def test_edit_of_an_answer_is_a_typed_refusal() -> None:
    """E17: not_a_user_message."""
    story = Story("hello")
    story.finish("Good morning.")
    message_id = story.message_id("Good morning.")
    for rerun in (True, False):
        edit = c.EditMessage(message_id=message_id, content=plain("Bad."), rerun=rerun)
        assert story.refused(edit) is RefusalReason.NOT_A_USER_MESSAGE


def test_amended_message_makes_a_running_chat_start_its_step_again() -> None:
    story = Story("helo")
    late = story.fence()
    story.do(c.RecordRetry(fence=late, retry=RETRY))
    edit = c.EditMessage(message_id=story.message_id("helo"), content=plain("hello"), rerun=False)
    amended = story.do(edit)
    assert amended.wake
    assert story.told == ["user: hello"]
    assert story.chat.row.retry is None, "nobody waits for that retry any more"
    assert story.refused(c.FinishTurn(fence=late)) is RefusalReason.LEASE_LOST


def test_amending_does_not_disturb_a_chat_that_nobody_works_on() -> None:
    story = Story("helo")
    story.ask(APPROVE)
    edit = c.EditMessage(message_id=story.message_id("helo"), content=plain("hello"), rerun=False)
    assert not story.do(edit).wake
    assert story.status == "requires_action"
    assert story.chat.row.open_calls == (APPROVE,)


def test_queued_message_can_be_changed_and_taken_out() -> None:
    story = Story("hello")
    story.send("2nd")
    story.send("third")
    story.do(c.EditQueuedMessage(queued_id=story.queued_id("2nd"), content=plain("second")))
    assert story.queue == ["second", "third"]
    story.do(c.DeleteQueuedMessage(queued_id=story.queued_id("second")))
    assert story.queue == ["third"]
    assert story.told == ["user: hello"]
    gone = c.DeleteQueuedMessage(queued_id=QueuedId(999))
    assert story.refused(gone) is RefusalReason.QUEUED_NOT_FOUND


def test_promoted_message_is_answered_next_and_the_others_keep_their_order() -> None:
    story = Story("hello")
    for text in ("first", "second", "third"):
        story.send(text)
    promoted = story.do(c.PromoteQueuedMessage(queued_id=story.queued_id("second")))
    assert (promoted.effect, story.status) == (Effect.QUEUED, "interrupting")
    assert story.queue == ["second", "first", "third"]
    story.finish_interruption(answer("Goo", Finish.INTERRUPTED))
    assert story.told[-2:] == ["assistant: Goo", "user: second"]
    assert story.queue == ["first", "third"]


def test_promoting_asks_nothing_about_spending() -> None:
    """E13: a decision sees no limit, so a message queued before it may be promoted after."""
    assert not [field.name for field in fields(Snapshot) if "limit" in field.name]
    story = story_with_backlog("first", "second")
    promoted = story.do(c.PromoteQueuedMessage(queued_id=story.queued_id("second")))
    assert (promoted.effect, promoted.wake) == (Effect.INSERTED, True)
    assert story.told[-1] == "user: second"
    assert story.queue == ["first"]


def test_promoting_while_people_are_asked_takes_the_question_back() -> None:
    story = Story("hello")
    story.ask(APPROVE)
    story.send("second")
    story.do(c.PromoteQueuedMessage(queued_id=story.queued_id("second")))
    assert story.told[-2:] == ["tool: Tool execution interrupted by user", "user: second"]


def test_call_left_open_is_answered_before_the_next_message() -> None:
    story = Story("hello")
    story.call(SEARCH)
    story.send("and then?")
    story.do(c.FinishTurn(fence=story.fence()))
    assert story.told[-2:] == [
        "tool: tool call was interrupted and did not receive a result",
        "user: and then?",
    ]


def test_new_chat_begins_with_its_prompt_for_the_model_and_the_first_message() -> None:
    create = Story("hello", system_prompt="You are Wren.").chat.create
    messages = first_messages(create)
    assert not isinstance(messages, Refusal)
    assert [(message.role, message.visibility) for message in messages] == [
        (Role.SYSTEM, Visibility.MODEL),
        (Role.USER, Visibility.BOTH),
    ]


def test_new_chat_needs_something_to_answer() -> None:
    create = c.CreateChat(chat_id=Story().chat.create.chat_id, content=plain(" "))
    assert first_messages(create) == Refusal(reason=RefusalReason.EMPTY_MESSAGE)


def story_with_backlog(*texts: str) -> Story:
    """A waiting chat with messages in its queue: archived while it was busy, and taken back out."""
    story = Story("hello")
    for text in texts:
        story.send(text)
    story.do(c.Archive())
    story.finish_interruption()
    unarchived = story.do(c.Unarchive())
    assert (story.status, unarchived.wake) == ("waiting", False)
    return story
