"""`threadwright models`: which models may be asked, and which one is when nobody says."""

import json
from typing import TYPE_CHECKING, Any

import click

from bots.cli_catalog import made, with_catalog
from bots.cli_confirm import confirm, yes_option
from bots.cli_store import Run
from bots.errors import OperatorError

if TYPE_CHECKING:
    from engine.store.catalog import Catalog
    from engine.store.catalog_entries import ModelInfo, ProviderInfo
    from engine.store.vault import Vault

_MEND = "see `threadwright models list`"


def model_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(
        epilog="\b\nExamples:\n  threadwright models add anthropic claude-sonnet-4-5 --context-limit 200000 --default\n"
        "  threadwright models set-default anthropic:claude-sonnet-4-5"
    )
    def models() -> None:
        """Manage the models of providers. One is always the default."""

    @models.command("list")
    @click.pass_obj
    def list_(environ: dict[str, str]) -> None:
        """List all models in the database."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            providers = {each.id: each for each in await catalog.list_providers()}
            for info in await catalog.list_models():
                standing = _standing_of(info, providers.get(info.provider_id))
                window = f"{info.spec.context_limit} tokens"
                columns = (info.reference, standing, window, info.source.value, _prices_of(info))
                click.echo("\t".join(columns))

        run(environ, lambda settings: with_catalog(settings, work))

    _add_changes(models, run)
    return models


def _add_changes(group: click.Group, run: Run) -> None:
    @group.command()
    @click.argument("provider")
    @click.argument("model")
    @click.option("--context-limit", type=int, required=True, help="Its window in tokens.")
    @click.option("--display-name", help="What people know it by.")
    @click.option("--compaction-threshold", type=int, help="Percent of the window; 100 is never.")
    @click.option("--max-output-tokens", type=int)
    @click.option("--temperature", type=float)
    @click.option("--accepts", help="Files that it reads itself: image, pdf; with commas.")
    @click.option("--input-price", type=float, help="Per million tokens, like those below.")
    @click.option("--output-price", type=float)
    @click.option("--cache-read-price", type=float)
    @click.option("--cache-write-price", type=float)
    @click.option("--options", metavar="JSON", help="Further fields of the request.")
    @click.option("--default", "is_default", is_flag=True, help="Make it the default.")
    @click.pass_obj
    def add(environ: dict[str, str], /, *, provider: str, model: str, **given: Any) -> None:
        """Add a MODEL, by the name that the PROVIDER knows it by."""
        fields = _fields_of(given)

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            info = made(await catalog.create_model(provider, {"name": model, **fields}))
            is_default = " It is the default." if info.spec.is_default else ""
            click.echo(f"The model {info.reference} is there.{is_default}")

        run(environ, lambda settings: with_catalog(settings, work))

    @group.command("set-default")
    @click.argument("reference")
    @click.pass_obj
    def set_default(environ: dict[str, str], *, reference: str) -> None:
        """Make REFERENCE (provider:model) the one that answers where nobody says which."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            info = await _find(catalog, reference)
            made(await catalog.update_model(info.id, {"is_default": True}), _MEND)
            click.echo(f"The model {reference} is the default.")

        run(environ, lambda settings: with_catalog(settings, work))

    for verb, wanted in (("enable", True), ("disable", False)):
        _add_switch(group, run, verb, wanted=wanted)

    @group.command()
    @click.argument("reference")
    @yes_option
    @click.pass_obj
    def remove(environ: dict[str, str], *, reference: str, yes: bool) -> None:
        """Remove the model REFERENCE (provider:model)."""

        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            info = await _find(catalog, reference)
            confirm(f"the model {reference}", yes=yes)
            made(await catalog.delete_model(info.id), _MEND)
            click.echo(f"The model {reference} is removed.")
            if info.spec.is_default:
                click.echo(await _new_default(catalog))

        run(environ, lambda settings: with_catalog(settings, work))


def _add_switch(group: click.Group, run: Run, verb: str, *, wanted: bool) -> None:
    done = f"{verb}d"

    @group.command(verb, help=f"{verb.capitalize()} the model REFERENCE (provider:model).")
    @click.argument("reference")
    @click.pass_obj
    def switch(environ: dict[str, str], *, reference: str) -> None:
        async def work(catalog: "Catalog", _vault: "Vault") -> None:
            info = await _find(catalog, reference)
            made(await catalog.update_model(info.id, {"enabled": wanted}), _MEND)
            click.echo(f"The model {reference} is {done}.")

        run(environ, lambda settings: with_catalog(settings, work))


async def _new_default(catalog: "Catalog") -> str:
    models = await catalog.list_models()
    heir = next((each.reference for each in models if each.spec.is_default), None)
    return f"The default is {heir} now." if heir else "No model is the default any more."


def _standing_of(info: "ModelInfo", provider: "ProviderInfo | None") -> str:
    if not info.spec.enabled:
        return "disabled"
    if not info.spec.is_default:
        return "enabled"
    why = None if provider is None else _why_silent(provider)
    return f"default, cannot answer: {why}" if why else "default"


def _why_silent(provider: "ProviderInfo") -> str | None:
    """Why nobody can be answered by this provider's models; people's own keys may be there."""
    spec = provider.spec
    if not spec.enabled:
        return f"the provider {spec.name} is disabled"
    has_key = provider.has_key or spec.options.get("needs_key", True) is False
    if spec.user_key_allowed or (spec.central_key_enabled and has_key):
        return None
    return f"the provider {spec.name} has no key"


def _prices_of(info: "ModelInfo") -> str:
    spec = info.spec
    if spec.input_price is None or spec.output_price is None:
        return "no price"
    prices = {"in": spec.input_price, "out": spec.output_price}
    prices |= {
        name: price
        for name, price in (
            ("cache read", spec.cache_read_price),
            ("cache write", spec.cache_write_price),
        )
        if price is not None
    }
    return ", ".join(f"{name} {price.normalize():f}" for name, price in prices.items())


async def _find(catalog: "Catalog", reference: str) -> "ModelInfo":
    for info in await catalog.list_models():
        if info.reference == reference:
            return info
    raise OperatorError(f"there is no model {reference}", mend=_MEND)


def _fields_of(given: dict[str, Any]) -> dict[str, Any]:
    # By identity: 0 equals False, and a price or temperature of 0 says something.
    fields = {
        name: value for name, value in given.items() if value is not None and value is not False
    }
    if "accepts" in fields:
        fields["accepts"] = [kind.strip() for kind in fields["accepts"].split(",")]
    if "options" in fields:
        fields["options"] = _object_of(fields["options"])
    return fields


def _object_of(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"--options is not JSON: {error}") from error
