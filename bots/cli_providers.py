"""`threadwright providers`: which model providers there are, how they are asked, and by whose key."""

from typing import TYPE_CHECKING, Any

import click

from bots.cli_catalog import key_options, made, read_key, with_catalog
from bots.cli_confirm import belongings, confirm, yes_option
from bots.cli_store import Run
from config.providers_file import POLICY_FLAGS, USUAL_ADDRESSES, FilePolicy, FileWire
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.catalog import Catalog
    from engine.store.catalog_entries import ProviderInfo
    from engine.store.vault import Vault


def provider_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(
        epilog="\b\nExamples:\n  threadwright providers add anthropic --wire anthropic --key-env ANTHROPIC_API_KEY\n"
        "  threadwright providers add ollama --base-url http://127.0.0.1:11434/v1 --no-key\n"
        "  threadwright providers apply providers.toml --dry-run"
    )
    def providers() -> None:
        """Manage model providers. Several of one kind stand side by side."""

    _add_readers(providers, run)
    _add_keepers(providers, run)
    _add_switches(providers, run)
    _add_trials(providers, run)
    return providers


def _add_readers(group: click.Group, run: Run) -> None:
    @group.command("list")
    @click.pass_obj
    def list_(environ: dict[str, str]) -> None:
        """List all providers in the database, without their keys."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            for info in await catalog.list_providers():
                spec = info.spec
                key = f"key sealed by {info.key_id}" if info.has_key else "no key"
                standing = "enabled" if spec.enabled else "disabled"
                columns = (spec.name, spec.wire, spec.base_url, standing, _policy_of(info), key)
                click.echo("\t".join((*columns, info.source.value)))

        run(environ, lambda settings: with_catalog(settings, work))


def _add_keepers(group: click.Group, run: Run) -> None:
    @group.command()
    @click.argument("name")
    @click.option("--wire", type=click.Choice([wire.value for wire in FileWire]), default="chat_completions", show_default=True)  # fmt: skip
    @click.option("--base-url", metavar="URL", help="Its address; without it the usual one.")
    @click.option("--display-name", default="", help="What people know it by.")
    @click.option("--policy", type=click.Choice([each.value for each in FilePolicy]), default="central", show_default=True, help="Whose key is used.")  # fmt: skip
    @click.option("--no-key", is_flag=True, help="It needs no key.")
    @key_options
    @click.pass_obj
    def add(
        environ: dict[str, str],
        *,
        name: str,
        wire: str,
        base_url: str | None,
        display_name: str,
        policy: str,
        no_key: bool,
        key_env: str | None,
        key_file: str | None,
    ) -> None:
        """Add the provider NAME. Its key is asked for, or read from standard input."""
        fields: dict[str, Any] = {
            "name": name,
            "wire": wire,
            "base_url": base_url or USUAL_ADDRESSES[FileWire(wire)],
            "display_name": display_name,
            "options": {"needs_key": False} if no_key else {},
            **POLICY_FLAGS[FilePolicy(policy)],
        }

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            if not no_key and policy != FilePolicy.USER:
                fields["api_key"] = read_key(environ, key_env, key_file)
            made(await catalog.create_provider(fields))
            click.echo(
                f"The provider {name} is there. Add a model by its name and window: "
                f"threadwright models add {name} MODEL --context-limit 128000"
            )

        run(environ, lambda settings: with_catalog(settings, work))

    @group.command("set-key")
    @click.argument("name")
    @key_options
    @click.pass_obj
    def set_key(
        environ: dict[str, str], *, name: str, key_env: str | None, key_file: str | None
    ) -> None:
        """Give the provider NAME another key: asked for, or read from standard input."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            key = read_key(environ, key_env, key_file)
            made(await catalog.update_provider(name, {"api_key": key}))
            click.echo(f"The provider {name} has a new key.")

        run(environ, lambda settings: with_catalog(settings, work))


def _add_switches(group: click.Group, run: Run) -> None:
    def switch(environ: dict[str, str], name: str, *, enabled: bool) -> None:
        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            made(await catalog.update_provider(name, {"enabled": enabled}))
            click.echo(f"The provider {name} is {'enabled' if enabled else 'disabled'}.")
            models = await catalog.list_models()
            default = next((each for each in models if each.spec.is_default), None)
            if not enabled and default is not None and default.provider == name:
                click.echo(
                    f"The default model {default.reference} is one of its models: where nobody says "
                    "which model, turns fail until `threadwright models set-default` names another.",
                    err=True,
                )

        run(environ, lambda settings: with_catalog(settings, work))

    @group.command()
    @click.argument("name")
    @click.pass_obj
    def enable(environ: dict[str, str], *, name: str) -> None:
        """Let the provider NAME be asked again."""
        switch(environ, name, enabled=True)

    @group.command()
    @click.argument("name")
    @click.pass_obj
    def disable(environ: dict[str, str], *, name: str) -> None:
        """Ask the provider NAME nothing from the next turns on."""
        switch(environ, name, enabled=False)

    @group.command()
    @click.argument("name")
    @yes_option
    @click.pass_obj
    def remove(environ: dict[str, str], *, name: str, yes: bool) -> None:
        """Remove the provider NAME with its models and everybody's keys for it."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            if await catalog.find_provider(name):
                what = await belongings(catalog, [name])
                confirm(f"the provider {name} with {what}", yes=yes)
            made(await catalog.delete_provider(name))
            click.echo(f"The provider {name} is removed.")

        run(environ, lambda settings: with_catalog(settings, work))


def _add_trials(group: click.Group, run: Run) -> None:
    @group.command()
    @click.argument("name")
    @click.option("--model", metavar="MODEL", help="One of its models; without it the first.")
    @click.pass_obj
    def test(environ: dict[str, str], *, name: str, model: str | None) -> None:
        """Ask a model of the provider NAME for one word, and say what happened."""
        from bots.provider_trial import try_provider

        run(environ, lambda settings: try_provider(settings, name, model))

    @group.command()
    @click.argument("file")
    @click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
    @yes_option
    @click.pass_obj
    def apply(environ: dict[str, str], *, file: str, dry_run: bool, yes: bool) -> None:
        """Make the database what the providers FILE says. What has left the file is removed."""

        async def work(settings: Settings) -> None:
            from bots.providers_file import (
                apply_providers,
                confirm_removals,
                read_providers_file,
            )

            entries = read_providers_file(file, environ)

            async def apply_(catalog: "Catalog", _vault: "Vault") -> None:
                changes = await apply_providers(
                    catalog, entries, file, dry_run=True, may_be_empty=True
                )
                if not dry_run:
                    await confirm_removals(catalog, changes, yes=yes)
                    changes = await apply_providers(catalog, entries, file, may_be_empty=True)
                for change in changes:
                    what = f": {', '.join(change.fields)}" if change.fields else ""
                    click.echo(f"{change.verb.value} {change.reference}{what}")
                if not changes:
                    click.echo("Nothing differs.")
                elif dry_run:
                    click.echo("Nothing was changed.", err=True)

            await with_catalog(settings, apply_)

        run(environ, work)


def _policy_of(info: "ProviderInfo") -> str:
    spec = info.spec
    flags = {
        "central_key_enabled": spec.central_key_enabled,
        "user_key_allowed": spec.user_key_allowed,
        "central_key_fallback": spec.central_key_fallback,
    }
    # With both kinds of keys and no fallback, the central one is never used.
    return next((policy.value for policy in FilePolicy if POLICY_FLAGS[policy] == flags), "user")
