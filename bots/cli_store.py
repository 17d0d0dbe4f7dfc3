"""The database for commands that do one thing and end."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import click

from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.pool import Pool

Run = Callable[[dict[str, str], Callable[[Settings], Coroutine[Any, Any, None]]], None]
"""Loads the settings from an environment and runs a coroutine with them."""


async def with_store(settings: Settings, work: Callable[["Pool"], Awaitable[None]]) -> None:
    """Do the work on the configured database, or on the embedded one, migrated."""
    from bots.embedded_database import database_address
    from engine.store.migrate import migrate
    from engine.store.pool import open_pool

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_address(settings, _say))
        pool = await open_pool(url, wait_seconds=settings.database.wait_seconds, on_wait=_say)
        stack.push_async_callback(pool.close)
        await migrate(pool)
        await work(pool)


def _say(line: str) -> None:
    click.echo(line, err=True)
