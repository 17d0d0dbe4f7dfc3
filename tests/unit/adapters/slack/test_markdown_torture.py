"""The ten invariants again, for pages as the Markdown of Slack's `markdown` blocks and streams.

What people see is read by the fake Slack's parser, which is plain CommonMark and not our dialect.
"""

import re
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import LeafKind
from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import NO_PAGES, RenderedPage, paginate
from adapters.delivery.plain_text import clean, is_blank, is_boundary
from adapters.slack.limits import MARKDOWN_TEXT_MAX, PAGE_LIMIT
from adapters.slack.markup import MrkdwnRenderer
from tests.fakes.slack_markdown import code_blocks_of, plain_of_markdown, without_code
from tests.unit.adapters.delivery.markdown_texts import markdown_texts, markup_soup
from tests.unit.adapters.slack.markdown_cases import (
    FILES,
    ZERO_WIDTH,
    is_subsequence,
    letters,
    read,
    reference_words,
    shown,
)

RENDERER = MrkdwnRenderer()
LIMITS = (PAGE_LIMIT, PageLimit(chars_max=400))
LIVE = re.compile(r"<[!@#]")
ADDRESSES_SOMEBODY = re.compile(
    r"<(?:!(?:here|channel|everyone|subteam\^)|@[UW][A-Z0-9]|#C[A-Z0-9])"
)

DIFFERENT = {
    "41_redos_quotes": "the reference renderer drops what is nested this deep",
    "20_slack_controls": "the reference renderer shows an address with a bar as one",
}
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
each_limit = pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: str(limit.chars_max))


@cache
def pages_of(markdown: str, limit: PageLimit) -> tuple[RenderedPage, ...]:
    return paginate(markdown, render=RENDERER, limit=limit).pages


def read_by_people(page: str) -> str:
    return plain_of_markdown(page, {}).translate(ZERO_WIDTH)


def is_sound(page: str) -> bool:
    """Invariants 1, 4, 6 and 7 of one page, whether it still grows or not."""
    fences = [line for line in page.split("\n") if line.startswith("```")]
    return (
        len(page.encode("utf-16-le")) // 2 <= MARKDOWN_TEXT_MAX
        and len(fences) % 2 == 0
        and LIVE.search(without_code(page)) is None
        and ADDRESSES_SOMEBODY.search(page) is None
        and not is_blank(page)
    )


@each_limit
@each_file
def test_every_page_is_within_the_limit_balanced_and_pings_nobody(
    path: Path, limit: PageLimit
) -> None:
    """Invariants 1, 4, 6 and 7."""
    pages = [page.markdown for page in pages_of(read(path), limit)]
    assert pages
    assert [page for page in pages if not is_sound(page)] == []
    assert [code for page in pages for code in code_blocks_of(page) if not code.strip()] == []


@each_limit
@each_file
def test_all_pages_together_show_every_word_once(path: Path, limit: PageLimit) -> None:
    """Invariants 2 and 10."""
    source = clean(read(path))
    pages = pages_of(source, limit)
    all_shown = letters(" ".join(read_by_people(page.markdown) for page in pages))
    if path.stem not in DIFFERENT:
        text, cells = reference_words(source)
        assert is_subsequence(letters(text), all_shown)
        assert [cell for cell in cells if letters(cell) not in all_shown] == []
    assert "|--" not in all_shown


@each_limit
@each_file
def test_both_renderings_of_a_page_show_the_same_words(path: Path, limit: PageLimit) -> None:
    """Invariant 2: what notifications and search hold is what is read."""
    for page in pages_of(read(path), limit):
        if any(piece.leaf.kind is LeafKind.TABLE for piece in page.pieces):
            continue
        assert letters(read_by_people(page.markdown)) == letters(shown(page.text))


@each_limit
@each_file
def test_no_cut_parts_a_grapheme_or_an_entity(path: Path, limit: PageLimit) -> None:
    """Invariant 3."""
    pages = [page.markdown for page in pages_of(read(path), limit)]
    for before, after in pairwise(pages):
        end, start = before.removesuffix("\n```"), re.sub(r"^```\S*\n", "", after)
        assert is_boundary(end + start, len(end))
        assert re.search(r"&(?:[lg]t?)?$", end) is None


