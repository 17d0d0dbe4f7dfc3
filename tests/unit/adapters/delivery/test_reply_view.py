"""What a thread shows of a chat."""

import pytest

from adapters.delivery.reply_items import ItemKey, QuestionItem, ReplyItem
from adapters.delivery.reply_view import NO_ANSWER, STOPPED, ReplyView, view_of
from engine.chat.content import Finish, Message, Role, ToolCallPart, Visibility
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.form import Field, FieldKind, Form, FormKind
from engine.chat.ids import ActionId, MessageId, ToolCallId
from engine.chat.summaries import SUMMARY_TOOL
from engine.chat.view import ShownStatus
from engine.chat.writes import ActionState
from engine.stream.events import (
    HistoryReset,
    HistoryResetReason,
    MessageEvent,
    PreviewReset,
    PreviewResetReason,
    RetryEvent,
    ToolResultPart,
)
from tests.unit.adapters.delivery.threads import (
    ADA,
    asks,
    calls,
    failed,
    message,
    mirror_of,
    open_actions,
    part,
    question,
    results,
    says,
    text_part,
    thinks_and_says,
)

WAITING, RUNNING = ShownStatus.WAITING, ShownStatus.RUNNING
ERROR, ASKING = ShownStatus.ERROR, ShownStatus.REQUIRES_ACTION


def texts(view: ReplyView) -> list[str]:
    return [item.markdown for item in view.items if isinstance(item, ReplyItem)]


def reply(view: ReplyView) -> ReplyItem:
    (item,) = view.items
    assert isinstance(item, ReplyItem)
    return item


def test_a_reply_is_all_text_of_its_turn() -> None:
    mirror = mirror_of(
        asks(1), calls(2, "clock", text="Let me look."), results(3, "clock"), says(4, "Noon."),
        shown=WAITING,
    )  # fmt: skip
    assert texts(view_of(mirror)) == ["Let me look.\n\nNoon."]


def test_reasoning_is_never_shown() -> None:
    mirror = mirror_of(asks(1), thinks_and_says(2, "They want me to", "Yes."), shown=WAITING)
    assert texts(view_of(mirror)) == ["Yes."]


def test_each_turn_has_a_reply_of_its_own() -> None:
    mirror = mirror_of(asks(1), says(2, "One."), asks(3), says(4, "Two."), shown=WAITING)
    view = view_of(mirror)
    assert [str(item.key) for item in view.items] == ["reply:1", "reply:3"]
    assert view.finished_id == 3


def test_live_text_grows_below_what_is_stored() -> None:
    mirror = mirror_of(asks(1), text_part("Hel"), text_part("lo", 2), shown=RUNNING)
    item = reply(view_of(mirror))
    assert (item.markdown, item.is_growing, item.can_stop) == ("Hello", True, True)


def test_nothing_is_shown_before_there_is_something_to_say() -> None:
    assert view_of(mirror_of(asks(1), shown=RUNNING)).items == ()


def test_stored_text_replaces_the_preview_without_doubling_it() -> None:
    mirror = mirror_of(asks(1), text_part("Hello"), shown=RUNNING)
    mirror.apply(
        [PreviewReset(reason=PreviewResetReason.COMMITTED), MessageEvent(message=says(2, "Hello"))]
    )
    assert texts(view_of(mirror)) == ["Hello"]


def test_a_failed_attempts_text_disappears() -> None:
    """E55"""
    mirror = mirror_of(asks(1), text_part("Hal"), shown=RUNNING)
    mirror.apply([PreviewReset(reason=PreviewResetReason.RETRY), text_part("Hello", 1)])
    assert texts(view_of(mirror)) == ["Hello"]


def test_running_tools_are_named_until_their_results_are_there() -> None:
    mirror = mirror_of(asks(1), calls(2, "clock", "diary"), shown=RUNNING)
    assert reply(view_of(mirror)).activity == "*Using `clock`, `diary`…*"
    done = ToolResultPart(tool_call_id=ToolCallId("call-clock"), tool_name="clock", result=1)
    mirror.apply([part(done)])
    assert reply(view_of(mirror)).activity == "*Using `diary`…*"
    mirror.apply([MessageEvent(message=results(3, "clock", "diary"))])
    assert view_of(mirror).items == ()


def test_a_first_failed_attempt_is_not_mentioned_but_a_second_is() -> None:
    busy = ChatError(kind=ErrorKind.OVERLOADED, message="The model is overloaded.")
    mirror = mirror_of(asks(1), shown=RUNNING)
    mirror.apply([RetryEvent(retry=RetryState(attempt=1, delay_ms=1, retrying_at=0, error=busy))])
    assert view_of(mirror).items == ()
    mirror.apply([RetryEvent(retry=RetryState(attempt=2, delay_ms=1, retrying_at=0, error=busy))])
    assert reply(view_of(mirror)).activity == "*The model is overloaded. Trying again…*"


