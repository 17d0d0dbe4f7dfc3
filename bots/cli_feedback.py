"""`threadwright feedback`: what people think of replies, counted or word by word."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from bots.cli_organization_option import organization_option, with_organization
from bots.cli_store import Run
from bots.cli_table import printable, table_lines
from engine.chat.feedback import FeedbackBy, FeedbackCount, Rating
from engine.chat.ids import OrganizationId
from engine.chat.usage import shown_as_text, usage_moment

if TYPE_CHECKING:
    from engine.store.pool import Pool

UNKNOWN: Final = "-"
SHOWN_MAX: Final = 100
NOBODY: Final = "Nobody has said anything about a reply in this time."


def feedback_command(run: Run) -> click.Command:
    """The command, given what loads the settings and runs a coroutine with them."""

    @click.command(
        epilog="\b\nExamples:\n  threadwright feedback --by model\n"
        "  threadwright feedback --comments --bad --since 2026-12-01"
    )
    @click.option(
        "--by",
        type=click.Choice([by.value for by in FeedbackBy]),
        default=FeedbackBy.BOT.value,
        show_default=True,
        help="What a row stands for.",
    )
    @click.option("--comments", is_flag=True, help="What each person said, the newest first.")
    @click.option("--bad", is_flag=True, help="With --comments: only replies that were not good.")
    @click.option("--since", metavar="DATE", help="From this day or RFC 3339 time on; of UTC.")
    @click.option("--until", metavar="DATE", help="Before this day or RFC 3339 time; of UTC.")
    @click.option("--csv", "as_csv", is_flag=True, help="CSV, safe to open in a spreadsheet.")
    @organization_option
    @click.pass_obj
    def feedback(
        environ: dict[str, str],
        *,
        by: str,
        comments: bool,
        bad: bool,
        since: str | None,
        until: str | None,
        as_csv: bool,
        organization: str | None,
    ) -> None:
        """Count what people think of replies, or show what they said."""
        if bad and not comments:
            raise click.UsageError("--bad goes with --comments.")
        begin, end = _moment("--since", since), _moment("--until", until)
        if comments:
            work = partial(_comments, only_bad=bad, since=begin, until=end, as_csv=as_csv)
        else:
            work = partial(_counts, by=FeedbackBy(by), since=begin, until=end, as_csv=as_csv)
        run(environ, lambda settings: with_organization(settings, organization, work))

    return feedback


def _moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return usage_moment(text)
    except ValueError:
        sentence = f"{text!r} is no date and no time, such as 2026-12-31 or 2026-12-31T08:00:00Z"
        raise click.BadParameter(sentence, param_hint=option) from None


async def _counts(
    pool: "Pool",
    organization_id: OrganizationId,
    *,
    by: FeedbackBy,
    since: datetime | None,
    until: datetime | None,
    as_csv: bool,
) -> None:
    from engine.store.feedback import Feedback

    counts = await Feedback(pool).counts(
        by, organization_id=organization_id, since=since, until=until
    )
    rows = [(count.key or UNKNOWN, *_numbers(count)) for count in counts]
    _print((by.value, "good", "bad", "good of all"), rows, texts=1, as_csv=as_csv)


def _numbers(count: FeedbackCount) -> tuple[str, str, str]:
    return str(count.good), str(count.bad), f"{count.good / (count.good + count.bad):.0%}"


async def _comments(
    pool: "Pool",
    organization_id: OrganizationId,
    *,
    only_bad: bool,
    since: datetime | None,
    until: datetime | None,
    as_csv: bool,
) -> None:
    from engine.store.feedback import Feedback

    ratings = await Feedback(pool).newest(
        organization_id=organization_id,
        since=since,
        until=until,
        only_bad=only_bad,
        limit=SHOWN_MAX,
    )
    header = ("when", "who", "verdict", "bot", "model", "chat", "comment")
    rows = [_cells(rating) for rating in ratings]
    _print(header, rows, texts=len(header), as_csv=as_csv)


def _cells(rating: Rating) -> tuple[str, ...]:
    return (
        f"{rating.rated_at:%Y-%m-%d %H:%M}",
        rating.name or rating.identity,
        "good" if rating.is_good else "bad",
        rating.bot,
        rating.model or UNKNOWN,
        str(rating.chat_id),
        rating.comment,
    )


def _print(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int, as_csv: bool
) -> None:
    if as_csv:
        written = io.StringIO()
        writer = csv.writer(written)
        writer.writerow(header)
        writer.writerows([shown_as_text(cell) for cell in row] for row in rows)
        click.echo(written.getvalue(), nl=False)
        return
    lines = table_lines(header, rows, texts=texts) if rows else [NOBODY]
    click.echo("\n".join(printable(line) for line in lines))
