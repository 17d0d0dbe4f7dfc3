"""Owns how one page is filled: leaf after leaf until one does not fit, then cut at the best place. Pure.

A draft keeps what it knows of the page while its text grows, so that only what may have changed is
parsed, rendered and measured again. What it says depends on the text alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adapters.delivery.growing_tree import GrowingTree
from adapters.delivery.markdown_tree import Item, Leaf, LeafKind
from adapters.delivery.page_cuts import Cut, cut, record_piece
from adapters.delivery.page_pieces import (
    START,
    PageLimit,
    Piece,
    Position,
    Renderer,
    rest_of,
)
from adapters.delivery.plain_text import line_start
from adapters.delivery.streaming_markdown import safe_length, safe_part

_FILL_MIN = 0.5
"""A page is cut before a block, rather than inside it, when this share of the page is filled."""
_WHOLE_FILL_MIN = 0.25
"""The same, for code and tables that fit a page of their own."""
_INDENTS = ("    ", "\t")
_NUMBER = re.compile(r"\d+")
_PARAGRAPH_LEAD = ".\n"
"""A line that is never shown. A table's header behind it is a leaf of its own, so nothing is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where the rest of a text begins. Parse `lead` + text[offset:], go to `leaf` and `position`.

    `lead` repeats the line that opens a long code block, or a table's header, or says that a paragraph
    goes on. `number` is what the list item at the offset shows.
    """

    offset: int = 0
    lead: str = ""
    leaf: int = 0
    position: Position = START
    number: int | None = None


def _is_prose(text: str, at: int) -> bool:
    """Whether a line that begins there can be no block but a paragraph, or a table's header."""
    number = _NUMBER.match(text, at)
    if number:
        return text[number.end() : number.end() + 1] not in ("", ".", ")")
    return text[at : at + 1].isalpha()


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


@dataclass(frozen=True, slots=True)
class _Placed:
    """A leaf on the page being filled; `size` is the page's size before it."""

    index: int
    piece: Piece
    text: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledPage:
    """What stands on a page, and where the next one begins unless nothing is left."""

    text: str
    pieces: tuple[Piece, ...]
    end: Cursor | None