def test_an_error_is_said_once_below_what_was_said_before() -> None:
    """D9"""
    error = ChatError(kind=ErrorKind.AUTH, message="The key was refused.", detail="sk-canary")
    mirror = mirror_of(asks(1), says(2, "First,", finish=Finish.ERROR), failed(error), shown=ERROR)
    assert texts(view_of(mirror)) == ["First,\n\n⚠️ The key was refused."]


def test_an_error_stays_said_when_the_chat_goes_on() -> None:
    """D9"""
    error = ChatError(kind=ErrorKind.TIMEOUT, message="The model did not answer.")
    mirror = mirror_of(asks(1), failed(error), asks(2), says(3, "Back."), shown=WAITING)
    assert texts(view_of(mirror)) == ["⚠️ The model did not answer.", "Back."]


def test_a_question_nobody_answered_is_explained_in_words_to_act_on() -> None:
    error = ChatError(kind=ErrorKind.ACTION_TIMEOUT, message="Dynamic tool execution timed out")
    mirror = mirror_of(asks(1), failed(error), shown=ERROR)
    assert "Write again to go on" in reply(view_of(mirror)).markdown


@pytest.mark.parametrize(
    ("finish", "said"),
    [
        (Finish.LENGTH, "length limit"),
        (Finish.CONTENT_FILTER, "content filter"),
        (Finish.INCOMPLETE, "broke off"),
        (Finish.INTERRUPTED, "Stopped"),
    ],
)
def test_a_bad_ending_is_named(finish: Finish, said: str) -> None:
    mirror = mirror_of(asks(1), says(2, "So far", finish=finish), shown=WAITING)
    text = reply(view_of(mirror)).markdown
    assert text.startswith("So far\n\n*")
    assert said in text


@pytest.mark.parametrize("empty", ["", "  \n ", "\u200b\u2060"])
def test_an_empty_answer_gets_a_short_notice(empty: str) -> None:
    mirror = mirror_of(asks(1), says(2, empty), shown=WAITING)
    assert texts(view_of(mirror)) == [NO_ANSWER]


def test_a_turn_stopped_before_its_first_word_says_so() -> None:
    assert texts(view_of(mirror_of(asks(1), shown=WAITING))) == [STOPPED]


def test_a_question_divides_the_reply_where_it_was_asked() -> None:
    mirror = mirror_of(
        asks(1), calls(2, "ask_people", text="One thing:"), question(5, second=2), shown=ASKING
    )
    view = view_of(mirror)
    assert [str(item.key) for item in view.items] == ["reply:1", "action:5"]
    mirror.put_actions(
        [question(5, second=2, state=ActionState.ANSWERED, by=ADA, answer={"answer": True})]
    )
    mirror.apply(
        [MessageEvent(message=results(6, "ask_people")), MessageEvent(message=says(7, "Shipped."))]
    )
    first, asked, second = view_of(mirror).items
    assert isinstance(asked, QuestionItem)
    assert asked.outcome == "Ada answered: Yes"
    assert (str(first.key), str(second.key)) == ("reply:1", "reply:1.1")


def test_a_question_belongs_to_the_message_that_asked_it_though_call_ids_repeat() -> None:
    mirror = mirror_of(
        asks(1), calls(2, "ask_people"), question(10, second=2, state=ActionState.ANSWERED),
        results(3, "ask_people"), says(4, "Fine."), asks(5), calls(6, "ask_people"),
        question(11, second=6), shown=ASKING,
    )  # fmt: skip
    keys = [str(item.key) for item in view_of(mirror).items]
    assert keys == ["action:10", "reply:1.1", "action:11"]


def test_questions_of_turns_taken_back_are_withdrawn() -> None:
    mirror = mirror_of(asks(5), question(10, second=2, state=ActionState.CANCELLED), shown=RUNNING)
    view = view_of(mirror)
    assert (view.items, view.withdrawn) == ((), {ActionId(10)})


def test_a_closed_question_is_read_again_when_it_is_no_longer_open() -> None:
    mirror = mirror_of(asks(1), calls(2, "ask_people"), shown=ASKING)
    mirror.apply([open_actions(question(5, second=2))])
    assert not mirror.needs_actions
    mirror.apply([open_actions()])
    assert mirror.needs_actions


