"""Reports on what models were used for and what it cost (pure): what a row says, and as a CSV text."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

FORMULA_SIGNS: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""A cell that begins with one of these is run by spreadsheets instead of shown."""


class UsageBy(StrEnum):
    """What the rows of a report stand for. Days are of UTC."""

    USER = "user"
    CHANNEL = "channel"
    MODEL = "model"
    DAY = "day"
    BOT = "bot"
    KIND = "kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """Model calls with one thing in common. `key` None: of nobody, or nothing, that is known.

    Input tokens are without cached ones, output tokens with reasoning. `cost_micros` None: no call
    had a price; otherwise the cost is that of the calls that had one, which are all but
    `unpriced_calls`.
    """

    key: str | None
    calls: int
    unpriced_calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micros: int | None
    runtime_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Rows, the dearest first; days in their order. `is_cut`: there were more than are told."""

    by: UsageBy
    rows: tuple[UsageRow, ...]
    is_cut: bool = False


COLUMNS: Final = (
    "calls",
    "unpriced_calls",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_micros",
    "runtime_ms",
)
"""The fields of a row beside its key, in the order in which they are written."""


def usage_moment(text: str) -> datetime:
    """A date or an RFC 3339 time, of UTC where it names no zone. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error


def usage_csv(report: UsageReport) -> str:
    """The report as CSV (RFC 4180). No cell of it is a formula to a spreadsheet."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow((report.by.value, *COLUMNS))
    for row in report.rows:
        # None is written as an empty cell.
        numbers = (getattr(row, column) for column in COLUMNS)
        writer.writerow((shown_as_text(row.key or ""), *numbers))
    return written.getvalue()


def shown_as_text(cell: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it."""
    # Spreadsheets skip blanks before they look.
    begins = cell.lstrip(" \u00a0")[:1]
    return f"'{cell}" if begins in FORMULA_SIGNS and begins else cell


def total_cost(rows: Iterable[UsageRow]) -> int | None:
    """What all rows cost together; None if nothing was priced."""
    costs = [row.cost_micros for row in rows if row.cost_micros is not None]
    return sum(costs) if costs else None
