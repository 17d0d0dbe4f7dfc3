"""D6: the cards of what a turn's tools are doing."""

from adapters.contract import TaskCard
from adapters.delivery.reply_items import ReplyItem
from adapters.delivery.reply_view import view_of
from engine.chat.content import Role, TextPart, ToolCallPart, ToolResultPart
from engine.chat.ids import ToolCallId
from engine.chat.view import ShownStatus
from engine.stream.events import ToolCallDelta
from tests.unit.adapters.delivery.threads import (
    ADA,
    asks,
    calls,
    message,
    mirror_of,
    part,
    question,
    results,
    says,
    text_part,
)

RUNNING, WAITING = ShownStatus.RUNNING, ShownStatus.WAITING


def states(cards: tuple[TaskCard, ...]) -> dict[str, str]:
    return {card.id: card.state.value for card in cards}


def item_of(*events: object, shown: ShownStatus) -> ReplyItem:
    items = view_of(mirror_of(*events, shown=shown)).items  # type: ignore[arg-type]
    (found,) = (item for item in items if isinstance(item, ReplyItem))
    return found


def test_a_card_follows_its_call_from_the_first_word_to_its_result() -> None:
    """D6"""
    writing = part(ToolCallDelta(tool_call_id=ToolCallId("c"), tool_name="clock"))
    asked = asks(1)
    assert states(item_of(asked, text_part("Hm."), writing, shown=RUNNING).tasks) == {
        "0:c": "pending"
    }
    stored = message(
        2,
        Role.ASSISTANT,
        TextPart(text="Hm."),
        ToolCallPart(tool_call_id=ToolCallId("c"), tool_name="clock"),
    )
    assert states(item_of(asked, stored, shown=RUNNING).tasks) == {"0:c": "in_progress"}
    for is_error, state in ((False, "complete"), (True, "error")):
        result = ToolResultPart(
            tool_call_id=ToolCallId("c"), tool_name="clock", result="noon", is_error=is_error
        )
        live = item_of(asked, stored, part(result), shown=RUNNING)
        assert states(live.tasks) == {"0:c": state}
        kept = item_of(asked, stored, message(3, Role.TOOL, result), says(4, "."), shown=WAITING)
        assert states(kept.tasks) == {"0:c": state}


def test_calls_with_the_same_id_in_other_steps_have_cards_of_their_own() -> None:
    """D6"""
    events = (asks(1), calls(2, "clock"), results(3, "clock"), calls(4, "clock"))
    assert list(states(item_of(*events, shown=RUNNING).tasks).values()) == [
        "complete",
        "in_progress",
    ]


def test_a_call_that_never_ended_is_not_left_running() -> None:
    assert list(
        states(item_of(asks(1), calls(2, "clock"), says(3, "."), shown=WAITING).tasks).values()
    ) == ["error"]


def test_a_reply_names_whose_question_it_answers() -> None:
    """D6: Slack streams to a recipient."""
    asked = message(1, Role.USER, TextPart(text="Hm?"), author=ADA)
    assert item_of(asked, says(2, "Hi."), shown=WAITING).reader == "slack:T1:U1"
    assert item_of(asks(1), says(2, "Hi."), shown=WAITING).reader == ""


def test_questions_to_people_are_no_cards() -> None:
    mirror = mirror_of(
        asks(1), calls(2, "ask_people", text="Hm."), shown=ShownStatus.REQUIRES_ACTION
    )
    mirror.put_actions([question(7, second=3)])
    replies = [item for item in view_of(mirror).items if isinstance(item, ReplyItem)]
    assert [item.tasks for item in replies] == [()]
