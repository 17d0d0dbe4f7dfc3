"""A report as CSV: every cell is what it says, and none is a formula; and the times it is of."""

import csv
import io
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.usage import (
    COLUMNS,
    FORMULA_SIGNS,
    UsageBy,
    UsageReport,
    UsageRow,
    shown_as_text,
    total_cost,
    usage_csv,
    usage_moment,
)


def row(key: str | None, cost_micros: int | None = 7) -> UsageRow:
    return UsageRow(
        key=key,
        calls=2,
        unpriced_calls=1,
        input_tokens=3,
        output_tokens=4,
        reasoning_tokens=0,
        cache_read_tokens=5,
        cache_write_tokens=6,
        cost_micros=cost_micros,
        runtime_ms=11,
    )


def test_report_is_read_back_by_any_spreadsheet() -> None:
    report = UsageReport(by=UsageBy.USER, rows=(row('Ada, "the first"'), row(None, None)))
    read = list(csv.reader(io.StringIO(usage_csv(report), newline="")))
    assert read == [
        ["user", *COLUMNS],
        ['Ada, "the first"', "2", "1", "3", "4", "0", "5", "6", "7", "11"],
        ["", "2", "1", "3", "4", "0", "5", "6", "", "11"],
    ]


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\uff1d1"]
)
def test_a_name_that_is_a_formula_is_shown_as_text(name: str) -> None:
    assert shown_as_text(name) == f"'{name}"
    text = usage_csv(UsageReport(by=UsageBy.MODEL, rows=(row(name),)))
    assert list(csv.reader(io.StringIO(text, newline="")))[1][0] == f"'{name}"


@given(st.text(max_size=20))
def test_no_cell_begins_as_a_formula_and_none_loses_anything(name: str) -> None:
    shown = shown_as_text(name)
    assert shown.lstrip(" \u00a0")[:1] not in FORMULA_SIGNS
    assert shown in (name, f"'{name}")


def test_total_is_that_of_what_was_priced() -> None:
    assert total_cost([row("a", 3), row("b", None), row("c", 4)]) == 7
    assert total_cost([row("b", None)]) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-12-31", datetime(2026, 12, 31, tzinfo=UTC)),
        ("2026-12-31T10:20:30", datetime(2026, 12, 31, 10, 20, 30, tzinfo=UTC)),
        ("2026-12-31T10:20:30Z", datetime(2026, 12, 31, 10, 20, 30, tzinfo=UTC)),
        ("2026-12-31T10:20:30+01:00", datetime(2026, 12, 31, 9, 20, 30, tzinfo=UTC)),
        ("2026-12-31T23:20:30-01:00", datetime(2027, 1, 1, 0, 20, 30, tzinfo=UTC)),
    ],
)
@pytest.mark.usefixtures("far_from_greenwich")
def test_a_moment_is_of_utc_unless_it_says_otherwise(text: str, moment: datetime) -> None:
    read = usage_moment(text)
    assert (read, read.tzinfo) == (moment, UTC)


@pytest.fixture
def far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own time is not UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "IST-5:30")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("text", ["", "yesterday", "2026-12-32", "31.12.2026", "2026-12-31T25:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        usage_moment(text)


def test_a_moment_before_all_years_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="out of range"):
        usage_moment("0001-01-01T00:00:00+01:00")
