"""Checks of what the database holds of providers, and of the models that bots ask for. Nothing is changed."""

import asyncio
from collections.abc import Sequence
from typing import Final

import httpx

from bots.bot_models import unanswered_bots
from bots.catalog import load_bots
from bots.finding import Finding, fail, ok, warn
from bots.settled_models import settled_providers
from config.address import masked_address
from config.settings import Settings
from engine.models.catalog import ModelCatalog, OfferedProvider
from engine.models.key_policy import Unavailable, UnavailableReason, choose_key
from engine.models.live_catalog import LiveCatalog
from engine.models.provider import ProviderConfig, Wire
from engine.models.wires import wire_of
from engine.store.catalog import Catalog
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import DatabaseUnavailable, StoreError
from engine.store.migrate import pending
from engine.store.pool import Pool, open_pool
from engine.store.vault import Vault

_TIMEOUT_SECONDS: Final = 10.0
_AT_ONCE: Final = 8
"""Providers that are asked at a time."""
_CHECK: Final = "provider"


async def check_providers(settings: Settings) -> list[Finding]:
    """Check each enabled provider of the database, and the models that the bots' files name.

    Where there is no database, or one that the check of the database complains of, nothing is said.
    """
    if settings.database.url is None:
        return []
    stored = await _read_stored(settings, settings.database.url.reveal())
    if stored is None:
        return []
    catalog, sealed = stored
    turns = asyncio.Semaphore(_AT_ONCE)
    enabled = [each for each in catalog.providers.values() if each.id and each.policy.is_enabled]
    async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
        found = await asyncio.gather(*(_check(client, turns, provider) for provider in enabled))
    return [*_default(catalog), *found, *sealed, *_bots(settings, catalog)]


async def _read_stored(
    settings: Settings, url: str
) -> tuple[ModelCatalog, Sequence[Finding]] | None:
    """What is stored, and what of it cannot be opened. None where there is nothing to read it from."""
    try:
        pool = await open_pool(url, connections_min=1, connections_max=1, wait_seconds=0.0)
    except DatabaseUnavailable:
        return None
    try:
        return None if await pending(pool) else await _read(settings, pool)
    except StoreError:
        return None
    finally:
        await pool.close()


async def _read(settings: Settings, pool: Pool) -> tuple[ModelCatalog, Sequence[Finding]]:
    vault = Vault(settings.secret_key, settings.secret_key_previous)
    store = Catalog(pool, vault)
    live = LiveCatalog(store, ConfigurationVersion(pool), settled_providers(settings))
    return await live.current(), await _sealed(store, vault)


async def _sealed(store: Catalog, vault: Vault) -> list[Finding]:
    """What the present secret keys cannot open."""
    providers = await store.list_providers()
    of_providers = [each for info in providers for each in (info.key_id, info.headers_key_id)]
    of_people = [each.key_id for each in await store.list_user_keys()]
    counts = [
        sum(each is not None and not vault.knows(each) for each in key_ids)
        for key_ids in (of_providers, of_people)
    ]
    if not any(counts):
        return []
    wanted = {each for each in (*of_providers, *of_people) if each and not vault.knows(each)}
    message = (
        f"{counts[0]} secrets of providers and {counts[1]} keys of people cannot be opened; "
        f"they were sealed by {', '.join(sorted(wanted))}"
    )
    mend = "set THREADWRIGHT_SECRET_KEY or THREADWRIGHT_SECRET_KEY_PREVIOUS as it was, or store them anew"
    return [fail("sealed keys", message, mend=mend)]


def _default(catalog: ModelCatalog) -> list[Finding]:
    """What answers where nobody says which model, if the database says so."""
    default = catalog.default
    if default is None or default.model.id is None:
        return []
    if not default.provider.policy.is_enabled:
        mend = "name another by `threadwright models set-default`, or enable its provider"
        message = f"{default.reference} cannot answer: its provider is disabled"
        return [fail("default model", message, mend=mend)]
    return [ok("default model", f"{default.reference} answers where nobody says which")]


async def stored_default(settings: Settings) -> str | None:
    """The default of the database, which goes before that of the settings; None: there is none."""
    if settings.database.url is None:
        return None
    stored = await _read_stored(settings, settings.database.url.reveal())
    default = stored[0].default if stored else None
    return default.reference if default is not None and default.model.id is not None else None


def _bots(settings: Settings, catalog: ModelCatalog) -> list[Finding]:
    unanswered = unanswered_bots(catalog, load_bots(settings.bots_dir).values())
    mend = "mend [model] in its bot.toml, or see `threadwright models list`"
    return [warn("bot model", f"{bot}: {why}", mend=mend) for bot, why in unanswered]


async def _check(
    client: httpx.AsyncClient, turns: asyncio.Semaphore, provider: OfferedProvider
) -> Finding:
    name = provider.name
    choice = choose_key(provider.policy, has_user_key=False)
    if provider.fault:
        mend = "set THREADWRIGHT_SECRET_KEY as it was, or the key anew: `threadwright providers set-key`"
        return fail(_CHECK, f"{name}: its key cannot be read: {provider.fault}", mend=mend)
    if isinstance(choice, Unavailable):
        if choice.reason is UnavailableReason.USER_API_KEY_REQUIRED:
            return ok(_CHECK, f"{name}: asked with people's own keys")
        mend = f"run `threadwright providers set-key {name}`"
        return fail(_CHECK, f"{name}: no key is set", mend=mend)
    try:
        async with turns:
            answer = await client.get(
                _list_address(provider.config), headers=_headers(provider.config)
            )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        shown = masked_address(provider.config.base_url)
        mend = "check its address, the network and the proxy"
        return fail(_CHECK, f"{name}: no answer from {shown} ({type(error).__name__})", mend=mend)
    return _finding(provider, answer)


def _list_address(config: ProviderConfig) -> str:
    """Where models are listed. Addresses for Anthropic are written with the version and without."""
    base = config.base_url.rstrip("/")
    is_unversioned = config.wire is Wire.ANTHROPIC and not base.endswith("/v1")
    return f"{base}/v1/models" if is_unversioned else f"{base}/models"


def _headers(config: ProviderConfig) -> dict[str, str]:
    key = config.api_key.reveal().strip() if config.api_key else ""
    return {**wire_of(config).headers(key), **config.headers}


def _finding(provider: OfferedProvider, answer: httpx.Response) -> Finding:
    name, status = provider.name, answer.status_code
    if status in {401, 403}:
        what = "does not take the key" if provider.config.api_key else "wants a key"
        mend = f"run `threadwright providers set-key {name}`"
        return fail(_CHECK, f"{name}: {what} ({status})", mend=mend)
    if status == 404:
        mend = f"try it out by `threadwright providers test {name}`; some servers list no models"
        return warn(_CHECK, f"{name}: lists no models", mend=mend)
    if not answer.is_success:
        mend = "try again later, or look at the provider's status page"
        return fail(_CHECK, f"{name}: answered {status}", mend=mend)
    wanted = [model.name for model in provider.models if model.is_enabled]
    if not wanted:
        return warn(_CHECK, f"{name}: has no model", mend="see `threadwright models add`")
    if missing := [model for model in wanted if f'"{model}"' not in answer.text]:
        mend = "see `threadwright models list`, and disable those that there are not any more"
        return warn(_CHECK, f"{name}: does not list {', '.join(missing)}", mend=mend)
    return ok(_CHECK, f"{name}: {', '.join(wanted)}")
