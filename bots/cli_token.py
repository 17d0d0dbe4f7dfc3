"""`threadwright token`: make, list and revoke the tokens with which programs call the API."""

import unicodedata
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from bots.cli_store import Run, with_store
from bots.errors import OperatorError
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.tokens import TokenInfo, Tokens

ROLES = ("client", "admin")
# The widest number that the column of the table holds.
TOKEN_ID_MAX = 2**63 - 1
NAME_LENGTH_MAX = 200
# Controls, halves of characters, line and paragraph separators: none of them belongs into a list.
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Marks that change the direction of what follows, and so can make one name look like another.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def token_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(epilog="\b\nExample:\n  threadwright token create billing-bot")
    def token() -> None:
        """Manage the tokens with which programs call the API."""

    @token.command()
    @click.argument("name", callback=_checked_name)
    @click.option("--role", type=click.Choice(ROLES), default="client", help="What it may do.")
    @click.pass_obj
    def create(environ: dict[str, str], *, name: str, role: str) -> None:
        """Make a token called NAME and print it. It cannot be shown again."""

        async def work(tokens: "Tokens") -> None:
            token_id, secret = await tokens.create_token(name, role)
            click.echo(
                f"Token {token_id} ({name}, {role}). Keep it; it is not shown again:", err=True
            )
            click.echo(secret)

        run(environ, lambda settings: _with_tokens(settings, work))

    @token.command("list")
    @click.pass_obj
    def list_(environ: dict[str, str]) -> None:
        """List all tokens, without their secrets."""

        async def work(tokens: "Tokens") -> None:
            for info in await tokens.list_tokens():
                click.echo(f"{info.id}\t{info.name}\t{info.role}\t{_standing(info)}")

        run(environ, lambda settings: _with_tokens(settings, work))

    @token.command()
    @click.argument("token_id", type=click.IntRange(1, TOKEN_ID_MAX))
    @click.pass_obj
    def revoke(environ: dict[str, str], *, token_id: int) -> None:
        """Refuse the token TOKEN_ID from now on."""

        async def work(tokens: "Tokens") -> None:
            if not await tokens.revoke_token(token_id):
                what = f"there is no token {token_id}, or it is revoked already"
                raise OperatorError(what, mend="see `threadwright token list`")
            click.echo(f"Token {token_id} is revoked.")

        run(environ, lambda settings: _with_tokens(settings, work))

    return token


def _checked_name(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not name.strip():
        raise click.BadParameter("a token needs a name")
    if len(name) > NAME_LENGTH_MAX:
        raise click.BadParameter(f"a name has at most {NAME_LENGTH_MAX} characters")
    if any(each in _DIRECTIONS or unicodedata.category(each) in _UNPRINTABLE for each in name):
        raise click.BadParameter("a name has no control characters and no marks of direction")
    return name


async def _with_tokens(settings: Settings, work: Callable[["Tokens"], Awaitable[None]]) -> None:
    from engine.store.tokens import Tokens

    await with_store(settings, lambda pool: work(Tokens(pool)))


def _standing(info: "TokenInfo") -> str:
    if info.revoked_at:
        return f"revoked {info.revoked_at:%Y-%m-%d %H:%M}"
    return f"last used {info.last_used_at:%Y-%m-%d %H:%M}" if info.last_used_at else "unused"
