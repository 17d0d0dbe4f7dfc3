"""Checks of what the database holds of providers, and of the models that bots ask for. Nothing is changed."""

import asyncio
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
    try:
        url = settings.database.url.reveal()
        pool = await open_pool(url, connections_min=1, connections_max=1, wait_seconds=0.0)
    except DatabaseUnavailable:
        return []
    try:
        catalog = None if await pending(pool) else await _read(settings, pool)
    except StoreError:
        return []
    finally:
        await pool.close()
    if catalog is None:
        return []
    turns = asyncio.Semaphore(_AT_ONCE)
    stored = [each for each in catalog.providers.values() if each.id and each.policy.is_enabled]
    async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
        found = await asyncio.gather(*(_check(client, turns, provider) for provider in stored))
    return [*found, *_bots(settings, catalog)]


async def _read(settings: Settings, pool: Pool) -> ModelCatalog:
    store = Catalog(pool, Vault(settings.secret_key, settings.secret_key_previous))
    live = LiveCatalog(store, ConfigurationVersion(pool), settled_providers(settings))
    return await live.current()


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
