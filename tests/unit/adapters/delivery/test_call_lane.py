"""Whose turn it is."""

from adapters.delivery.call_lane import Lane, Wish


def nothing() -> None:
    """A grant that nobody waits for."""


def lane(*wishes: Wish) -> Lane:
    return Lane(wishes=dict.fromkeys(wishes))


def draft(channel: str = "C1") -> Wish:
    return Wish(channel=channel, is_urgent=False, grant=nothing)


def final(channel: str = "C1") -> Wish:
    return Wish(channel=channel, is_urgent=True, grant=nothing)


def test_finals_go_before_drafts_and_each_kind_in_its_order() -> None:
    """D4"""
    wishes = [draft(), final(), draft(), final()]
    waiting = lane(*wishes)
    order = []
    while (wish := waiting.first(0.0)) is not None:
        order.append(wishes.index(wish))
        del waiting.wishes[wish]
    assert order == [1, 3, 0, 2]


def test_a_draft_that_has_become_final_goes_first() -> None:
    """D4"""
    early, late = draft(), draft()
    late.is_urgent = True
    assert lane(early, late).first(0.0) is late


def test_what_stops_drafts_does_not_stop_finals() -> None:
    """D4"""
    waiting, held = draft(), lane()
    held.wishes[waiting] = None
    held.stopped(waiting, (5.0, 0.0), now=10.0)
    assert held.first(14.0) is None
    assert held.next_at(14.0) == 15.0
    urgent = final()
    held.wishes[urgent] = None
    assert held.first(14.0) is urgent
    del held.wishes[urgent]
    assert held.first(15.0) is waiting


def test_what_stops_finals_stops_drafts() -> None:
    urgent, waiting = final(), draft()
    held = lane(urgent, waiting)
    held.stopped(urgent, (5.0, 0.0), now=10.0)
    assert held.first(14.0) is None
    assert held.first(15.0) is urgent


def test_a_channel_that_must_wait_holds_up_no_other() -> None:
    """D4"""
    stopped, other = final("C1"), draft("C2")
    held = lane(stopped, other)
    held.stopped(stopped, (0.0, 5.0), now=10.0)
    assert held.first(11.0) is other
    assert held.first_in("C1", 11.0) is None
    assert held.first_in("C2", 11.0) is other
    del held.wishes[other]
    assert held.next_at(11.0) == 15.0
    assert held.first(15.0) is stopped
