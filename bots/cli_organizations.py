"""`threadwright organizations`: make and list organizations, cap what they may have running."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from bots.cli_store import Run, with_store
from bots.errors import OperatorError
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.organizations import Organizations

CHATS_MAX = 1_000_000
NAME_LENGTH_MAX = 200


def organization_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(epilog="\b\nExample:\n  threadwright organizations cap default 20")
    def organizations() -> None:
        """Manage organizations and how many of their chats may run at the same time."""

    @organizations.command("list")
    @click.pass_obj
    def list_(environ: dict[str, str]) -> None:
        """List all organizations, their caps and what they have running."""
        run(environ, lambda settings: _with_organizations(settings, _list))

    @organizations.command()
    @click.argument("name", callback=_checked_name)
    @click.pass_obj
    def create(environ: dict[str, str], *, name: str) -> None:
        """Make an organization called NAME and print its id."""
        run(environ, lambda settings: _with_organizations(settings, partial(_create, name=name)))

    @organizations.command()
    @click.argument("name")
    @click.argument("chats", type=click.IntRange(0, CHATS_MAX))
    @click.pass_obj
    def cap(environ: dict[str, str], *, name: str, chats: int) -> None:
        """Let NAME have at most CHATS chats running at the same time; 0 for any number."""
        work = partial(_cap, name=name, chats_max=chats or None)
        run(environ, lambda settings: _with_organizations(settings, work))

    return organizations


async def _list(store: "Organizations") -> None:
    for found in await store.list():
        cap = _words(found.chats_max)
        click.echo(f"{found.name}\t{found.id}\t{found.running} running\t{cap}")


async def _create(store: "Organizations", name: str) -> None:
    made = await store.create(name)
    if made is None:
        what = f"there is an organization called {name!r} already"
        raise OperatorError(what, mend="choose another name")
    click.echo(str(made))


async def _cap(store: "Organizations", name: str, chats_max: int | None) -> None:
    if not await store.set_chats_max(name, chats_max):
        what = f"there is no organization called {name!r}"
        raise OperatorError(what, mend="see `threadwright organizations list`")
    click.echo(f"{name}: {_words(chats_max)} at the same time.")


def _words(chats_max: int | None) -> str:
    return "any number" if chats_max is None else f"at most {chats_max}"


def _checked_name(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise click.BadParameter("a name has letters, and no control characters")
    if len(name) > NAME_LENGTH_MAX:
        raise click.BadParameter(f"a name has at most {NAME_LENGTH_MAX} characters")
    return name


async def _with_organizations(
    settings: Settings, work: Callable[["Organizations"], Awaitable[None]]
) -> None:
    from engine.store.organizations import Organizations

    await with_store(settings, lambda pool: work(Organizations(pool)))
