"""`threadwright usage`: what models were used for and what it cost, as a table or as CSV."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from bots.cli_organization_option import organization_option, with_organization
from bots.cli_store import Run
from bots.cli_table import table_lines
from engine.chat.ids import OrganizationId
from engine.chat.spending import amount
from engine.chat.usage import UsageBy, UsageReport, UsageRow, total_cost, usage_csv, usage_moment

if TYPE_CHECKING:
    from engine.store.pool import Pool

UNKNOWN: Final = "-"
UNPRICED: Final = "unpriced"
_HEADER: Final = ("calls", "input", "output", "reasoning", "cached", "cache writes", "cost", "time")


def _moment(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> datetime | None:
    if text is None:
        return None
    try:
        return usage_moment(text)
    except ValueError:
        sentence = f"{text!r} is no date and no time, such as 2026-12-31 or 2026-12-31T08:00:00Z"
        raise click.BadParameter(sentence) from None


def usage_command(run: Run) -> click.Command:
    """The command, given what loads the settings and runs a coroutine with them."""

    @click.command(
        epilog="\b\nExamples:\n  threadwright usage --by model --since 2026-12-01\n"
        "  threadwright usage --by user --csv > usage.csv"
    )
    @click.option(
        "--by",
        type=click.Choice([by.value for by in UsageBy]),
        default=UsageBy.USER.value,
        show_default=True,
        help="What a row stands for.",
    )
    @click.option(
        "--since",
        callback=_moment,
        help="From this day or RFC 3339 time on; of UTC.",
        metavar="DATE",
    )
    @click.option(
        "--until",
        callback=_moment,
        help="Before this day or RFC 3339 time; of UTC.",
        metavar="DATE",
    )
    @click.option("--csv", "as_csv", is_flag=True, help="CSV, safe to open in a spreadsheet.")
    @organization_option
    @click.pass_obj
    def usage(
        environ: dict[str, str],
        *,
        by: str,
        since: datetime | None,
        until: datetime | None,
        as_csv: bool,
        organization: str | None,
    ) -> None:
        """Sum up what models were used for and what it cost.

        Calls of deleted messages and chats were paid for, so they count.
        """
        if since and until and since > until:
            raise click.UsageError("--since is after --until.")
        work = partial(_report, by=UsageBy(by), since=since, until=until, csv=as_csv)
        run(environ, lambda settings: with_organization(settings, organization, work))

    return usage


async def _report(
    pool: "Pool",
    organization_id: OrganizationId,
    *,
    by: UsageBy,
    since: datetime | None,
    until: datetime | None,
    csv: bool,
) -> None:
    from engine.store.usage import Usage

    report = await Usage(pool).report(by, organization_id=organization_id, since=since, until=until)
    if csv:
        click.echo(usage_csv(report), nl=False)
    else:
        click.echo("\n".join(report_lines(report)))
    if report.is_cut:
        click.echo("There is more than this; ask for a shorter time.", err=True)


def report_lines(report: UsageReport) -> list[str]:
    """The report as a table with its total."""
    if not report.rows:
        return ["No model was asked in this time."]
    rows = [_cells(row) for row in report.rows]
    if len(report.rows) > 1:
        rows.append(_cells(_total(report.rows)))
    lines = table_lines((report.by.value, *_HEADER), rows)
    unpriced = sum(row.unpriced_calls for row in report.rows)
    if unpriced and total_cost(report.rows) is not None:
        lines.append(f"{unpriced:,} of the calls had no price and are not in the cost.")
    return lines


def _cells(row: UsageRow) -> tuple[str, ...]:
    numbers = (
        row.calls,
        row.input_tokens,
        row.output_tokens,
        row.reasoning_tokens,
        row.cache_read_tokens,
        row.cache_write_tokens,
    )
    cost = UNPRICED if row.cost_micros is None else amount(row.cost_micros)
    key = UNKNOWN if row.key is None else row.key
    return (key, *(f"{number:,}" for number in numbers), cost, _duration(row.runtime_ms))


def _total(rows: Sequence[UsageRow]) -> UsageRow:
    return UsageRow(
        key="total",
        calls=sum(row.calls for row in rows),
        unpriced_calls=sum(row.unpriced_calls for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens for row in rows),
        cache_read_tokens=sum(row.cache_read_tokens for row in rows),
        cache_write_tokens=sum(row.cache_write_tokens for row in rows),
        cost_micros=total_cost(rows),
        runtime_ms=sum(row.runtime_ms for row in rows),
    )


def _duration(runtime_ms: int) -> str:
    seconds = runtime_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"
