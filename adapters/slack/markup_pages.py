"""Owns a page as the Markdown of one `markdown` block or stream. Pure.

The pieces are those of the page's mrkdwn, so both show the same words. Lists are nested by the width of
their markers, and only by those that stand on this page. Code and tables stand at the left edge, where Slack
shows them; a table that Slack would not take is a code block.
"""

import re
from collections.abc import Callable, Sequence

from adapters.delivery.markdown_tree import Item, Leaf, LeafKind, Quote
from adapters.delivery.page_pieces import Piece
from adapters.delivery.plain_text import is_blank
from adapters.slack import limits
from adapters.slack.markup_inline import break_fences
from adapters.slack.markup_source import SourceWriter, harmless_code, literal, of_no_block

_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_HARD_BREAK = "  \n"
_QUOTES_MAX = 5
"""Deeper quotes are shown as this deep; nobody can tell them apart."""
_DELIMITERS = {"left": ":--", "right": "--:", "center": ":-:", "": "---"}
_AT_EDGE = (LeafKind.CODE, LeafKind.TABLE)
_APART = (LeafKind.TABLE, LeafKind.RULE, LeafKind.HEADING, LeafKind.CODE)
"""What is no part of a paragraph or list, or would make something else of the line before it."""


class PageWriter:
    """Writes one page. `table_text` is a table as lines of fixed-width text."""

    def __init__(
        self,
        writer: SourceWriter,
        table_text: Callable[[Leaf, Sequence[Sequence[str]]], str],
    ) -> None:
        self._writer = writer
        self._table_text = table_text
        self._open: list[int] = []
        self._has_table = False

    def write(self, pieces: Sequence[Piece]) -> str:
        """All pieces, blank lines between them where the source has some or Markdown needs one."""
        page = ""
        previous: Leaf | None = None
        for piece in pieces:
            text = self._piece(piece)
            if not text:
                continue
            page += _separator(previous, piece.leaf) + text
            previous = piece.leaf
        return page

    def _piece(self, piece: Piece) -> str:
        leaf = piece.leaf
        if leaf.kind in _AT_EDGE:
            marker = self._marker_line(piece)
            self._open = []
            return marker + self._at_edge(piece)
        lines = self._lines(piece)
        first, rest = self._prefixes(piece)
        if leaf.kind is LeafKind.TEXT or piece.resumed:
            lines[0] = of_no_block(lines[0])
        end = _HARD_BREAK if leaf.kind in (LeafKind.TEXT, LeafKind.MATH) else "\n"
        return end.join(((rest if at else first) + line).rstrip() for at, line in enumerate(lines))

    def _lines(self, piece: Piece) -> list[str]:
        leaf = piece.leaf
        match leaf.kind:
            case LeafKind.HEADING if not piece.resumed:
                text = " ".join(self._writer.write(piece.text).split("\n"))
                return [f"{'#' * leaf.level} {text}"]
            case LeafKind.RULE:
                return ["---"]
            case LeafKind.MATH:
                return literal(piece.text).split("\n")
            case _:
                return self._writer.write(piece.text).split("\n")

    def _prefixes(self, piece: Piece) -> tuple[str, str]:
        """What stands before the first and the other lines of a piece, as Markdown nests it."""
        first = rest = ""
        still_open, depth, quotes = self._open, 0, 0
        self._open = []
        for container in piece.leaf.containers:
            if isinstance(container, Quote):
                quotes += 1
                mark = "> " if quotes <= _QUOTES_MAX else ""
                first, rest = first + mark, rest + mark
                continue
            if container.opens and not piece.resumed:
                marker = _marker(container)
                width = 2 if container.number is None else len(str(container.number)) + 2
                first += marker
            else:
                width = still_open[depth] if depth < len(still_open) else 0
                first += " " * width
            rest += " " * width
            self._open.append(width)
            depth += 1
        return first, rest

    def _marker_line(self, piece: Piece) -> str:
        """A list marker on a line of its own, for an item that begins with code or a table."""
        opens = any(isinstance(one, Item) and one.opens for one in piece.leaf.containers)
        return "" if piece.resumed or not opens else self._prefixes(piece)[0].rstrip() + "\n"

    def _at_edge(self, piece: Piece) -> str:
        leaf = piece.leaf
        if leaf.kind is LeafKind.CODE:
            language = leaf.language if _LANGUAGE.fullmatch(leaf.language) else ""
            return _code_block(piece.text, language)
        if not self._has_table and not leaf.containers and (table := self._table(piece)):
            self._has_table = True
            return table
        return _code_block(self._table_text(leaf, piece.rows))

    def _table(self, piece: Piece) -> str:
        """The table in Markdown; empty where Slack would refuse it."""
        leaf = piece.leaf
        columns = max(len(row) for row in (leaf.header, *piece.rows))
        if columns > limits.TABLE_COLUMNS_MAX or len(piece.rows) >= limits.TABLE_ROWS_MAX:
            return ""
        rows = [[self._cell(cell) for cell in row] for row in (leaf.header, *piece.rows)]
        if sum(len(cell) for row in rows for cell in row) > limits.TABLE_CELLS_TEXT_MAX:
            return ""
        alignments = [*leaf.alignments, *[""] * columns][:columns]
        delimiters = [_DELIMITERS.get(alignment, "---") for alignment in alignments]
        header, *body = ([*row, *[""] * (columns - len(row))] for row in rows)
        return "\n".join(_row(row) for row in (header, delimiters, *body))

    def _cell(self, source: str) -> str:
        return " ".join(self._writer.write(source).split()).replace("|", "\\|")


def _separator(before: Leaf | None, after: Leaf) -> str:
    if before is None:
        return ""
    is_apart = before.kind in _APART or after.kind in _APART
    return "\n\n" if is_apart or after.lines[0] > before.lines[1] else "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marker(item: Item) -> str:
    marker = "- " if item.number is None else f"{item.number}. "
    if item.checked is not None:
        marker += "[x] " if item.checked else "[ ] "
    return marker


def _code_block(text: str, language: str = "") -> str:
    """A fence of three backticks, the only one that Slack is known to take."""
    if is_blank(text):
        return ""
    return f"```{language}\n{harmless_code(break_fences(text))}\n```"