@each_limit
@each_file
def test_code_is_unchanged(path: Path, limit: PageLimit) -> None:
    """Invariant 5."""
    source = clean(read(path))
    leaves = parse_blocks(source)
    if any(leaf.kind is LeafKind.TABLE for leaf in leaves):
        limit = PAGE_LIMIT
    blocks = [leaf.content for leaf in leaves if leaf.kind is LeafKind.CODE and leaf.content]
    found = [
        code.translate(ZERO_WIDTH)
        for page in pages_of(source, limit)
        for code in code_blocks_of(page.markdown)
    ]
    if any(leaf.kind is LeafKind.TABLE for leaf in leaves):
        assert [code for code in blocks if code not in found and len(code) < 1000] == []
        return
    assert "".join(found).replace("\n", "") == "".join(blocks).replace("\n", "")


@each_file
def test_every_state_on_the_way_is_sound_and_the_last_is_that_of_the_whole(path: Path) -> None:
    """Invariant 8."""
    markdown = read(path)
    whole = [page.markdown for page in pages_of(markdown, PAGE_LIMIT)]
    for step in (1, 7, 50):
        known = NO_PAGES
        every = list(range(step, len(markdown), step))
        for length in every if len(every) <= 40 else every[:: len(every) // 25]:
            known = paginate(
                markdown[:length], render=RENDERER, limit=PAGE_LIMIT, known=known, final=False
            )
            assert [page for page in known.pages if not is_sound(page.markdown)] == []
        last = paginate(markdown, render=RENDERER, limit=PAGE_LIMIT, known=known)
        assert [page.markdown for page in last.pages] == whole


@each_file
def test_conversion_is_stable_and_quick(path: Path) -> None:
    """Invariant 9."""
    pages = pages_of(read(path), PAGE_LIMIT)
    started = time.process_time()
    first = [RENDERER.markdown(page.pieces) for page in pages]
    spent = time.process_time() - started
    assert [RENDERER.markdown(page.pieces) for page in pages] == first
    assert spent < 2.0


@each_file
def test_tables_are_tables_or_aligned_code(path: Path) -> None:
    """Invariant 10."""
    leaves = parse_blocks(clean(read(path)))
    written = sum(leaf.content.count("|--") + leaf.content.count("| --") for leaf in leaves)
    read_text = [read_by_people(page.markdown) for page in pages_of(read(path), PAGE_LIMIT)]
    assert sum(text.count("|--") + text.count("| --") for text in read_text) <= written


@quick
@given(markdown_texts(), st.sampled_from((300, 2000)))
def test_every_word_is_shown_once_and_in_order(markdown: str, size: int) -> None:
    pages = paginate(markdown, render=RENDERER, limit=PageLimit(chars_max=size)).pages
    joined = " ".join(re.sub("[^A-Za-z0-9 \n]", "", read_by_people(p.markdown)) for p in pages)
    numbers = [int(number) for number in re.findall(r"w(\d+)x", joined)]
    assert numbers == list(range(len(re.findall(r"w\d+x", markdown))))


@quick
@given(markup_soup, st.sampled_from((160, 900)))
def test_broken_markup_is_sound(markdown: str, size: int) -> None:
    pages = paginate(markdown, render=RENDERER, limit=PageLimit(chars_max=size)).pages
    assert [page.markdown for page in pages if not is_sound(page.markdown)] == []


@quick
@given(
    st.lists(
        st.sampled_from(
            [
                "<!here>",
                "<@U1A>",
                "<",
                "!channel",
                ">",
                "&lt;",
                "`",
                "``",
                "```\n",
                "\n",
                "\\",
                "**",
                "_",
                "a ",
                "<!subteam^S1>",
                "<#C1>",
                "[x](",
                ")",
                "| ",
                "|---|\n",
                "&#60;",
                "- ",
                "> ",
                "$",
                "@U1>",
                "<@",
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_nothing_live_comes_of_any_mixture(markdown: str) -> None:
    """Invariant 6."""
    for page in paginate(markdown, render=RENDERER, limit=PAGE_LIMIT).pages:
        assert LIVE.search(without_code(page.markdown)) is None
        assert ADDRESSES_SOMEBODY.search(page.markdown) is None
