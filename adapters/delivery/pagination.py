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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adapters.delivery.markdown_tree import Item, Leaf, LeafKind, parse_blocks
from adapters.delivery.page_cuts import Cut, cut, record_piece
from adapters.delivery.page_pieces import (
    START,
    PageLimit,
    Piece,
    Position,
    Renderer,
    rest_of,
)
from adapters.delivery.plain_text import clean, is_blank
from adapters.delivery.streaming_markdown import safe_prefix

CHECKPOINT_STEP = 512
_FILL_MIN = 0.5
"""A page is cut before a block, rather than inside it, when this share of the page is filled."""
_WHOLE_FILL_MIN = 0.25
"""The same, for code and tables that fit a page of their own."""
_INDENTS = ("    ", "\t")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where the rest of a text begins. Parse `lead` + text[offset:], go to `leaf` and `position`.

    `lead` repeats the line that opens a long code block, or a table's header. `number` is what the
    list item at the offset shows.
    """

    offset: int = 0
    lead: str = ""
    leaf: int = 0
    position: Position = START
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPage:
    """A page that no later text changes. `checked` is the checkpoint that froze it."""

    text: str
    end: Cursor
    checked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """One message's text. `is_full`: growing text will not change it."""

    text: str
    is_full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """A text's pages in order, none of them blank.

    Hand `frozen` and `checked` to the next call for the same, longer text to save work; without
    them it comes to the same pages.
    """

    pages: tuple[RenderedPage, ...]
    frozen: tuple[FrozenPage, ...]
    checked: int


def paginate(
    markdown: str,
    *,
    render: Renderer,
    limit: PageLimit,
    frozen: Sequence[FrozenPage] = (),
    checked: int = 0,
    final: bool = True,
) -> Pages:
    """Cut a text into pages, each within the limit, together every visible word once.

    With `final=False` the text may still grow: its unfinished end is closed or held back, and only
    frozen pages stand before the last one. The pages of the final text begin with those.
    """
    text = clean(markdown, final=final)
    done = list(frozen)
    cursor = done[-1].end if done else Cursor()
    at = max(checked, done[-1].checked if done else 0, CHECKPOINT_STEP)
    while at <= len(text):
        ended = _overflow_at(text, at, cursor, render, limit)
        if ended is None:
            at += CHECKPOINT_STEP
            continue
        page, cursor = ended
        done.append(FrozenPage(text=page, end=cursor, checked=at))
    pages = [RenderedPage(text=page.text, is_full=True) for page in done]
    pages += _live_pages(text[cursor.offset :], cursor, render, limit, final=final)
    return Pages(
        pages=tuple(page for page in pages if not is_blank(page.text)),
        frozen=tuple(done),
        checked=at,
    )


def _overflow_at(
    text: str, at: int, cursor: Cursor, render: Renderer, limit: PageLimit
) -> tuple[str, Cursor] | None:
    """The page that the text up to a checkpoint overflows, or None when it does not."""
    rest = text[cursor.offset : at]
    if _size_bound(rest, render) <= limit.chars_max:
        return None
    page, end = _fill_page(safe_prefix(cursor.lead + rest), cursor, render, limit)
    return None if end is None else (page, end)


def _size_bound(rest: str, render: Renderer) -> int:
    """More than `rest` usually renders to: escapes grow characters, tables widen, lists indent."""
    grown = render.size(rest) + 4 * rest.count("&") + 3 * rest.count("<") + 3 * rest.count(">")
    grown += sum(rest.count(marker) for marker in "*_~") + 8 * rest.count("\n")
    return grown * 2 if "|" in rest else grown


def _live_pages(
    rest: str, cursor: Cursor, render: Renderer, limit: PageLimit, *, final: bool
) -> list[RenderedPage]:
    if not final:
        page, _ = _fill_page(safe_prefix(cursor.lead + rest), cursor, render, limit)
        return [RenderedPage(text=page, is_full=False)]
    pages: list[RenderedPage] = []
    end: Cursor | None = cursor
    while end is not None:
        source = end.lead + rest[end.offset - cursor.offset :]
        page, following = _fill_page(source, end, render, limit)
        pages.append(RenderedPage(text=page, is_full=following is not None))
        end = following
    return pages


