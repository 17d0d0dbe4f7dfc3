"""`threadwright inbox`: see the events that could not be worked on, and send them through again."""

from typing import TYPE_CHECKING

import click

from bots.cli_store import Run, with_store
from bots.errors import OperatorError

if TYPE_CHECKING:
    from engine.store.pool import Pool

# The widest number that the column of the table holds.
EVENT_ID_MAX = 2**63 - 1


def inbox_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(
        epilog="\b\nExamples:\n  threadwright inbox list\n  threadwright inbox redeliver 42"
    )
    def inbox() -> None:
        """See events that failed for good, and try them again."""

    @inbox.command("list")
    @click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
    @click.pass_obj
    def list_(environ: dict[str, str], *, limit: int) -> None:
        """List dead events, newest first: what they were and why they failed, never what was said."""

        async def work(pool: "Pool") -> None:
            from engine.store.inbox import Inbox

            for dead in await Inbox(pool).list_dead(limit=limit):
                event = dead.event
                when = f"{dead.received_at:%Y-%m-%d %H:%M}"
                what = f"{event.platform}\t{event.kind}\t{event.thread_key}"
                click.echo(f"{dead.id}\t{when}\t{what}\t{dead.error or ''}")

        run(environ, lambda settings: with_store(settings, work))

    @inbox.command()
    @click.argument("event_id", type=click.IntRange(1, EVENT_ID_MAX))
    @click.pass_obj
    def redeliver(environ: dict[str, str], *, event_id: int) -> None:
        """Give the dead event EVENT_ID all its tries again."""

        async def work(pool: "Pool") -> None:
            from engine.store.inbox import Inbox

            if not await Inbox(pool).redeliver(event_id):
                what = f"there is no dead event {event_id}"
                raise OperatorError(what, mend="see `threadwright inbox list`")
            click.echo(f"Event {event_id} will be tried again.")

        run(environ, lambda settings: with_store(settings, work))

    return inbox
