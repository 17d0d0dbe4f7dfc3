"""D6: what is sent to a streamed message next, and when it is closed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import Growth, StreamLimits, TaskCard, TaskState
from adapters.delivery.stream_plan import (
    NOTHING,
    Append,
    Close,
    Forget,
    Idle,
    OpenStream,
    StreamedPage,
    beginning,
    fullness,
    grown,
    next_step,
    sure_part,
    whole_words,
)

LIMITS = StreamLimits(
    interval_seconds=1.0, seconds_max=240.0, life_seconds=300.0, bytes_max=900, call_chars_max=120
)
RUNS = TaskCard(id="0:a", title="search", state=TaskState.IN_PROGRESS)
DONE = replace(RUNS, state=TaskState.COMPLETE)


def stream(sent: str = "", **fields: object) -> OpenStream:
    known = OpenStream(message_id="1.1", started_at=0.0, sent_at=10.0, sent=sent)
    return replace(known, **fields)  # type: ignore[arg-type]


def page(markdown: str, *tasks: TaskCard) -> StreamedPage:
    return StreamedPage(markdown=markdown, tasks=tasks, reader="slack:T1:U1")


def step(
    of: OpenStream, markdown: str, *tasks: TaskCard, is_draft: bool = True, now: float = 10.0
) -> object:
    return next_step(of, page(markdown, *tasks), is_draft=is_draft, now=now, limits=LIMITS)


@pytest.mark.parametrize(
    ("markdown", "sure"),
    [
        ("Hello *wor*", "Hello *wor"),
        ("Hello **wor**", "Hello **wor"),
        ("```python\nx = 1\n```", "```python\nx = 1"),
        ("> ```\n> x\n> ```", "> ```\n> x"),
        ("`a", "`a"),
        ("a `b`", "a `b"),
        ("end.  \n", "end."),
        ("**", ""),
    ],
)
def test_marks_that_close_a_draft_for_now_are_held_back(markdown: str, sure: str) -> None:
    """D6"""
    assert sure_part(markdown) == sure


@pytest.mark.parametrize(
    ("markdown", "sent", "words"),
    [
        ("one two thr", "", "one two "),
        ("one two\n    thr", "", "one two\n    "),
        ("one", "", ""),
        ("one two", "one two", "one two"),
        ("one twofold", "one two", "one two"),
        ("日本語です", "", "日本語で"),
    ],
)
def test_parts_end_where_words_end(markdown: str, sent: str, words: str) -> None:
    """D6"""
    assert whole_words(markdown, sent) == words


def test_the_first_text_is_shown_at_once_even_within_a_word() -> None:
    assert beginning(page("Half"), LIMITS) == Growth(text="Half")
    assert beginning(page("Half of"), LIMITS) == Growth(text="Half ")
    assert beginning(page("**"), LIMITS) == NOTHING


def test_a_stream_may_begin_with_what_runs() -> None:
    assert beginning(page("", RUNS), LIMITS) == Growth(tasks=(RUNS,))


def test_more_is_sent_an_interval_after_the_last_call() -> None:
    """D6"""
    found = step(stream("one "), "one two three")
    assert found == Append(growth=Growth(text="two "), due_at=11.0)


def test_what_ends_within_a_word_is_sent_an_interval_later() -> None:
    found = step(stream("one two "), "one two three")
    assert found == Append(growth=Growth(text="three"), due_at=12.0)


def test_nothing_new_is_no_call_until_the_stream_grows_old() -> None:
    assert step(stream("one "), "one **") == Idle(until=240.0)


def test_a_call_takes_no_more_than_the_platform_does() -> None:
    """D6"""
    found = step(stream(), "word " * 100)
    assert isinstance(found, Append)
    assert found.growth.text == "word " * 23
    final = step(stream(), "word " * 100, is_draft=False)
    assert isinstance(final, Append)
    assert len(final.growth.text) <= LIMITS.call_chars_max
    unbroken = step(stream(), "x" * 500)
    assert isinstance(unbroken, Append)
    assert unbroken.growth.text == "x" * 120


def test_a_complete_page_is_closed_with_its_rest() -> None:
    """D6"""
    assert step(stream("one "), "one **two**", is_draft=False) == Close(
        growth=Growth(text="**two**"), is_whole=True
    )
    assert step(stream("one"), "one", is_draft=False) == Close(growth=NOTHING, is_whole=True)


@pytest.mark.parametrize("is_draft", [True, False])
def test_text_that_does_not_go_on_from_what_was_sent_is_left_to_an_edit(is_draft: bool) -> None:  # noqa: FBT001
    """D6"""
    assert step(stream("one two"), "one too", is_draft=is_draft) == Close(
        growth=NOTHING, is_whole=False
    )


def test_text_that_falls_behind_what_was_sent_may_catch_up() -> None:
    """D6: a link that is being written takes the blank before it back for a while."""
    assert step(stream("See "), "See") == Idle(until=240.0)
    assert step(stream("See this "), "See") == Idle(until=240.0)
    assert step(stream("See this "), "See", now=240.0) == Close(growth=NOTHING, is_whole=False)


def test_a_blank_too_many_at_the_end_is_no_reason_for_an_edit() -> None:
    """D6"""
    before = stream("See ", tasks={RUNS.id: RUNS})
    assert step(before, "See", DONE, is_draft=False) == Close(
        growth=Growth(tasks=(DONE,)), is_whole=True
    )
    assert step(stream("See this "), "See", is_draft=False) == Close(growth=NOTHING, is_whole=False)


@pytest.mark.parametrize("is_draft", [True, False])
def test_a_stream_of_doubtful_content_takes_nothing_more(is_draft: bool) -> None:  # noqa: FBT001
    """D6"""
    doubtful = stream("one ", is_doubtful=True)
    assert step(doubtful, "one two three", is_draft=is_draft) == Close(
        growth=NOTHING, is_whole=False
    )


def test_a_stream_is_closed_before_the_platform_ends_it() -> None:
    """D6"""
    assert step(stream("one "), "one two three", now=240.0) == Close(growth=NOTHING, is_whole=False)
    late = step(stream("one ", sent_at=239.9), "one two three", now=239.9)
    assert late == Append(growth=Growth(text="two "), due_at=240.0)


def test_a_stream_is_closed_before_it_is_too_long_in_bytes() -> None:
    """D6: what counts is UTF-8, cards included."""
    full = stream("日本" * 140)
    assert isinstance(step(full, "日本" * 140 + " 日本 日本"), Append)
    assert step(full, "日本" * 140 + " 日本 " * 8 + "x") == Close(growth=NOTHING, is_whole=False)
    assert step(full, full.sent, RUNS) == Close(growth=NOTHING, is_whole=False)


def test_cards_are_sent_when_they_change() -> None:
    """D6"""
    before = stream("one ", tasks={RUNS.id: RUNS})
    assert step(before, "one **", RUNS) == Idle(until=240.0)
    found = step(before, "one **", DONE)
    assert found == Append(growth=Growth(tasks=(DONE,)), due_at=11.0)
    after = grown(before, Growth(text="two ", tasks=(DONE,)), now=11.0)
    assert (after.sent, after.tasks, after.sent_at) == ("one two ", {DONE.id: DONE}, 11.0)


def test_what_runs_on_below_is_closed_here() -> None:
    """D6"""
    found = step(stream("one", tasks={RUNS.id: RUNS}), "one", is_draft=False)
    assert isinstance(found, Close)
    assert found.growth.tasks == (
        TaskCard(id=RUNS.id, title="search (goes on below)", state=TaskState.COMPLETE),
    )


def test_a_stream_that_cannot_be_closed_shows_the_rest_and_is_waited_for() -> None:
    """D6: openclaw#70295, where the text of a refused stop was lost."""
    stuck = stream("one ", is_unclosable=True)
    assert step(stuck, "one two", is_draft=False) == Append(growth=Growth(text="two"), due_at=11.0)
    shown = replace(stuck, sent="one two")
    assert step(shown, "one two", is_draft=False) == Idle(until=300.0)
    assert step(shown, "one two", is_draft=False, now=300.0) == Forget()
    assert step(shown, "another", is_draft=False) == Idle(until=300.0)


