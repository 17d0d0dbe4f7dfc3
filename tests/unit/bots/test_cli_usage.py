"""What people read of usage and limits on the command line."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.cli_limits import checked_name, micros_of
from bots.cli_table import printable, table_lines
from bots.cli_usage import report_lines
from engine.chat.spending import amount
from engine.chat.usage import UsageBy, UsageReport, UsageRow


def row(key: str | None, *, cost_micros: int | None, unpriced_calls: int = 0) -> UsageRow:
    return UsageRow(
        key=key,
        calls=1200,
        unpriced_calls=unpriced_calls,
        input_tokens=3_000_000,
        output_tokens=4,
        reasoning_tokens=0,
        cache_read_tokens=5,
        cache_write_tokens=6,
        cost_micros=cost_micros,
        runtime_ms=3_725_000,
    )


def test_report_is_a_table_with_a_total() -> None:
    rows = (
        row("slack:T1:U1", cost_micros=2_500_000),
        row(None, cost_micros=None, unpriced_calls=7),
    )
    assert report_lines(UsageReport(by=UsageBy.USER, rows=rows)) == [
        "user         calls      input  output  reasoning  cached  cache writes      cost        time",
        "slack:T1:U1  1,200  3,000,000       4          0       5             6     $2.50  1 h 02 min",
        "-            1,200  3,000,000       4          0       5             6  unpriced  1 h 02 min",
        "total        2,400  6,000,000       8          0      10            12     $2.50  2 h 04 min",
        "7 of the calls had no price and are not in the cost.",
    ]


def test_report_of_nothing_says_so() -> None:
    assert report_lines(UsageReport(by=UsageBy.USER, rows=())) == [
        "No model was asked in this time."
    ]


def test_a_name_moves_no_cursor() -> None:
    lines = table_lines(("a", "b"), [("\x1b[2J\nAda", "1")])
    assert lines == ["a         b", "?[2J?Ada  1"]
    assert printable("\u202eAda") == "?Ada"


@pytest.mark.parametrize(
    ("text", "micros"),
    [("5", 5_000_000), ("$1,000.50", 1_000_500_000), ("0", 0), ("0.000001", 1), ("1e2", 10**8)],
)
def test_amounts_are_read_as_people_write_them(text: str, micros: int) -> None:
    assert micros_of(text) == micros


@pytest.mark.parametrize(
    "text", ["", "five", "-1", "0.0000001", "nan", "inf", "1e30", "9223372036854.775808"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        micros_of(text)


@given(st.integers(0, 2**63 - 1))
def test_an_amount_that_is_shown_exactly_is_read_back(micros: int) -> None:
    assert micros_of(amount(micros, exact=True)) == micros


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\nb", "a" * 401, ("fine", "not\x1bfine")])
def test_a_name_that_cannot_be_listed_is_refused(name: str | tuple[str, ...]) -> None:
    command = click.Context(click.Command("limits"))
    with pytest.raises(click.BadParameter):
        checked_name(command, click.Argument(["subject"]), name)
