"""The option --organization of commands, and what it names."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from bots.cli_store import with_store
from bots.errors import OperatorError
from config.settings import Settings
from engine.chat.ids import DEFAULT_ORGANIZATION, OrganizationId

if TYPE_CHECKING:
    from engine.store.pool import Pool

OrganizationWork = Callable[["Pool", OrganizationId], Awaitable[None]]

organization_option = click.option(
    "--organization", metavar="NAME", help="Of which organization; else the default one."
)


async def with_organization(settings: Settings, name: str | None, work: OrganizationWork) -> None:
    """Do the work on the database, for the organization of that name. Raises OperatorError."""

    async def on(pool: "Pool") -> None:
        await work(pool, await _organization_id(pool, name))

    await with_store(settings, on)


async def _organization_id(pool: "Pool", name: str | None) -> OrganizationId:
    from engine.store.organizations import Organizations

    if name is None:
        return DEFAULT_ORGANIZATION
    for found in await Organizations(pool).list():
        if found.name == name:
            return found.id
    what = f"there is no organization called {name!r}"
    raise OperatorError(what, mend="see `threadwright organizations list`")
