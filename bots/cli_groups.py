"""`threadwright groups`: people who have a spend limit in common."""

from functools import partial
from typing import TYPE_CHECKING

import click

from bots.cli_limits import checked_name, checked_subject, limits_of
from bots.cli_organization_option import organization_option, with_organization
from bots.cli_store import Run
from bots.cli_table import table_lines
from bots.errors import OperatorError
from engine.chat.ids import OrganizationId
from engine.chat.spending import amount

if TYPE_CHECKING:
    from engine.store.pool import Pool


def group_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(epilog="\b\nExample:\n  threadwright groups add crew slack:T012:U345")
    def groups() -> None:
        """Put people into groups, for limits that they have in common."""

    @groups.command("list")
    @organization_option
    @click.pass_obj
    def list_(environ: dict[str, str], *, organization: str | None) -> None:
        """List groups, their members and what each of these may spend."""
        run(environ, lambda settings: with_organization(settings, organization, _list))

    @groups.command()
    @click.argument("group", callback=checked_name)
    @click.argument("identities", nargs=-1, callback=checked_name)
    @organization_option
    @click.pass_obj
    def add(
        environ: dict[str, str],
        *,
        group: str,
        identities: tuple[str, ...],
        organization: str | None,
    ) -> None:
        """Put IDENTITIES into GROUP, which is made if it is not there."""
        work = partial(_add, group=group, identities=identities)
        run(environ, lambda settings: with_organization(settings, organization, work))

    @groups.command()
    @click.argument("group", callback=checked_name)
    @click.argument("identities", nargs=-1, callback=checked_name)
    @organization_option
    @click.pass_obj
    def remove(
        environ: dict[str, str],
        *,
        group: str,
        identities: tuple[str, ...],
        organization: str | None,
    ) -> None:
        """Take IDENTITIES out of GROUP; without any, remove the group and its limit."""
        work = partial(_remove, group=group, identities=identities)
        run(environ, lambda settings: with_organization(settings, organization, work))

    return groups


async def _list(pool: "Pool", organization_id: OrganizationId) -> None:
    rows = [
        (
            group.name,
            ", ".join(group.members) or "nobody",
            "no limit" if group.limit_micros is None else amount(group.limit_micros, exact=True),
        )
        for group in await limits_of(pool, organization_id).list_groups()
    ]
    if rows:
        click.echo("\n".join(table_lines(("group", "members", "limit"), rows, texts=2)))


async def _add(
    pool: "Pool", organization_id: OrganizationId, *, group: str, identities: tuple[str, ...]
) -> None:
    for identity in identities:
        checked_subject("user", identity)
    added = await limits_of(pool, organization_id).add_members(group, identities)
    click.echo(f"{group}: {added} added." if identities else f"{group} is there.")


async def _remove(
    pool: "Pool", organization_id: OrganizationId, *, group: str, identities: tuple[str, ...]
) -> None:
    limits = limits_of(pool, organization_id)
    if identities:
        if not await limits.remove_members(group, identities):
            raise OperatorError(
                f"none of them is in {group!r}", mend="see `threadwright groups list`"
            )
        click.echo(f"{group}: removed.")
        return
    if not await limits.remove_group(group):
        raise OperatorError(f"there is no group {group!r}", mend="see `threadwright groups list`")
    click.echo(f"{group} is removed, and its limit with it.")
