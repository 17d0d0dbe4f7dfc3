"""Wakes: one of many workers is enough, a lost hint costs a look."""

import math
from uuid import uuid4

import pytest

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.stream.relay import Wake
from engine.worker.wakes import AGAIN_SECONDS, ELSEWHERE_SECONDS, TAKEN_MAX, Chance, Wakes

NOON = 1000.0
HARBOUR, LIGHTHOUSE = ChatId(uuid4()), ChatId(uuid4())
LEAST, MOST = ELSEWHERE_SECONDS


def told(
    chat_id: ChatId, version: int, *, taken: bool = False, is_from_elsewhere: bool = False
) -> Wake:
    change = ChatChange(
        chat_id=chat_id,
        snapshot_version=version,
        history_version=1,
        queue_version=0,
        retry_version=0,
        generation_attempt=0,
        status=ChatStatus.RUNNING,
        wake=not taken,
        taken=taken,
    )
    return Wake(change, is_from_elsewhere=is_from_elsewhere)


def chance_at(place: float) -> Chance:
    """One that always falls on the same place between the two."""
    return lambda least, most: least + (most - least) * place


@pytest.fixture
def wakes() -> Wakes:
    return Wakes(chance_at(0.5))


def look(wakes: Wakes, now: float) -> None:
    """A look that finds nothing."""
    assert wakes.is_due(now)
    wakes.end_look(wakes.begin_look(), now)


def test_nothing_heard_is_nothing_to_look_for(wakes: Wakes) -> None:
    assert (wakes.next_at, wakes.is_due(NOON)) == (math.inf, False)


def test_a_chat_that_was_woken_here_is_looked_for_at_once(wakes: Wakes) -> None:
    """E49"""
    wakes.hear(told(HARBOUR, 1), NOON)

    assert wakes.is_due(NOON)


def test_a_chat_that_was_woken_elsewhere_is_left_alone_for_a_random_moment() -> None:
    """E49"""
    for place in (0.0, 0.5, 1.0):
        wakes = Wakes(chance_at(place))
        wakes.hear(told(HARBOUR, 1, is_from_elsewhere=True), NOON)
        due_at = NOON + LEAST + (MOST - LEAST) * place

        assert wakes.next_at == pytest.approx(due_at)
        assert not wakes.is_due(due_at - 0.001)
        assert wakes.is_due(due_at + 1e-9)


def test_a_chat_that_somebody_has_taken_is_not_looked_for(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1, is_from_elsewhere=True), NOON)
    wakes.hear(told(HARBOUR, 2, taken=True, is_from_elsewhere=True), NOON)

    assert not wakes.is_due(NOON + MOST)
    assert wakes.next_at == math.inf


def test_only_the_chat_that_was_taken_is_forgotten(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1), NOON)
    wakes.hear(told(LIGHTHOUSE, 1), NOON)
    wakes.hear(told(HARBOUR, 2, taken=True), NOON)

    assert wakes.is_due(NOON)


def test_a_chat_that_was_woken_again_is_not_forgotten_for_an_acquisition_before_that(
    wakes: Wakes,
) -> None:
    """E50: a second message runs at once, though the hint of the first acquisition comes late."""
    wakes.hear(told(HARBOUR, 3), NOON)
    wakes.hear(told(HARBOUR, 2, taken=True, is_from_elsewhere=True), NOON)

    assert wakes.is_due(NOON)


def test_a_wake_that_comes_after_the_acquisition_that_answered_it_says_nothing(
    wakes: Wakes,
) -> None:
    wakes.hear(told(HARBOUR, 4, taken=True, is_from_elsewhere=True), NOON)
    wakes.hear(told(HARBOUR, 2, taken=True, is_from_elsewhere=True), NOON)
    wakes.hear(told(HARBOUR, 3), NOON)
    assert not wakes.is_due(NOON)

    wakes.hear(told(HARBOUR, 5), NOON)
    assert wakes.is_due(NOON)


def test_no_more_than_the_latest_acquisitions_are_remembered(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 2, taken=True), NOON)
    wakes.hear(told(LIGHTHOUSE, 2, taken=True), NOON)
    for _ in range(TAKEN_MAX - 2):
        wakes.hear(told(ChatId(uuid4()), 2, taken=True), NOON)
    wakes.hear(told(HARBOUR, 4, taken=True), NOON)
    wakes.hear(told(ChatId(uuid4()), 2, taken=True), NOON)

    wakes.hear(told(HARBOUR, 3), NOON)
    assert not wakes.is_due(NOON), "it was taken again later than the others"
    wakes.hear(told(LIGHTHOUSE, 1), NOON)
    assert wakes.is_due(NOON), "a look too many, as its acquisition is forgotten"


def test_a_chat_that_was_not_to_be_had_is_looked_for_twice_more(wakes: Wakes) -> None:
    """E50: a command may have held its row for a moment."""
    wakes.hear(told(HARBOUR, 1), NOON)
    now = NOON
    for seconds in AGAIN_SECONDS:
        look(wakes, now)
        assert wakes.next_at == now + seconds
        assert not wakes.is_due(now + seconds / 2)
        now += seconds
    look(wakes, now)

    assert wakes.next_at == math.inf


def test_looks_in_vain_end_when_the_chat_is_taken(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1), NOON)
    look(wakes, NOON)
    wakes.hear(told(HARBOUR, 2, taken=True, is_from_elsewhere=True), NOON)

    assert not wakes.is_due(NOON + 1)


def test_one_look_answers_all_that_was_heard_before_it(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1, is_from_elsewhere=True), NOON)
    wakes.hear(told(LIGHTHOUSE, 1), NOON)
    look(wakes, NOON)

    assert wakes.next_at == NOON + AGAIN_SECONDS[0]


def test_what_is_heard_during_a_look_needs_another(wakes: Wakes) -> None:
    """E50"""
    wakes.hear(told(HARBOUR, 1), NOON)
    begun = wakes.begin_look()
    wakes.hear(told(HARBOUR, 3), NOON)
    wakes.end_look(begun, NOON)

    assert wakes.is_due(NOON)


def test_a_chat_that_is_woken_again_has_all_its_looks_again(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1), NOON)
    look(wakes, NOON)
    wakes.hear(told(HARBOUR, 3), NOON)
    now = NOON
    for seconds in (0.0, *AGAIN_SECONDS):
        now += seconds
        look(wakes, now)

    assert wakes.next_at == math.inf


def test_a_double_from_elsewhere_does_not_put_off_a_look(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 3), NOON)
    wakes.hear(told(HARBOUR, 1, is_from_elsewhere=True), NOON)
    wakes.hear(told(HARBOUR, 2, taken=True), NOON)

    assert wakes.is_due(NOON)


def test_room_is_a_reason_to_look_once(wakes: Wakes) -> None:
    wakes.ask(NOON)
    look(wakes, NOON)

    assert wakes.next_at == math.inf


def test_room_during_a_look_is_a_reason_for_another(wakes: Wakes) -> None:
    wakes.ask(NOON)
    begun = wakes.begin_look()
    wakes.ask(NOON)
    wakes.end_look(begun, NOON)

    assert wakes.is_due(NOON)


def test_a_look_that_failed_is_still_due(wakes: Wakes) -> None:
    wakes.hear(told(HARBOUR, 1), NOON)
    wakes.begin_look()

    assert wakes.is_due(NOON)
