"""The pace of edits and calls, from given times alone."""

from adapters.delivery.pacing import EditNow, EditPacer, Nothing, Wait


def pacer() -> EditPacer:
    return EditPacer(interval_ms_min=3000)


def test_first_text_is_shown_at_once() -> None:
    assert pacer().decide(now=10.0, wanted="a", final=False) == EditNow()


def test_second_text_waits_for_the_interval_and_the_latest_wins() -> None:
    edited = pacer().edited(now=10.0, shown="a")
    assert edited.decide(now=11.0, wanted="b", final=False) == Wait(seconds=2.0)
    assert edited.decide(now=13.0, wanted="c", final=False) == EditNow()


def test_a_text_that_is_shown_already_is_not_sent_again() -> None:
    assert pacer().edited(now=10.0, shown="a").decide(now=99.0, wanted="a", final=True) == Nothing()


def test_the_final_text_waits_for_no_interval() -> None:
    edited = pacer().edited(now=10.0, shown="a")
    assert edited.decide(now=10.1, wanted="b", final=True) == EditNow()


def test_even_the_final_text_waits_for_retry_after_and_then_lands() -> None:
    paused = pacer().edited(now=10.0, shown="a").paused(until=40.0)
    assert paused.decide(now=12.0, wanted="b", final=True) == Wait(seconds=28.0)
    assert paused.decide(now=40.0, wanted="b", final=True) == EditNow()


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    paused = pacer().paused(until=40.0).paused(until=20.0)
    assert paused.decide(now=30.0, wanted="b", final=True) == Wait(seconds=10.0)


def test_an_edit_of_unknown_outcome_is_sent_again_after_the_interval() -> None:
    failed = pacer().edited(now=10.0, shown="a").failed(now=20.0)
    assert failed.decide(now=21.0, wanted="a", final=False) == Wait(seconds=2.0)
    assert failed.decide(now=23.0, wanted="a", final=False) == EditNow()


def test_asking_again_changes_nothing() -> None:
    edited = pacer().edited(now=10.0, shown="a")
    answers = {edited.decide(now=11.0, wanted="b", final=False) for _ in range(3)}
    assert answers == {Wait(seconds=2.0)}
