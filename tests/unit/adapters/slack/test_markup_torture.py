"""Ten invariants over every Markdown text of the set, at Slack's page size and at a small one."""

import re
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import LeafKind
from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import NO_PAGES, Pages, paginate
from adapters.delivery.plain_text import clean, is_blank, is_boundary
from adapters.slack.limits import PAGE_LIMIT, UPDATE_TEXT_MAX
from adapters.slack.markup import MrkdwnRenderer, render_mrkdwn
from tests.unit.adapters.slack.markdown_cases import (
    FILES,
    code_blocks,
    is_subsequence,
    letters,
    read,
    reference_words,
    shown,
)

RENDERER = MrkdwnRenderer()
LIMITS = (PAGE_LIMIT, PageLimit(chars_max=400))
CONTROL = re.compile(r"<(?!https?://|mailto:)")

NUMBERS_OR_TARGETS = re.compile(r"^[\s>]*\d+[.)] |^[\s>]*\d+[.)]$|\]\(|<http", re.MULTILINE)
"""What the reference renderer shows without letters: ordered lists' numbers, addresses of links."""
DIFFERENT = {
    "41_redos_quotes": "the reference renderer drops what is nested this deep",
    "20_slack_controls": "the reference renderer shows an address with a bar as one",
}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
each_limit = pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: str(limit.chars_max))


@cache
def pages_of(markdown: str, limit: PageLimit) -> tuple[str, ...]:
    return tuple(page.text for page in paginate(markdown, render=RENDERER, limit=limit).pages)


def is_sound(text: str, limit: PageLimit) -> bool:
    """Invariants 1, 4, 6 and 7 of one page or edit."""
    fences = [line for line in text.split("\n") if line.startswith("```")]
    return (
        len(text.encode("utf-16-le")) // 2 <= limit.chars_max
        and len(fences) % 2 == 0
        and set(fences) <= {"```"}
        and CONTROL.search(text) is None
        and not is_blank(text)
    )


def test_the_set_is_there() -> None:
    assert len(FILES) > 70
    assert PAGE_LIMIT.chars_max < UPDATE_TEXT_MAX


@each_limit
@each_file
def test_every_page_is_within_the_limit_balanced_and_pings_nobody(
    path: Path, limit: PageLimit
) -> None:
    """Invariants 1, 4, 6 and 7."""
    pages = pages_of(read(path), limit)
    assert pages
    assert [page for page in pages if not is_sound(page, limit)] == []
    for page in pages:
        assert [block for block in code_blocks(page) if not block.strip()] == []


@each_limit
@each_file
def test_all_pages_together_show_every_word_once(path: Path, limit: PageLimit) -> None:
    """Invariants 2 and 10."""
    source = clean(read(path))
    if path.stem in DIFFERENT:
        pytest.skip(DIFFERENT[path.stem])
    text, cells = reference_words(source)
    pages = pages_of(source, limit)
    all_shown = letters(" ".join(shown(page) for page in pages))
    assert is_subsequence(letters(text), all_shown)
    assert [cell for cell in cells if letters(cell) not in all_shown] == []
    if not NUMBERS_OR_TARGETS.search(source) and not cells:
        assert all_shown == letters(text)


@each_limit
@each_file
def test_no_cut_parts_a_grapheme_or_an_escape(path: Path, limit: PageLimit) -> None:
    """Invariant 3. What the last page ends with and the next begins with, side by side."""
    pages = pages_of(read(path), limit)
    for before, after in pairwise(pages):
        end, start = before.removesuffix("\n```"), after.removeprefix("```\n")
        assert is_boundary(end + start, len(end))
        assert re.search(r"&(?:a(?:mp?)?|[lg]t?)?$", end) is None
        assert end.rfind("<") <= end.rfind(">")


@each_limit
@each_file
def test_code_is_unchanged(path: Path, limit: PageLimit) -> None:
    """Invariant 5."""
    source = clean(read(path))
    leaves = parse_blocks(source)
    blocks = [leaf.content for leaf in leaves if leaf.kind is LeafKind.CODE and leaf.content]
    if any(leaf.kind is LeafKind.TABLE for leaf in leaves):
        whole = [code for page in pages_of(source, PAGE_LIMIT) for code in code_blocks(page)]
        assert [code for code in blocks if code not in whole and len(code) < 1000] == []
        return
    shown_code = "".join(code for page in pages_of(source, limit) for code in code_blocks(page))
    assert shown_code.replace("\n", "") == "".join(blocks).replace("\n", "")
    if limit is PAGE_LIMIT and all(len(code) < 1000 for code in blocks):
        assert [code for page in pages_of(source, limit) for code in code_blocks(page)] == blocks


def lengths(size: int, step: int) -> Sequence[int]:
    """The lengths at which a text that comes in steps is shown, thinned out for long ones."""
    every = list(range(step, size, step))
    return every if len(every) <= 40 else every[:: len(every) // 25]


def stream(markdown: str, limit: PageLimit, step: int) -> Pages:
    """Feed a text in steps as a deliverer does, and check each state on the way."""
    pages = NO_PAGES
    for length in lengths(len(markdown), step):
        before = pages.frozen
        pages = paginate(
            markdown[:length],
            render=RENDERER,
            limit=limit,
            known=pages,
            final=False,
        )
        assert pages.frozen[: len(before)] == before
        assert all(page.is_full for page in pages.pages[:-1])
        assert [page for page in pages.pages if not is_sound(page.text, limit)] == []
    return paginate(markdown, render=RENDERER, limit=limit, known=pages)


@each_limit
@each_file
def test_a_streamed_text_ends_as_the_text_that_came_at_once(path: Path, limit: PageLimit) -> None:
    """Invariant 8."""
    markdown = read(path)
    whole = paginate(markdown, render=RENDERER, limit=limit)
    for step in (1, 7, 50):
        assert stream(markdown, limit, step).pages == whole.pages


@each_file
def test_conversion_is_stable_and_quick(path: Path) -> None:
    """Invariant 9."""
    markdown = read(path)
    started = time.process_time()
    first = paginate(markdown, render=RENDERER, limit=PAGE_LIMIT)
    spent = time.process_time() - started
    assert paginate(markdown, render=RENDERER, limit=PAGE_LIMIT) == first
    assert render_mrkdwn(markdown) == render_mrkdwn(markdown)
    # Twice the promise, for machines that are busy with more than this test.
    assert spent < 2.0


@each_file
def test_no_table_is_shown_as_pipes(path: Path) -> None:
    """Invariant 10."""
    leaves = parse_blocks(clean(read(path)))
    written = sum(leaf.content.count("|--") + leaf.content.count("| --") for leaf in leaves)
    pages = pages_of(read(path), PAGE_LIMIT)
    assert sum(page.count("|--") + page.count("| --") for page in pages) <= written
