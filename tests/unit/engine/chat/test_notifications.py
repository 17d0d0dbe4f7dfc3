"""Who is told of a turn's end is decided with the end itself, and never where somebody stopped it."""

import pytest

from engine.chat import commands as c
from engine.chat.decide import decide
from engine.chat.decision import Decision, Refusal
from engine.chat.notification import NotificationKind
from engine.chat.snapshot import OpenCall
from engine.chat.writes import QueueNotification
from tests.unit.engine.chat.chats import APPROVE, FENCE, NOTIFY, accepted, chat_in
from tests.unit.engine.chat.steps import DEADLINE, NOW, OVERLOADED
from tests.unit.engine.chat.stories import answer, calling

SAID = (answer("Done."),)


def told(outcome: Decision | Refusal) -> list[NotificationKind]:
    """What a decision has the owner told."""
    writes = accepted(outcome).writes
    return [write.kind for write in writes if isinstance(write, QueueNotification)]


def asking(*calls: OpenCall, notify: bool = True) -> c.EnterRequiresAction:
    return c.EnterRequiresAction(
        fence=FENCE,
        messages=(calling(*calls),),
        open_calls=calls,
        actions=tuple(
            c.NewAction(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                executor=call.executor,
                args="{}",
            )
            for call in calls
        ),
        deadline_at=DEADLINE,
        notify=notify,
    )


def test_a_turn_that_comes_to_rest_is_told_of() -> None:
    finish = c.FinishTurn(fence=FENCE, messages=SAID, notify=True)
    assert told(decide(chat_in("R0"), finish, NOW)) == [NotificationKind.FINISHED]


def test_a_turn_that_comes_to_rest_with_a_summary_is_told_of() -> None:
    compact = c.CompactHistory(fence=FENCE, messages=SAID, ends_turn=True, notify=True)
    assert told(decide(chat_in("R0"), compact, NOW)) == [NotificationKind.FINISHED]
    goes_on = c.CompactHistory(fence=FENCE, messages=SAID, notify=True)
    assert told(decide(chat_in("R0"), goes_on, NOW)) == []


def test_a_turn_that_goes_on_with_the_queue_is_not_told_of() -> None:
    finish = c.FinishTurn(fence=FENCE, messages=SAID, notify=True)
    assert told(decide(chat_in("R1"), finish, NOW)) == []


@pytest.mark.parametrize("state", ["R0", "R1"])
def test_an_error_is_told_of_whatever_waits(state: str) -> None:
    fail = c.FinishError(fence=FENCE, error=OVERLOADED, notify=True)
    assert told(decide(chat_in(state), fail, NOW)) == [NotificationKind.FAILED]


@pytest.mark.parametrize("state", ["I0", "I1", "IX0"])
def test_what_somebody_has_stopped_is_not_told_of(state: str) -> None:
    """E35"""
    put_away = c.FinishInterruption(fence=FENCE, messages=SAID)
    fail = c.FinishError(fence=FENCE, error=OVERLOADED, notify=True)
    assert told(decide(chat_in(state), put_away, NOW)) == []
    assert told(decide(chat_in(state), fail, NOW)) == []


def test_a_question_is_told_of_where_people_are_asked() -> None:
    assert told(decide(chat_in("R0"), asking(APPROVE, NOTIFY), NOW)) == [
        NotificationKind.NEEDS_ANSWER
    ]
    assert told(decide(chat_in("R0"), asking(NOTIFY), NOW)) == []
    assert told(decide(chat_in("R0"), asking(), NOW)) == []


def test_nothing_is_told_of_a_turn_that_was_short() -> None:
    for command in (
        c.FinishTurn(fence=FENCE, messages=SAID),
        c.FinishError(fence=FENCE, error=OVERLOADED),
        asking(APPROVE, notify=False),
    ):
        assert told(decide(chat_in("R0"), command, NOW)) == []
