"""`threadwright keys` and `threadwright secrets`: people's own keys, and the key that seals them all."""

from typing import TYPE_CHECKING

import click

from bots.cli_catalog import key_options, made, read_key, with_catalog
from bots.cli_confirm import confirm, yes_option
from bots.cli_store import Run
from bots.errors import OperatorError

if TYPE_CHECKING:
    from engine.store.catalog import Catalog
    from engine.store.vault import Vault


def key_commands(run: Run) -> click.Group:
    """The group on people's keys, given what loads the settings and runs a coroutine with them."""

    @click.group(epilog="\b\nExample:\n  threadwright keys set anthropic slack:T1:U1 < key.txt")
    def keys() -> None:
        """Manage people's own keys, for providers that allow them."""

    @keys.command("set")
    @click.argument("provider")
    @click.argument("identity")
    @key_options
    @click.pass_obj
    def set_(
        environ: dict[str, str],
        *,
        provider: str,
        identity: str,
        key_env: str | None,
        key_file: str | None,
    ) -> None:
        """Keep a key of IDENTITY (slack:T1:U1) for PROVIDER: asked for, or from standard input."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            key = read_key(environ, key_env, key_file)
            made(await catalog.set_user_key(provider, identity, key))
            click.echo(f"{identity} has a key for {provider}.")

        run(environ, lambda settings: with_catalog(settings, work))

    @keys.command("list")
    @click.pass_obj
    def list_(environ: dict[str, str]) -> None:
        """List who has keys of their own, without the keys."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            for info in await catalog.list_user_keys():
                sealed = f"sealed by {info.key_id}"
                click.echo(
                    f"{info.provider}\t{info.identity}\t{sealed}\t{info.created_at:%Y-%m-%d}"
                )

        run(environ, lambda settings: with_catalog(settings, work))

    @keys.command()
    @click.argument("provider")
    @click.argument("identity")
    @yes_option
    @click.pass_obj
    def remove(environ: dict[str, str], *, provider: str, identity: str, yes: bool) -> None:
        """Forget the key of IDENTITY for PROVIDER."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            await _confirm_removal(catalog, provider, identity, yes=yes)
            if not await catalog.delete_user_key(provider, identity):
                what = f"{identity} has no key for {provider}"
                raise OperatorError(what, mend="see `threadwright keys list`")
            click.echo(f"The key of {identity} for {provider} is forgotten.")

        run(environ, lambda settings: with_catalog(settings, work))

    return keys


async def _confirm_removal(catalog: "Catalog", provider: str, identity: str, *, yes: bool) -> None:
    listed = await catalog.list_user_keys()
    if any((each.provider, each.identity) == (provider, identity) for each in listed):
        confirm(f"the key of {identity} for {provider}", yes=yes)


def secret_commands(run: Run) -> click.Group:
    """The group on the key that seals all others."""

    @click.group()
    def secrets() -> None:
        """Manage how secrets are sealed in the database."""

    @secrets.command()
    @click.pass_obj
    def rotate(environ: dict[str, str]) -> None:
        """Seal everything anew with THREADWRIGHT_SECRET_KEY that the key before it has sealed.

        Set the new key, and the former one as THREADWRIGHT_SECRET_KEY_PREVIOUS, on every replica
        first; they go on meanwhile. Safe to run again.
        """

        async def work(catalog: "Catalog", vault: "Vault") -> None:
            from engine.store.errors import SecretKeyMissing
            from engine.store.reseal import reseal

            try:
                done = await reseal(catalog, vault)
            except SecretKeyMissing as error:
                mend = "set THREADWRIGHT_SECRET_KEY to a long random text"
                raise OperatorError("there is no key to seal with", mend=mend) from error
            click.echo(f"{done.secrets} secrets were sealed anew; the key is {vault.key_id}.")
            if done.unopened:
                wanted = ", ".join(f"{count} by {key}" for key, count in done.unopened.items())
                mend = "set that key as THREADWRIGHT_SECRET_KEY_PREVIOUS, or store them anew"
                raise OperatorError(f"some could not be opened: sealed {wanted}", mend=mend)

        run(environ, lambda settings: with_catalog(settings, work))

    return secrets