def test_fullness_is_of_age_or_size() -> None:
    assert fullness(stream("x" * 450), now=60.0, limits=LIMITS) == 0.5
    assert fullness(stream("x" * 90), now=180.0, limits=LIMITS) == 0.75


TEXTS = st.text(alphabet="ab *_`~>\n<!@&日本-#[]()", max_size=80)


@given(TEXTS, st.lists(st.integers(min_value=0, max_value=80), max_size=8))
def test_whatever_is_sent_adds_up_to_the_page(text: str, stops: list[int]) -> None:
    """D6"""
    at = stream(sent_at=0.0)
    for stop in [*sorted(stops), len(text)]:
        # A draft is closed in some way; its own end is never part of what is sent.
        for closers in ("", "**", "\n```\n"):
            found = next_step(
                at, page(text[:stop] + closers), is_draft=True, now=5.0, limits=LIMITS
            )
            if isinstance(found, Append):
                at = grown(at, found.growth, now=0.0)
        assert (text[:stop] + "**\n```\n").startswith(at.sent)
    last = next_step(at, page(text), is_draft=False, now=5.0, limits=LIMITS)
    assert isinstance(last, Close)
    if last.is_whole:
        assert (at.sent + last.growth.text).rstrip() == text.rstrip()
    else:
        assert not text.startswith(at.sent)
