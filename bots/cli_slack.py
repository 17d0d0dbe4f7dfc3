"""`threadwright slack`: where people have installed the app, and taking an installation away."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from bots.cli_confirm import confirm, yes_option
from bots.cli_store import Run, with_store
from bots.cli_table import table_lines
from bots.errors import OperatorError
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.installations import Installation, Installations

HEADER = ("installation", "name", "app", "standing", "installed", "by", "key")


def slack_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(
        epilog="\b\nExamples:\n  threadwright slack installations\n  threadwright slack remove T0123"
    )
    def slack() -> None:
        """See where people have installed the Slack app."""

    @slack.command()
    @click.pass_obj
    def installations(environ: dict[str, str]) -> None:
        """List the workspaces that have the app, and those that had it. No token is shown."""

        async def work(stored: "Installations") -> None:
            found = await stored.list_all("slack")
            for line in table_lines(HEADER, [_row(each) for each in found], texts=len(HEADER)):
                click.echo(line)

        run(environ, lambda settings: _with_installations(settings, work))

    @slack.command()
    @click.argument("installation")
    @yes_option
    @click.pass_obj
    def remove(environ: dict[str, str], *, installation: str, yes: bool) -> None:
        """Give the token of INSTALLATION back to Slack, and forget it.

        Replicas notice within a minute. The app stays listed in the workspace until its people remove
        it there; installed again, it goes on with all its chats.
        """

        async def work(settings: Settings, stored: "Installations") -> None:
            if await stored.read("slack", installation) is None:
                what = f"nothing is installed as {installation}"
                raise OperatorError(what, mend="see `threadwright slack installations`")
            confirm(f"the installation {installation}", yes=yes)
            why_not = await _give_back(settings, stored, installation)
            await stored.remove("slack", installation)
            click.echo(f"{installation} is forgotten.")
            if why_not:
                click.echo(f"Its token could not be given back to Slack: {why_not}.", err=True)

        run(
            environ,
            lambda settings: _with_installations(settings, lambda stored: work(settings, stored)),
        )

    return slack


def standing(installation: "Installation") -> str:
    """How an installation is, in a few words."""
    if installation.ended_at is not None:
        return f"ended {installation.ended_at:%Y-%m-%d} ({installation.ended_why})"
    if installation.trouble is not None:
        return f"must be installed again ({installation.trouble})"
    if installation.expires_at is not None:
        return f"token until {installation.expires_at:%Y-%m-%d %H:%M}"
    return "in order"


def _row(each: "Installation") -> tuple[str, ...]:
    return (
        each.installation,
        each.name,
        each.app or "-",
        standing(each),
        f"{each.installed_at:%Y-%m-%d}",
        each.installed_by,
        each.token_key_id,
    )


async def _give_back(settings: Settings, stored: "Installations", installation: str) -> str | None:
    """Have the token revoked; None, or why that could not be done."""
    from adapters.slack.doctor import revoke_token
    from engine.store.errors import SealBroken, SecretKeyUnknown

    try:
        opened = await stored.open("slack", installation)
    except (SecretKeyUnknown, SealBroken) as error:
        return str(error)
    if opened is None:
        return None
    return await revoke_token(api_url=settings.slack.api_url, token=opened.token.reveal())


async def _with_installations(
    settings: Settings, work: Callable[["Installations"], Awaitable[None]]
) -> None:
    from bots.secret_key import with_secret_key
    from engine.store.installations import Installations
    from engine.store.vault import Vault

    settings = with_secret_key(settings)
    vault = Vault(settings.secret_key, settings.secret_key_previous)
    await with_store(settings, lambda pool: work(Installations(pool, vault)))