@pytest.mark.parametrize(
    ("state", "said"),
    [(ActionState.EXPIRED, "in time"), (ActionState.CANCELLED, "No answer is needed")],
)
def test_a_question_closed_without_an_answer_says_why(state: ActionState, said: str) -> None:
    mirror = mirror_of(
        asks(1), calls(2, "ask_people"), question(5, second=2, state=state), shown=WAITING
    )
    (item,) = [item for item in view_of(mirror).items if isinstance(item, QuestionItem)]
    assert said in item.outcome


def test_the_values_of_a_form_are_shown_by_label() -> None:
    form = Form(
        question="When?",
        kind=FormKind.MODAL,
        fields=(
            Field(name="day", label="Day", kind=FieldKind.DATE),
            Field(name="guests", label="Guests", kind=FieldKind.CHOICES),
            Field(name="lunch", label="Lunch", kind=FieldKind.BOOLEAN),
            Field(name="cook", label="Cook", kind=FieldKind.USER),
            Field(name="crew", label="Crew", kind=FieldKind.USERS),
        ),
    )
    answer = {
        "day": "2026-12-24", "guests": ["Ada", "Bo"], "lunch": False,
        "cook": "U1", "crew": ["U2", "U1", 7],
    }  # fmt: skip
    mirror = mirror_of(
        asks(1), calls(2, "ask_people"),
        question(5, second=2, state=ActionState.ANSWERED, by=ADA, answer=answer, form=form),
        shown=RUNNING,
    )  # fmt: skip
    (item,) = [item for item in view_of(mirror).items if isinstance(item, QuestionItem)]
    given = "Day: 2026-12-24, Guests: Ada, Bo, Lunch: no, Cook: U1, Crew: U2, U1, 7"
    assert item.outcome == f"Ada answered: {given}"
    assert item.named == ("U1", "U2")


def test_settled_turns_stand_but_are_not_looked_at() -> None:
    mirror = mirror_of(asks(1), says(2, "One."), asks(3), says(4, "Two."), shown=WAITING)
    view = view_of(mirror, after_turn=MessageId(1))
    assert (texts(view), view.turn_ids) == (["Two."], (1, 3))


def test_a_reset_forgets_what_was_taken_back() -> None:
    mirror = mirror_of(asks(1), says(2, "One."), asks(3), says(4, "Two."), shown=WAITING)
    mirror.apply([HistoryReset(reason=HistoryResetReason.TRUNCATED, after_id=MessageId(2))])
    assert texts(view_of(mirror)) == ["One."]
    assert mirror.needs_actions


def test_a_preview_that_lost_its_beginning_is_marked() -> None:
    mirror = mirror_of(asks(1), text_part("x"), shown=RUNNING)
    mirror.apply([PreviewReset(reason=PreviewResetReason.OVERFLOW), text_part("tail", 9)])
    assert mirror.preview_lost


@pytest.mark.parametrize(
    "key",
    [
        ItemKey(turn_id=MessageId(12)),
        ItemKey(turn_id=MessageId(12), segment=3),
        ItemKey(turn_id=MessageId(12), source_key="T1:C1:1700000000.000100", segment=1),
        ItemKey(action_id=ActionId(7)),
    ],
)
def test_a_key_survives_the_ledger(key: ItemKey) -> None:
    assert ItemKey.parse(str(key)) == key


@pytest.mark.parametrize("text", ["", "reply:", "reply:x", "notice:1", "action:-1", "reply:1.x@s"])
def test_another_writers_key_is_none_of_ours(text: str) -> None:
    assert ItemKey.parse(text) is None


def test_a_message_is_replaced_by_its_amended_form() -> None:
    mirror = mirror_of(asks(1), says(2, "One."), shown=WAITING)
    amended: Message = says(2, "Uno.")
    mirror.apply([MessageEvent(message=amended)])
    assert texts(view_of(mirror)) == ["Uno."]


def test_a_summary_is_not_mentioned() -> None:
    """It is the model's business; the reply stays as it was, also where it has said nothing yet."""
    note = message(
        3,
        Role.ASSISTANT,
        ToolCallPart(tool_call_id=ToolCallId("s"), tool_name=SUMMARY_TOOL),
        visibility=Visibility.USER,
    )
    told = message(
        4,
        Role.TOOL,
        ToolResultPart(tool_call_id=ToolCallId("s"), tool_name=SUMMARY_TOOL, result={}),
        visibility=Visibility.USER,
    )
    said = view_of(mirror_of(asks(1), says(2, "Aye."), note, told, shown=WAITING))
    assert texts(said) == ["Aye."]
    works = view_of(mirror_of(asks(1), note, told, shown=RUNNING))
    assert texts(works) == []
