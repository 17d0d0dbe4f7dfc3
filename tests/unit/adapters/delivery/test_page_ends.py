"""D6: pages that are ended on purpose, so that a stream need not take anything back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.delivery.page_breaks import break_in
from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import NO_PAGES, Pages, paginate
from adapters.slack.markup import MrkdwnRenderer

RENDERER = MrkdwnRenderer()
LIMIT = PageLimit(chars_max=600)
FENCE = "```py\na1\nb2\nc3\n```\nend"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n"


def pages_of(text: str, *ends: int, final: bool = True, known: Pages = NO_PAGES) -> Pages:
    return paginate(text, render=RENDERER, limit=LIMIT, ends=ends, final=final, known=known)


def shown(pages: Pages) -> list[str]:
    return [page.text for page in pages.pages]


@pytest.mark.parametrize(
    ("before", "behind", "wanted"),
    [
        ("One.\n\n", "Two.", ["One.", "Two."]),
        ("Some **bold ", "text** and", ["Some *bold*", "*text* and"]),
        ("See [la", "bel](http://x.example) now", ["See", "<http://x.example|label> now"]),
        (FENCE[:9], FENCE[9:], ["```\na1\n```", "```\nb2\nc3\n```\nend"]),
        ("1. one\n2. two\n", "3. three", ["1. one\n2. two", "3. three"]),
        ("1. one\n2. two ", "words\n3. x", ["1. one\n2. two", "    words\n3. x"]),
        ("- one\n\n", "  more\n\n- two", ["• one", "    more\n\n• two"]),
        ("> one\n", "> two", ["> one", "> two"]),
        (TABLE[:30], TABLE[30:], ["```\na │ b\n──┼──\n1 │ 2\n```", "```\na │ b\n──┼──\n3 │ 4\n5 │ 6\n```"]),
        ("- x\n  ```py\n  a\n", "  b\n  ```\n- y", ["• x\n```\na\n```", "```\nb\n```\n• y"]),
        ("# Head\n", "text", ["*Head*", "text"]),
    ],
)  # fmt: skip
def test_what_an_end_interrupts_is_closed_and_opened_again(
    before: str, behind: str, wanted: list[str]
) -> None:
    """D6"""
    assert shown(pages_of(before + behind, len(before))) == wanted


def test_an_end_that_has_not_been_reached_does_nothing() -> None:
    assert shown(pages_of("One. Two.", 400)) == ["One. Two."]


WORDS = st.integers(min_value=0, max_value=999).map(lambda n: f"w{n}")
LINES = st.one_of(
    st.lists(WORDS, min_size=1, max_size=12).map(" ".join),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda w: "- " + " ".join(w)),
    st.lists(WORDS, min_size=1, max_size=4).map(lambda w: "**" + " ".join(w) + "**"),
    st.lists(WORDS, min_size=1, max_size=3).map(lambda w: "```\n" + "\n".join(w) + "\n```"),
    WORDS.map(lambda w: f"| {w} | x |\n|---|---|\n| {w} | y |"),
    st.just(""),
)
TEXTS = st.lists(LINES, min_size=1, max_size=25).map("\n".join)


@given(TEXTS, st.data())
def test_joined_pages_are_the_text_wherever_they_were_ended(text: str, data: st.DataObject) -> None:
    """D6: and nothing that stands on an ended page is changed by what comes behind."""
    places = [match.end() for match in re.finditer(r"\s(?=\S)", text)]
    ends = sorted(data.draw(st.sets(st.sampled_from(places), max_size=4))) if places else []
    whole = pages_of(text, *ends)
    words = re.findall(r"w\d+", " ".join(shown(whole)))
    table_free = [w for w in words if w]
    assert set(table_free) == set(re.findall(r"w\d+", text))
    assert all(page.text.count("```") % 2 == 0 for page in whole.pages)
    assert all(RENDERER.size(page.text) <= LIMIT.chars_max for page in whole.pages)
    if "|" not in text:
        # A table's header is repeated on each page that goes on with it.
        assert words == re.findall(r"w\d+", text)
    known = NO_PAGES
    for stop in [*ends, len(text)]:
        passed = [end for end in ends if end <= stop]
        known = pages_of(text[:stop], *passed, final=False, known=known)
        full = [page.text for page in known.pages if page.is_full]
        assert shown(whole)[: len(full)] == full
    assert shown(pages_of(text, *ends, known=known)) == shown(whole)


@pytest.mark.parametrize(
    ("fullness", "wanted"),
    [(0.5, None), (0.65, "One.\n\n"), (0.76, "One.\n\nTwo\n"), (0.86, "One.\n\nTwo\nthree ")],
)
def test_less_is_asked_of_a_place_the_fuller_a_page_is(fullness: float, wanted: str | None) -> None:
    """D6"""
    text = "One.\n\nTwo\nthree four"
    at = break_in(text, after=0, fullness=fullness)
    assert (None if at is None else text[:at]) == wanted


def test_scripts_without_blanks_have_places_too() -> None:
    """D6"""
    assert break_in("分割も確認します。とても長い", after=0, fullness=0.9) == 9


def test_a_page_is_not_ended_within_what_was_sent() -> None:
    """D6"""
    assert break_in("One.\n\nTwo", after=7, fullness=0.7) is None
    assert break_in("One.\n\nTwo", after=6, fullness=0.7) == 6