def join_pieces(pieces: Iterable[tuple[Leaf, str]]) -> str:
    """Rendered pieces in order, a blank line between them where the source has one."""
    joined = ""
    previous: Leaf | None = None
    for leaf, text in pieces:
        if text:
            joined += _separator(previous, leaf) + text
            previous = leaf
    return joined


def _separator(before: Leaf | None, after: Leaf) -> str:
    if before is None:
        return ""
    return "\n\n" if after.lines[0] > before.lines[1] else "\n"


@dataclass(slots=True)
class _Placed:
    """A leaf on the page being filled; `size` is the page's size before it."""

    index: int
    text: str
    size: int


class _PageFill:
    """Fills one page from the leaves of a parsed text."""

    def __init__(self, source: str, cursor: Cursor, render: Renderer, limit: PageLimit) -> None:
        self._source = source
        self._cursor = cursor
        self._render = render
        self._max = limit.chars_max
        self._leaves = parse_blocks(source, first_number=cursor.number)
        self._placed: list[_Placed] = []
        self._size = 0

    def fill(self) -> tuple[str, Cursor | None]:
        """The page's text, and where the next one begins unless nothing is left."""
        for index in range(self._cursor.leaf, len(self._leaves)):
            position = self._cursor.position if index == self._cursor.leaf else START
            piece = rest_of(self._leaves[index], position, self._render.names)
            if piece is None:
                continue
            if position.within:
                piece, position, is_row_done = self._rest_of_row(piece, position)
                if not is_row_done:
                    return self._text(), self._cursor_at(index, position)
                rest = rest_of(self._leaves[index], position, self._render.names)
                if rest is None:
                    continue
                piece = rest
            if self._place(index, self._render.render(piece)):
                continue
            return self._end_page(index, piece, position)
        return self._text(), None

    def _rest_of_row(self, piece: Piece, position: Position) -> tuple[Piece, Position, bool]:
        """Place what is left of a table row that an earlier page began."""
        record = record_piece(piece, position)
        text = self._render.render(record)
        if self._render.size(text) <= self._max:
            self._place(self._cursor.leaf, text)
            return piece, Position(at=position.at + 1), True
        found = cut(record, START, self._max, self._render)
        if found is None:
            return piece, Position(at=position.at + 1), True
        self._place(self._cursor.leaf, self._render.render(found.piece))
        return piece, replace(position, within=position.within + found.rest.at), False

    def _place(self, index: int, text: str) -> bool:
        """Put rendered text on the page; False when it does not fit."""
        if not text:
            return True
        size = self._room_taken(index) + self._render.size(text)
        if size > self._max:
            return False
        self._placed.append(_Placed(index=index, text=text, size=self._size))
        self._size = size
        return True

    def _room_taken(self, index: int) -> int:
        before = self._leaves[self._placed[-1].index] if self._placed else None
        return self._size + len(_separator(before, self._leaves[index]))

    def _text(self) -> str:
        return join_pieces((self._leaves[placed.index], placed.text) for placed in self._placed)

    def _end_page(self, index: int, piece: Piece, position: Position) -> tuple[str, Cursor]:
        boundary = self._boundary(index)
        if boundary is None and self._stays_whole(index, piece):
            boundary = self._with_heading(index)
        if boundary is None:
            room = self._max - self._room_taken(index)
            found = cut(piece, position, room, self._render)
            if found is not None and self._is_worth(found, room):
                self._place(index, self._render.render(found.piece))
                return self._text(), self._cursor_at(index, found.rest)
            if not self._placed:
                # Not even one character fits, which only an absurd limit can cause: leave it out.
                return self._text(), self._cursor_at(index + 1, START)
            boundary = self._with_heading(index)
        if boundary < index:
            # Of the leaf itself, only what an earlier page began can be on the page.
            self._placed = [placed for placed in self._placed if placed.index < boundary]
        return self._text(), self._cursor_at(boundary, position if boundary == index else START)

    def _stays_whole(self, index: int, piece: Piece) -> bool:
        """Code and tables that fit a page are not cut for the sake of a fuller page before them."""
        if self._leaves[index].kind not in (LeafKind.CODE, LeafKind.TABLE):
            return False
        is_started = self._size >= self._max * _WHOLE_FILL_MIN and index > self._first()
        return is_started and self._render.size(self._render.render(piece)) <= self._max

    def _is_worth(self, found: Cut, room: int) -> bool:
        """A few words at the foot of a page are not worth the cut, unless the page is empty."""
        if not self._placed:
            return True
        return self._render.size(self._render.render(found.piece)) >= min(200, room)

    def _boundary(self, index: int) -> int | None:
        """The best leaf to begin the next page with, or None when the page would be too empty."""
        sizes = {placed.index: placed.size for placed in self._placed} | {index: self._size}
        enough = [
            at for at, size in sizes.items() if at > self._first() and size >= self._max * _FILL_MIN
        ]
        if not enough:
            return None
        return self._with_heading(min(enough, key=lambda at: (self._rank(at), -at)))

    def _with_heading(self, best: int) -> int:
        """A heading stays with what it heads."""
        while best - 1 > self._first() and self._leaves[best - 1].kind is LeafKind.HEADING:
            best -= 1
        return best

    def _first(self) -> int:
        return self._placed[0].index if self._placed else len(self._leaves)

    def _rank(self, index: int) -> int:
        leaf = self._leaves[index]
        if leaf.root.leaf == index:
            in_list = leaf.containers and index and self._leaves[index - 1].containers
            return 1 if in_list and isinstance(leaf.containers[0], Item) else 0
        return 2

    def _cursor_at(self, index: int, position: Position) -> Cursor:
        """The nearest place to begin parsing from, and the way from there."""
        if index >= len(self._leaves):
            end = len(self._source) - len(self._cursor.lead)
            return Cursor(offset=self._cursor.offset + end)
        leaf = self._leaves[index]
        if position.at and not position.within and not leaf.containers:
            inside = self._cursor_inside(leaf, position)
            if inside is not None:
                return inside
        root = leaf.root
        start = self._line_start(root.line)
        if start < len(self._cursor.lead):
            return replace(self._cursor, leaf=index, position=position)
        return Cursor(
            offset=self._cursor.offset + start - len(self._cursor.lead),
            leaf=index - root.leaf,
            position=position,
            number=root.number,
        )

    def _cursor_inside(self, leaf: Leaf, position: Position) -> Cursor | None:
        """A place inside a top-level table or code block, so that a long one is parsed once."""
        first = leaf.lines[0]
        if leaf.kind is LeafKind.TABLE:
            return self._cursor_after(self._lines(first, first + 2), first + 2 + position.at, START)
        if leaf.kind is not LeafKind.CODE:
            return None
        line = first + leaf.is_fenced + leaf.content.count("\n", 0, position.at)
        column = Position(at=position.at - leaf.content.rfind("\n", 0, position.at) - 1)
        if leaf.is_fenced:
            return self._cursor_after(self._lines(first, first + 1), line, column)
        # Only code by indentation is still code when it begins at a later line.
        text = self._lines(line, line + 1)
        is_indented = self._lines(first, first + 1).startswith(_INDENTS)
        if is_indented and text.startswith(_INDENTS) and not text.isspace():
            return self._cursor_after("", line, column)
        return None

    def _lines(self, start: int, end: int) -> str:
        return self._source[self._line_start(start) : self._line_start(end)]

    def _cursor_after(self, lead: str, line: int, position: Position) -> Cursor:
        start = self._line_start(line)
        offset = self._cursor.offset + start - len(self._cursor.lead)
        return Cursor(offset=offset, lead=lead, position=position)

    def _line_start(self, line: int) -> int:
        start = 0
        for _ in range(line):
            start = self._source.find("\n", start) + 1
        return start


def _fill_page(
    source: str, cursor: Cursor, render: Renderer, limit: PageLimit
) -> tuple[str, Cursor | None]:
    """One page of a parsed text from a cursor; no next cursor when all of it fits."""
    return _PageFill(source, cursor, render, limit).fill()
