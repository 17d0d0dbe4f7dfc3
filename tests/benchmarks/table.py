"""What the benchmarks share: a table for people, and a database to start from."""

import sys

from bots.event_loop import run
from engine.store.migrate import migrate
from engine.store.pool import open_pool


def print_table(rows: list[dict[str, object]]) -> None:
    """The rows with their first row's keys as columns, to standard output."""
    columns = list(rows[0])
    cells = [columns] + [[_cell(row[name]) for name in columns] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        sys.stdout.write(" | ".join(padded).rstrip() + "\n")


def template(url: str) -> None:
    """Migrate the database that all others are copied from."""

    async def apply() -> None:
        pool = await open_pool(url)
        await migrate(pool)
        await pool.close()

    run(apply())


def _cell(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)
