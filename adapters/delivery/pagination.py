"""Owns the pages of a text: what stands on each, and which of them can never change again. Pure.

Theory of operation. A text grows by appending. Its pages are found from left to right: parse from
where the last frozen page ended, fill a page until a leaf does not fit, cut at the best place. Where
a page ends depends on text behind it (a paragraph that goes on, a table row that is wider), so a page
is frozen only at checkpoints, which lie every CHECKPOINT_STEP characters of the source: at the first
one whose text overflows the page. Every call, with whatever text, visits the same checkpoints in the
same order and looks at no character behind them. So the pages depend on the text alone, not on how it
came, and a frozen page stays as it is. While the text grows, what overflows is held back until its
checkpoint; there is never a page behind one that could still change.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.page_fill import Cursor, FilledPage, PageDraft, join_pieces
from adapters.delivery.page_pieces import PageLimit, Piece, Renderer
from adapters.delivery.plain_text import CleanText, clean, is_blank

CHECKPOINT_STEP = 512
_UNSEEN = CleanText()


@dataclass(frozen=True, kw_only=True)
class RenderedPage:
    """One message's text, and the pieces that it shows. `is_full`: growing text will not change it."""

    text: str
    pieces: tuple[Piece, ...]
    is_full: bool
    render: Renderer = field(compare=False, repr=False)

    @cached_property
    def markdown(self) -> str:
        """The same as the Markdown that the platform takes; empty where it takes none."""
        return self.render.markdown(self.pieces)

    def with_line(self, markdown: str) -> "RenderedPage":
        """The same page with a paragraph below it, which the page's limit does not count."""
        end = self.pieces[-1].leaf.lines[1] if self.pieces else 0
        leaves = parse_blocks(markdown, first_line=end + 2)
        added = tuple(Piece(leaf=leaf, text=leaf.content) for leaf in leaves)
        below = join_pieces((piece.leaf, self.render.render(piece)) for piece in added)
        return replace(self, text=f"{self.text}\n\n{below}", pieces=self.pieces + added)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPage:
    """A page that no later text changes. `checked` is the checkpoint that froze it.

    `ended_at`: it was ended on purpose when there was so much text.
    """

    page: RenderedPage
    end: Cursor
    checked: int
    ended_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """A text's pages in order, none of them blank.

    Hand it to the next call for the same, longer text to save work; without it that call comes to
    the same pages. `seen` and `draft` are what it remembers of the text and of the last page.
    """

    pages: tuple[RenderedPage, ...]
    frozen: tuple[FrozenPage, ...]
    checked: int
    seen: CleanText = field(default=_UNSEEN, compare=False, repr=False)
    draft: PageDraft | None = field(default=None, compare=False, repr=False)


NO_PAGES = Pages(pages=(), frozen=(), checked=0)


def paginate(
    markdown: str,
    *,
    render: Renderer,
    limit: PageLimit,
    known: Pages = NO_PAGES,
    final: bool = True,
    ends: Sequence[int] = (),
) -> Pages:
    """Cut a text into pages, each within the limit, together every visible word once.

    With `final=False` the text may still grow: its unfinished end is closed or held back, and only
    frozen pages stand before the last one. The pages of the final text begin with those. `ends`:
    lengths of the text, in order, at which a page is ended on purpose, whatever is on it.
    """
    seen = known.seen.grown(markdown)
    text = seen.text if seen.raw == markdown or not final else clean(markdown)
    frozen = list(known.frozen)
    draft = _draft_at(frozen[-1].end if frozen else Cursor(), known.draft, render, limit)
    at = max(known.checked, frozen[-1].checked if frozen else 0, CHECKPOINT_STEP)
    applied = {page.ended_at for page in frozen}
    wanted = deque(end for end in ends if end <= len(text) and end not in applied)
    while at <= len(text) or wanted:
        ended: FilledPage | None
        ended_at: int | None = None
        if wanted and wanted[0] <= at:
            ended, ended_at = _ended_at(text, wanted, draft)
        else:
            ended = _overflow_at(text, at, draft, render, limit)
            at += CHECKPOINT_STEP if ended is None or ended.end is None else 0
        if ended is None or ended.end is None:
            continue
        page = _page_of(ended, render, is_full=True)
        frozen.append(FrozenPage(page=page, end=ended.end, checked=at, ended_at=ended_at))
        draft = PageDraft(ended.end, render, limit)
    live = _last_pages(text, draft, render, limit) if final else _live_page(text, draft, render)
    pages = [*(one.page for one in frozen), *live]
    return Pages(
        pages=tuple(page for page in pages if not is_blank(page.text)),
        frozen=tuple(frozen),
        checked=at,
        seen=seen,
        draft=draft,
    )


def _draft_at(
    cursor: Cursor, known: PageDraft | None, render: Renderer, limit: PageLimit
) -> PageDraft:
    if known is not None and known.is_of(cursor, render, limit):
        return known
    return PageDraft(cursor, render, limit)


def _ended_at(text: str, ends: deque[int], draft: PageDraft) -> tuple[FilledPage, int | None]:
    """The page that is ended at the first of `ends`, which is taken; or one that overflows before."""
    source = draft.cursor.lead + text[draft.cursor.offset : ends[0]]
    overflowing = draft.fill_safely(source)
    if overflowing.end is not None:
        return overflowing, None
    return draft.end_safely(source), ends.popleft()


def _overflow_at(
    text: str, at: int, draft: PageDraft, render: Renderer, limit: PageLimit
) -> FilledPage | None:
    """The page that the text up to a checkpoint overflows, or None when it surely does not."""
    rest = text[draft.cursor.offset : at]
    if _size_bound(rest, render) <= limit.chars_max:
        return None
    return draft.fill_safely(draft.cursor.lead + rest)


def _size_bound(rest: str, render: Renderer) -> int:
    """More than `rest` usually renders to: escapes grow characters, tables widen, lists indent."""
    grown = render.size(rest) + 4 * rest.count("&") + 3 * rest.count("<") + 3 * rest.count(">")
    grown += sum(rest.count(marker) for marker in "*_~") + 8 * rest.count("\n")
    return grown * 2 if "|" in rest else grown


def _page_of(filled: FilledPage, render: Renderer, *, is_full: bool) -> RenderedPage:
    return RenderedPage(text=filled.text, pieces=filled.pieces, is_full=is_full, render=render)


def _live_page(text: str, draft: PageDraft, render: Renderer) -> Iterator[RenderedPage]:
    filled = draft.fill_safely(draft.cursor.lead + text[draft.cursor.offset :])
    yield _page_of(filled, render, is_full=False)


def _last_pages(
    text: str, draft: PageDraft, render: Renderer, limit: PageLimit
) -> Iterator[RenderedPage]:
    while True:
        filled = draft.fill(draft.cursor.lead + text[draft.cursor.offset :])
        yield _page_of(filled, render, is_full=filled.end is not None)
        if filled.end is None:
            return
        draft = PageDraft(filled.end, render, limit)
