"""Pages of a text: complete, in order, within the limit, and frozen for good."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import Leaf
from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import CHECKPOINT_STEP, NO_PAGES, paginate
from adapters.delivery.plain_text import is_blank, is_boundary
from adapters.slack.markup import MrkdwnRenderer, render_mrkdwn
from tests.unit.adapters.delivery.markdown_texts import markdown_texts, markup_soup
from tests.unit.adapters.slack.markdown_cases import letters, shown

RENDERER = MrkdwnRenderer()
LIMIT = PageLimit(chars_max=3900)

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
limits = st.sampled_from((160, 300, 700, 2000)).map(lambda size: PageLimit(chars_max=size))
cuts = st.lists(st.integers(1, 4000), max_size=12).map(sorted)


def pages_of(markdown: str, limit: PageLimit = LIMIT) -> list[str]:
    return [page.text for page in paginate(markdown, render=RENDERER, limit=limit).pages]


def words_of(pages: list[str]) -> list[int]:
    joined = "".join(re.sub("[^A-Za-z0-9 ]", "", page) for page in pages)
    return [int(number) for number in re.findall(r"w(\d+)x", joined)]


@quick
@given(markdown_texts(), limits)
def test_every_word_is_shown_once_and_in_order(markdown: str, limit: PageLimit) -> None:
    pages = pages_of(markdown, limit)
    assert words_of(pages) == list(range(len(re.findall(r"w\d+x", markdown))))


@quick
@given(markdown_texts(), limits)
def test_every_page_is_within_the_limit_and_shows_something(
    markdown: str, limit: PageLimit
) -> None:
    for page in pages_of(markdown, limit):
        assert RENDERER.size(page) <= limit.chars_max
        assert not is_blank(page)
        assert sum(line == "```" for line in page.split("\n")) % 2 == 0
        assert not re.search(r"<(?!https?:|mailto:)", page)


@quick
@given(markdown_texts(), limits, cuts)
def test_a_text_that_came_in_any_chunks_has_the_same_pages(
    markdown: str, limit: PageLimit, lengths: list[int]
) -> None:
    whole = paginate(markdown, render=RENDERER, limit=limit)
    known = NO_PAGES
    for length in (length for length in lengths if length < len(markdown)):
        live = paginate(
            markdown[:length],
            render=RENDERER,
            limit=limit,
            known=known,
            final=False,
        )
        assert live.frozen[: len(known.frozen)] == known.frozen
        assert all(RENDERER.size(page.text) <= limit.chars_max for page in live.pages)
        assert all(page.is_full for page in live.pages[:-1])
        known = live
    last = paginate(markdown, render=RENDERER, limit=limit, known=known)
    assert last == whole


@quick
@given(st.text(max_size=1500), st.sampled_from((40, 200)))
def test_no_text_breaks_it(text: str, size: int) -> None:
    limit = PageLimit(chars_max=size)
    pages = pages_of(text * 3, limit)
    assert all(RENDERER.size(page) <= size and not is_blank(page) for page in pages)
    live = paginate(text, render=RENDERER, limit=limit, final=False)
    assert all(RENDERER.size(page.text) <= size for page in live.pages)
    for before, after in pairwise(pages):
        assert is_boundary(before + after, len(before))


@quick
@given(markup_soup, st.sampled_from((160, 900)))
def test_broken_markup_loses_nothing_to_the_cuts(markdown: str, size: int) -> None:
    pages = pages_of(markdown, PageLimit(chars_max=size))
    assert letters(" ".join(shown(page) for page in pages)) == letters(
        shown(render_mrkdwn(markdown))
    )
    for page in pages:
        assert sum(line == "```" for line in page.split("\n")) % 2 == 0
        assert not re.search(r"<(?!https?:|mailto:)", page)


def test_blank_texts_have_no_pages() -> None:
    """B19"""
    for text in ("", " \n\t", "\u200b\u200b", "```\n```", "\ufeff", "&nbsp;", "<br>", "\0"):
        assert pages_of(text) == []


def test_frozen_pages_are_found_again_without_being_handed_back() -> None:
    markdown = "\n\n".join(f"Ada wrote line {number} in #harbour." for number in range(600))
    once = paginate(markdown, render=RENDERER, limit=LIMIT, final=False)
    again = paginate(
        markdown,
        render=RENDERER,
        limit=LIMIT,
        known=once,
        final=False,
    )
    assert len(once.frozen) >= 3
    assert once == again
    assert len(markdown) < once.checked <= len(markdown) + CHECKPOINT_STEP


def test_no_page_stands_behind_one_that_may_change() -> None:
    markdown = "word " * 2000
    for length in range(0, len(markdown), 97):
        live = paginate(markdown[:length], render=RENDERER, limit=LIMIT, final=False)
        assert len(live.pages) - len(live.frozen) in (0, 1)


def test_text_that_overflows_is_held_back_until_its_checkpoint() -> None:
    markdown = "word " * 790
    live = paginate(markdown, render=RENDERER, limit=LIMIT, final=False)
    assert len(live.pages) == 1
    assert not live.pages[0].is_full
    assert len(paginate(markdown, render=RENDERER, limit=LIMIT).pages) == 2


def test_late_markdown_does_not_change_a_frozen_page() -> None:
    """A heading's underline, a closing marker and a table's second row come after the cut."""
    start = "**Ada said: " + "harbour " * 560
    live = paginate(start, render=RENDERER, limit=LIMIT, final=False)
    for end in ("done**\n===", "\n===", "| b\n|---|---|\n| c | d |", "[x]: https://a.b"):
        whole = paginate(start + end, render=RENDERER, limit=LIMIT)
        assert len(live.frozen) == 1
        assert whole.frozen[:1] == live.frozen


def test_emphasis_across_a_cut_is_closed_and_opened_again() -> None:
    pages = pages_of("harbour " * 440 + "**" + "lighthouse " * 80 + "end**")
    assert len(pages) == 2
    assert pages[0].endswith("lighthouse*")
    assert pages[1].startswith("*lighthouse")
    assert pages[1].endswith("end*")
    assert not any("**" in page for page in pages)


def test_a_table_in_a_paragraph_that_was_cut_loses_nothing() -> None:
    words = "Ada sails to the harbour. " * 30
    text = words + "\nname | place\n---|---\nAda | harbour\nBo | lighthouse\n"
    for size in range(200, 260, 7):
        joined = "\n".join(pages_of(text, PageLimit(chars_max=size)))
        assert joined.count("Ada sails to the harbour.") == 30
        assert [word for word in ("name", "place", "Bo", "lighthouse") if word not in joined] == []


def test_a_table_that_a_cut_emphasis_turns_out_to_head_loses_no_row() -> None:
    words = "Ada sails to the harbour. " * 30
    text = f"**{words}** | place\n---|---\nAda | one\nBo | two\nCy | three\n"
    joined = "\n".join(pages_of(text, PageLimit(chars_max=400)))
    assert [word for word in ("one", "two", "three") if word not in joined] == []


def test_emphasis_that_is_never_closed_leaves_no_marker_on_the_next_page() -> None:
    pages = pages_of("harbour " * 440 + "**" + "lighthouse " * 80 + "end")
    assert pages[1].startswith("lighthouse")


def test_a_code_span_longer_than_a_page_is_closed_and_opened_again() -> None:
    pages = pages_of("`" + "harbour " * 560 + "end` now")
    assert len(pages) == 2
    assert pages[0].count("`") == pages[1].count("`") == 2


def test_a_paragraph_is_cut_at_a_sentence_else_at_a_word() -> None:
    limit = PageLimit(chars_max=200)
    pages = pages_of("Ada sails to the harbour. " * 12, limit)
    assert all(page.endswith("harbour.") for page in pages)
    pages = pages_of("lighthouse " * 40, limit)
    assert all(page.startswith("lighthouse") and page.endswith("lighthouse") for page in pages)


@pytest.mark.parametrize(
    "cluster",
    [
        "👩\u200d💻",
        "🇯🇵",
        "e\u0301\u0302",
        "1\ufe0f\u20e3",
        "👍🏽",
        "क्ष",
        "\u1100\u1161\u11a8",
        "harbour \u0301",
    ],
)
def test_a_run_without_blanks_is_cut_between_graphemes(cluster: str) -> None:
    for size in range(200, 212):
        pages = pages_of(cluster * 300, PageLimit(chars_max=size))
        assert len(pages) > 3
        assert "".join(pages).replace(" ", "") == cluster.replace(" ", "") * 300
        assert all(is_boundary(a + b, len(a)) for a, b in pairwise(pages))


def test_lines_are_cut_at_line_ends() -> None:
    pages = pages_of("\n".join(f"line {number}" for number in range(500)))
    assert [re.fullmatch(r"(line \d+\n?)+", page) is not None for page in pages] == [True, True]


def test_an_address_is_not_cut_and_moves_to_the_next_page() -> None:
    address = "https://example.com/" + "a" * 2500
    pages = pages_of("word " * 400 + address + " " + "word " * 400)
    assert sum(f"<{address}>" in page for page in pages) == 1


def test_an_address_longer_than_a_page_is_cut_without_a_broken_link() -> None:
    address = "https://example.com/" + "a" * 6000
    pages = pages_of("See " + address + " for more.")
    assert "".join(pages).replace("See ", "See ").count("a" * 1000) >= 4
    assert not any("<" in page or ">" in page for page in pages)


def test_granted_mentions_are_not_cut() -> None:
    renderer = MrkdwnRenderer({"Ada Lovelace": "U0ADA"})
    limit = PageLimit(chars_max=100)
    pages = paginate("hi @Ada Lovelace " * 60, render=renderer, limit=limit).pages
    assert sum(page.text.count("<@U0ADA>") for page in pages) == 60


def test_a_fence_that_is_cut_is_closed_and_opened_and_keeps_every_line() -> None:
    """The first line of a later page keeps its indent."""
    code = "\n".join(f"    if x{number}:\n        y = {number}" for number in range(300))
    pages = pages_of(f"Long file:\n\n```python\n{code}\n```\n\nDone.")
    blocks = [re.findall(r"```\n(.*?)\n```", page, re.DOTALL) for page in pages]
    assert "\n".join(block for page in blocks for block in page) == code
    assert all(len(page) == 1 for page in blocks)
    assert pages[-1].endswith("```\n\nDone.")


def test_a_long_table_repeats_its_header_on_each_page() -> None:
    rows = "\n".join(f"| row {number} | {number * 7} |" for number in range(400))
    pages = pages_of(f"| Name | Quantity |\n|:--|--:|\n{rows}")
    assert len(pages) >= 2
    assert all(page.startswith("```\nName") and "─┼─" in page for page in pages)
    numbers = [int(n) for page in pages for n in re.findall(r"row (\d+)", page)]
    assert numbers == list(range(400))


def test_a_row_larger_than_a_page_is_written_out_and_nothing_of_the_table_is_lost() -> None:
    limit = PageLimit(chars_max=400)
    header = "| " + " | ".join(f"Column {at}" for at in range(12)) + " |\n" + "|---" * 12 + "|\n"
    rows = "\n".join(
        "| " + " | ".join(f"cell {row}.{at} with some words" for at in range(12)) + " |"
        for row in range(15)
    )
    shown = "\n".join(pages_of(header + rows, limit))
    cells = [
        f"Column {at}: cell {row}.{at} with some words" for row in range(15) for at in range(12)
    ]
    assert re.findall(r"Column \d+: cell [\d.]+ with some words", shown) == cells


def test_a_list_goes_on_with_its_numbers_on_the_next_page() -> None:
    items = "\n".join(f"1. Bo checks {'the harbour ' * 5}{number}" for number in range(1, 120))
    pages = pages_of(items)
    numbers = [int(n) for page in pages for n in re.findall(r"^(\d+)\. ", page, re.MULTILINE)]
    assert len(pages) > 1
    assert numbers == list(range(1, 120))


def test_an_item_that_is_cut_shows_its_marker_once() -> None:
    pages = pages_of("1. first\n2. " + "harbour " * 700 + "\n3. last")
    assert "".join(pages).count("2. ") == 1
    assert pages[1].startswith("    harbour")


def test_a_heading_is_not_left_behind_at_the_foot_of_a_page() -> None:
    limit = PageLimit(chars_max=300)
    text = "harbour " * 25
    pages = pages_of(f"{text}\n\n## Lighthouse\n\n{text}", limit)
    assert pages[1].startswith("*Lighthouse*")


def test_a_fence_that_fits_a_page_is_not_cut() -> None:
    limit = PageLimit(chars_max=400)
    code = "\n".join(f"line {number}" for number in range(30))
    pages = pages_of("harbour " * 30 + f"\n\n```\n{code}\n```", limit)
    assert pages[1] == f"```\n{code}\n```"


@pytest.mark.parametrize(
    "block",
    [
        "word " * 20 + "\n\n",
        "one word after the other ",
        "- item of a list\n",
        "    code line\n",
        "> quoted words\n\n",
    ],
)
def test_the_work_for_a_growing_text_is_linear(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in characters that are parsed, which does not depend on the machine."""
    parsed = 0

    def counted(source: str, **numbers: Any) -> tuple[Leaf, ...]:
        nonlocal parsed
        parsed += len(source)
        return parse_blocks(source, **numbers)

    def work(size: int) -> int:
        nonlocal parsed
        parsed = 0
        markdown = block * (size // len(block))
        pages = NO_PAGES
        for length in range(0, len(markdown), 200):
            pages = paginate(
                markdown[:length],
                render=RENDERER,
                limit=LIMIT,
                known=pages,
                final=False,
            )
        return parsed

    monkeypatch.setattr("adapters.delivery.growing_tree.parse_blocks", counted)
    assert work(40_000) < 3 * work(20_000)
