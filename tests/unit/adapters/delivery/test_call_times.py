"""When calls may be made."""

from adapters.delivery.call_times import CallTimes, Method


def times(*, edits_per_minute: float = 60) -> CallTimes:
    return CallTimes(edits_per_minute=edits_per_minute, now=0)


def test_a_pause_holds_for_one_method_in_one_channel() -> None:
    """D4"""
    calls = times()
    calls.pause(Method.EDIT, "C1", until=5)
    assert calls.ready_at(Method.EDIT, "C1", now=1) == 5
    assert calls.ready_at(Method.EDIT, "C2", now=1) <= 1
    assert calls.ready_at(Method.POST, "C1", now=1) <= 1
    assert calls.ready_at(Method.EDIT, "C1", now=5) <= 5


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    """D4"""
    calls = times()
    calls.pause(Method.POST, "C1", until=9)
    calls.pause(Method.POST, "C1", until=3)
    assert calls.ready_at(Method.POST, "C1", now=1) == 9


def test_drafts_share_a_budget_that_fills_again() -> None:
    calls = times(edits_per_minute=2)
    assert calls.draft_ready_at(now=0) == 0
    for _ in range(2):
        calls.edited(now=0)
    assert calls.draft_ready_at(now=0) == 30
    assert calls.draft_ready_at(now=30) == 30


def test_final_edits_draw_on_the_budget_so_that_drafts_make_room() -> None:
    calls = times(edits_per_minute=2)
    for _ in range(4):
        calls.edited(now=0)
    assert calls.draft_ready_at(now=0) == 90
