"""Tables for people, as commands print them (pure). What could move the cursor is not printed."""

from collections.abc import Sequence
from typing import Final

GAP: Final = "  "


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1
) -> list[str]:
    """Lines with columns in line; the first `texts` columns are text, the others are numbers."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column < texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return GAP.join(padded).rstrip()

    return [line(row) for row in cells]


def printable(text: str) -> str:
    """The text on one line, with a question mark for what a terminal would obey."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
