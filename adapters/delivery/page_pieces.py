"""Owns what pagination and a platform's markup say to each other: pieces of leaves, and sizes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.delivery.markdown_parser import parse_placed
from adapters.delivery.markdown_tree import Leaf, LeafKind, parse_inline, plain
from adapters.delivery.plain_text import is_boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimit:
    """How much one page may hold. `chars_max` counts rendered text by `Renderer.size`."""

    chars_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a leaf that goes on one page.

    `text` is inline Markdown for texts and headings and bare text for code and formulas; tables have
    `rows`. A piece that is `resumed` goes on with what an earlier page began.
    """

    leaf: Leaf
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    resumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a leaf: `at` characters of its content or rows of its table are behind it.

    `within` counts characters of that one row written out as a record. `reopen` holds the emphasis
    markers that the cut closed and the rest must open again.
    """

    at: int = 0
    within: int = 0
    reopen: str = ""


START = Position()


class Renderer(Protocol):
    """A platform's markup. Rendering is pure: the same piece always gives the same text."""

    @property
    def names(self) -> tuple[str, ...]:
        """The mentions that may be live, lower case, as they stand in Markdown."""
        ...

    def render(self, piece: Piece) -> str:
        """The piece in the platform's markup, complete in itself: what it opens it closes."""
        ...

    def markdown(self, pieces: Sequence[Piece]) -> str:
        """A whole page as Markdown that the platform shows, as harmless as what `render` gives.

        Empty where the platform takes none, or not so much.
        """
        ...

    def size(self, text: str) -> int:
        """Rendered text as the platform counts it. Additive over joined texts."""
        ...


def rest_of(leaf: Leaf, position: Position, names: tuple[str, ...]) -> Piece | None:
    """All that is left of a leaf from a position, or None when nothing is."""
    if position == START:
        return Piece(leaf=leaf, text=leaf.content, rows=leaf.rows)
    if leaf.kind is LeafKind.TABLE:
        if position.within:
            return Piece(leaf=leaf, rows=leaf.rows[position.at :], resumed=True)
        rows = leaf.rows[position.at :]
        return Piece(leaf=leaf, rows=rows, resumed=True) if rows else None
    text = leaf.content[position.at :]
    if leaf.kind in (LeafKind.TEXT, LeafKind.HEADING):
        # A page that was ended on purpose could not know that blanks would follow. One with a mark stays.
        blanks = len(text) - len(text.lstrip(" \n"))
        text = text[blanks if is_boundary(text, blanks) else blanks - 1 :]
    if not text:
        return None
    if position.reopen and _is_closed_again(position.reopen, text, names):
        text = position.reopen + text
    return Piece(leaf=leaf, text=text, resumed=True)


def _is_closed_again(reopen: str, text: str, names: tuple[str, ...]) -> bool:
    """Whether each reopened marker still meets its partner; else it would stand there literally."""
    trace = parse_placed(reopen + text, names)
    if reopen.endswith("`"):
        return any(
            atom.start < len(reopen) < atom.end for atom in trace.atoms if atom.rule == "backticks"
        )
    opened = [marker for marker in trace.markers if marker.start < len(reopen)]
    return bool(opened) and all(marker.partner >= len(reopen) for marker in opened)


def cell_text(source: str) -> str:
    """A table cell as one line of plain text; a link shows where it goes."""
    return " ".join(plain(parse_inline(source)).split())


def record_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows written out one cell a line, each under its header's name, for tables too wide to align."""
    names = [cell_text(cell) for cell in header]
    records = []
    for row in rows:
        named = [*names, *("" for _ in row[len(names) :])]
        cells = [cell_text(cell) for cell in row]
        lines = (
            f"{name}: {cell}".strip() if name else cell
            for name, cell in zip(named, cells, strict=False)
        )
        records.append("\n".join(line for line in lines if line))
    return "\n\n".join(records)