class PageDraft:
    """The page that begins at a cursor. It may be filled again and again while its text grows."""

    def __init__(self, cursor: Cursor, render: Renderer, limit: PageLimit) -> None:
        self.cursor = cursor
        self._render = render
        self._max = limit.chars_max
        self._tree = GrowingTree(cursor.number)
        self._source = ""
        self._leaves: Sequence[Leaf] = ()
        self._placed: list[_Placed] = []
        self._size = 0
        # Of leaves that have settled: how many were looked at, and what they left on the page.
        self._known = 0
        self._kept: list[_Placed] = []
        self._kept_size = 0
        # What was rendered last of each leaf; most of it is asked for again.
        self._rendered: dict[int, tuple[Piece, str]] = {}

    def is_of(self, cursor: Cursor, render: Renderer, limit: PageLimit) -> bool:
        """Whether this draft knows the page that begins there."""
        return self.cursor == cursor and self._render is render and self._max == limit.chars_max

    def fill_safely(self, source: str) -> FilledPage:
        """The page as it may be shown while the text still grows."""
        return self.fill(safe_part(source, self._tree))

    def end_safely(self, source: str) -> FilledPage:
        """The same as the page ends here, whatever the text goes on with; it goes on right behind."""
        part = safe_part(source, self._tree)
        sure = safe_length(source, self._tree)
        filled = self.fill(part)
        if filled.end is not None or not filled.pieces:
            return filled
        return replace(filled, end=self._cursor_behind(part[:sure], part[sure:]))

    def fill(self, source: str) -> FilledPage:
        """The page of a text that begins at the cursor, with the cursor's lead before it."""
        self._source = source
        self._leaves = self._tree.leaves_of(source)
        self._begin()
        for index in range(max(self._known, self.cursor.leaf), len(self._leaves)):
            position = self.cursor.position if index == self.cursor.leaf else START
            piece = self._rest_at(index, position)
            if piece is not None and position.within:
                piece, position, is_row_done = self._rest_of_row(piece, position)
                if not is_row_done:
                    return self._filled(self._cursor_at(index, position))
                piece = rest_of(self._leaves[index], position, self._render.names)
            if piece is not None and not self._place(index, piece):
                return self._filled(self._end_page(index, piece, position))
            if index < self._tree.settled:
                self._known = index + 1
                self._kept += self._placed[len(self._kept) :]
                self._kept_size = self._size
        return self._filled(None)

    def _rest_at(self, index: int, position: Position) -> Piece | None:
        """What is left of a leaf; a table's header alone is none, where only the lead repeats it."""
        leaf = self._leaves[index]
        if index == 0 and self.cursor.lead and leaf.kind is LeafKind.TABLE and not leaf.rows:
            return None
        return rest_of(leaf, position, self._render.names)

    def _begin(self) -> None:
        if self._known > self._tree.settled:
            self._known, self._kept, self._kept_size = 0, [], 0
        self._placed, self._size = self._kept.copy(), self._kept_size

    def _filled(self, end: Cursor | None) -> FilledPage:
        placed = self._placed
        text = join_pieces((self._leaves[one.index], one.text) for one in placed)
        return FilledPage(text=text, pieces=tuple(one.piece for one in placed), end=end)

    def _rest_of_row(self, piece: Piece, position: Position) -> tuple[Piece, Position, bool]:
        """Place what is left of a table row that an earlier page began."""
        record = record_piece(piece, position)
        if self._place(self.cursor.leaf, record):
            return piece, Position(at=position.at + 1), True
        found = cut(record, START, self._max, self._render)
        if found is None:
            return piece, Position(at=position.at + 1), True
        self._place(self.cursor.leaf, found.piece)
        return piece, replace(position, within=position.within + found.rest.at), False

    def _place(self, index: int, piece: Piece) -> bool:
        """Put a piece on the page; False when it does not fit."""
        text = self._render_at(index, piece)
        if not text:
            return True
        size = self._room_taken(index) + self._render.size(text)
        if size > self._max:
            return False
        self._placed.append(_Placed(index, piece, text, self._size))
        self._size = size
        return True

    def _render_at(self, index: int, piece: Piece) -> str:
        known = self._rendered.get(index)
        if known is not None and known[0] == piece:
            return known[1]
        text = self._render.render(piece)
        self._rendered[index] = piece, text
        return text

    def _room_taken(self, index: int) -> int:
        before = self._leaves[self._placed[-1].index] if self._placed else None
        return self._size + len(_separator(before, self._leaves[index]))

    def _end_page(self, index: int, piece: Piece, position: Position) -> Cursor:
        boundary = self._boundary(index)
        if boundary is None and self._stays_whole(index, piece):
            boundary = self._with_heading(index)
        if boundary is None:
            room = self._max - self._room_taken(index)
            found = cut(piece, position, room, self._render)
            if found is not None and self._is_worth(found, room):
                self._place(index, found.piece)
                return self._cursor_at(index, found.rest)
            if not self._placed:
                # Not even one character fits, which only an absurd limit can cause: leave it out.
                return self._cursor_at(index + 1, START)
            boundary = self._with_heading(index)
        if boundary < index:
            # Of the leaf itself, only what an earlier page began can be on the page.
            self._placed = [placed for placed in self._placed if placed.index < boundary]
        return self._cursor_at(boundary, position if boundary == index else START)

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
            end = len(self._source) - len(self.cursor.lead)
            return Cursor(offset=self.cursor.offset + end)
        leaf = self._leaves[index]
        if position.at and not position.within and not leaf.containers:
            inside = self._cursor_inside(leaf, position)
            if inside is not None:
                return inside
        root = leaf.root
        start = self._line_start(root.line)
        if start < len(self.cursor.lead):
            return replace(self.cursor, leaf=index, position=position)
        return Cursor(
            offset=self.cursor.offset + start - len(self.cursor.lead),
            leaf=index - root.leaf,
            position=position,
            number=root.number,
        )

    def _cursor_behind(self, sure: str, closers: str) -> Cursor:
        """Where the text goes on when all of it is on the page, `closers` being only for its end."""
        leaf = self._leaves[-1]
        is_over = leaf.kind in (LeafKind.HEADING, LeafKind.RULE) or (
            leaf.is_fenced and leaf.is_closed
        )
        if not closers and not leaf.containers and (is_over or sure.endswith("\n\n")):
            return Cursor(offset=self.cursor.offset + len(sure) - len(self.cursor.lead))
        at, reopen = len(leaf.content), ""
        match leaf.kind:
            case LeafKind.TABLE:
                at = len(leaf.rows)
            case LeafKind.TEXT | LeafKind.HEADING:
                at, reopen = at - len(closers), closers[::-1]
            case LeafKind.CODE:
                # The line break belongs to what is behind, unless the text ends in mid-line.
                at += bool(leaf.content) and sure.endswith("\n")
            case LeafKind.RULE:
                return self._cursor_at(len(self._leaves), START)
        return self._cursor_at(len(self._leaves) - 1, Position(at=at, reopen=reopen))

    def _cursor_inside(self, leaf: Leaf, position: Position) -> Cursor | None:
        """A place inside a long top-level block, so that it is parsed once."""
        first = leaf.lines[0]
        if leaf.kind is LeafKind.TABLE:
            return self._cursor_after(self._lines(first, first + 2), first + 2 + position.at, START)
        if leaf.kind is LeafKind.TEXT:
            return self._cursor_inside_text(leaf, position)
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

    def _cursor_inside_text(self, leaf: Leaf, position: Position) -> Cursor | None:
        """A place inside a paragraph, behind a line that makes what follows go on with one."""
        start = self._line_start(leaf.lines[0])
        start += len(self._source[start:]) - len(self._source[start:].lstrip(" \t"))
        end = start + position.at
        is_verbatim = self._source.startswith(leaf.content[: position.at], start)
        if not is_verbatim or end < len(self.cursor.lead) or not _is_prose(self._source, end):
            return None
        lead = _PARAGRAPH_LEAD + position.reopen
        return Cursor(
            offset=self.cursor.offset + end - len(self.cursor.lead),
            lead=lead,
            position=Position(at=len(lead), reopen=position.reopen),
        )

    def _lines(self, start: int, end: int) -> str:
        return self._source[self._line_start(start) : self._line_start(end)]

    def _cursor_after(self, lead: str, line: int, position: Position) -> Cursor:
        start = self._line_start(line)
        offset = self.cursor.offset + start - len(self.cursor.lead)
        return Cursor(offset=offset, lead=lead, position=position)

    def _line_start(self, line: int) -> int:
        return line_start(self._source, line)
