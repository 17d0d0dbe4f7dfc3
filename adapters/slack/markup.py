"""Owns Markdown as Slack's mrkdwn, leaf by leaf. Pure.

What a model wrote is shown and never acted on: see `adapters.slack.markup_inline`. Code keeps its
bytes, at the left edge of the message; a table is an aligned code block, or a list of records when
it is too wide to read as one.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import Item, Leaf, LeafKind, Quote, parse_inline
from adapters.delivery.page_fill import join_pieces
from adapters.delivery.page_pieces import Piece, cell_text, record_text
from adapters.delivery.plain_text import clean, display_width, is_blank
from adapters.slack.limits import MARKDOWN_TEXT_MAX
from adapters.slack.markup_inline import InlineWriter, break_fences, escape
from adapters.slack.markup_pages import PageWriter
from adapters.slack.markup_source import SourceWriter

_BULLETS = ("•", "◦", "▪")
_INDENT = "    "
_RULE = "─" * 10
_TABLE_COLUMNS_MAX = 100
"""Slack wraps code lines at about this many columns on a desktop, which ruins an aligned table."""
_NO_MENTIONS: Mapping[str, str] = MappingProxyType({})


class MrkdwnRenderer:
    """A `Renderer` for Slack. Sizes are UTF-16 units of the escaped text, the strictest reading.

    `mentions` maps names as they stand in Markdown (`@Ada`) to user ids. Only these become live, and
    `<@id>` of the same ids; nothing inside code or links does.
    """

    def __init__(self, mentions: Mapping[str, str] = _NO_MENTIONS) -> None:
        granted = {f"@{name.removeprefix('@')}".lower(): user for name, user in mentions.items()}
        granted |= {f"<@{user}>".lower(): user for user in mentions.values()}
        self._names = tuple(sorted(granted, key=lambda name: (-len(name), name)))
        self._inline = InlineWriter(granted)
        self._source = SourceWriter(granted, self._names)

    @property
    def names(self) -> tuple[str, ...]:
        """The granted names, the longest first."""
        return self._names

    def size(self, text: str) -> int:
        """UTF-16 units."""
        return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2

    def markdown(self, pieces: Sequence[Piece]) -> str:
        """A page as the Markdown of one `markdown` block; empty where it would be too long for one."""
        page = PageWriter(self._source, _table_text).write(pieces)
        return page if self.size(page) <= MARKDOWN_TEXT_MAX else ""

    def render(self, piece: Piece) -> str:
        """One piece of a leaf; empty when there is nothing to show."""
        leaf = piece.leaf
        match leaf.kind:
            case LeafKind.TEXT:
                lines = self._inline.lines(parse_inline(piece.text, self._names))
                return _prefixed(piece, lines)
            case LeafKind.HEADING:
                lines = self._inline.lines(parse_inline(piece.text, self._names), ("*",))
                return _prefixed(piece, lines)
            case LeafKind.MATH:
                return _prefixed(piece, break_fences(escape(piece.text)).split("\n"))
            case LeafKind.CODE:
                return _marker_line(piece) + _code_block(piece.text)
            case LeafKind.TABLE:
                return _marker_line(piece) + _code_block(_table_text(leaf, piece.rows))
            case LeafKind.RULE:
                return _prefixed(piece, [_RULE])
            case _:
                assert_never(leaf.kind)


def render_mrkdwn(markdown: str, mentions: Mapping[str, str] = _NO_MENTIONS) -> str:
    """A whole Markdown text as mrkdwn, without a limit; empty when nothing of it can be seen."""
    renderer = MrkdwnRenderer(mentions)
    leaves = parse_blocks(clean(markdown))
    pieces = (Piece(leaf=leaf, text=leaf.content, rows=leaf.rows) for leaf in leaves)
    text = join_pieces((piece.leaf, renderer.render(piece)) for piece in pieces)
    return "" if is_blank(text) else text


def _prefixed(piece: Piece, lines: list[str]) -> str:
    first, rest = _prefixes(piece)
    return "\n".join(
        (rest if at else first) + line if line or not at else rest.rstrip()
        for at, line in enumerate(lines)
    )


def _prefixes(piece: Piece) -> tuple[str, str]:
    """What stands before the first and the other lines: a quote's mark, list markers, indents.

    A quote's mark works only at the start of a line in Slack, so it comes before all markers.
    """
    containers = piece.leaf.containers
    quotes = sum(isinstance(container, Quote) for container in containers)
    quote = "> " + "&gt; " * (quotes - 1) if quotes else ""
    first = ""
    items = [container for container in containers if isinstance(container, Item)]
    for depth, item in enumerate(items):
        opens = item.opens and not piece.resumed
        first += _marker(item, depth) if opens else _INDENT
    return quote + first, quote + _INDENT * len(items)


def _marker(item: Item, depth: int) -> str:
    number = "" if item.number is None else f"{item.number}. "
    if item.checked is not None:
        return number + ("☑ " if item.checked else "☐ ")
    return number or _BULLETS[depth % len(_BULLETS)] + " "


def _marker_line(piece: Piece) -> str:
    """A list marker on a line of its own, for an item that begins with code or a table."""
    if piece.resumed or not any(isinstance(c, Item) and c.opens for c in piece.leaf.containers):
        return ""
    return _prefixes(piece)[0].rstrip() + "\n"


def _code_block(text: str) -> str:
    """A fence without a language line, which Slack would show as code."""
    if is_blank(text):
        return ""
    return f"```\n{break_fences(escape(text))}\n```"


def _table_text(leaf: Leaf, rows: Sequence[Sequence[str]]) -> str:
    table = [[cell_text(cell) for cell in row] for row in (leaf.header, *rows)]
    columns = max(len(row) for row in table)
    table = [row + [""] * (columns - len(row)) for row in table]
    widths = [max(display_width(row[at]) for row in table) for at in range(columns)]
    if rows and sum(widths) + 3 * (columns - 1) > _TABLE_COLUMNS_MAX:
        return record_text(leaf.header, rows)
    alignments = [*leaf.alignments, *[""] * columns]
    header, *body = (_table_line(row, widths, alignments) for row in table)
    return "\n".join([header, "─┼─".join("─" * width for width in widths), *body])


def _table_line(cells: list[str], widths: list[int], alignments: list[str]) -> str:
    padded = []
    for cell, width, alignment in zip(cells, widths, alignments, strict=False):
        room = width - display_width(cell)
        left = {"right": room, "center": room // 2}.get(alignment, 0)
        padded.append(" " * left + cell + " " * (room - left))
    return " │ ".join(padded).rstrip()
