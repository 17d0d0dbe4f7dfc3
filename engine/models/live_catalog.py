"""The catalogue as this process knows it: read again only when the configuration has changed.

A change anywhere is seen within two seconds; a turn costs no statement otherwise. While the database is
away, what is in memory goes on being used. What the settings make is always there, unless the database has
a provider of that name; the default of the database wins over theirs.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from config.secret import Secret
from engine.models.catalog import Choice, ModelCatalog, OfferedModel, OfferedProvider
from engine.models.cost import Prices
from engine.models.key_policy import KeyPolicy, Unavailable, UnavailableReason, choose_key
from engine.models.provider import ProviderConfig, Wire
from engine.store.catalog import Catalog
from engine.store.catalog_entries import ModelInfo, ProviderInfo
from engine.store.catalog_secrets import ProviderSecrets
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import StoreError

log = logging.getLogger(__name__)

READ_SECONDS: Final = 5.0
"""How long a turn waits for the database before it goes on with what is in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that may be asked for, and whether it would answer this person."""

    choice: Choice
    is_default: bool
    why_not: UnavailableReason | None = None


class LiveCatalog:
    """One for all of a process."""

    def __init__(
        self,
        store: Catalog,
        configuration: ConfigurationVersion,
        settled: Sequence[OfferedProvider] = (),
    ) -> None:
        """`settled`: the providers that are made from the settings."""
        self._store = store
        self._configuration = configuration
        self._settled = tuple(settled)
        self._catalog: ModelCatalog | None = None
        self._version = -1
        self._loading = asyncio.Lock()

    async def current(self) -> ModelCatalog:
        """The catalogue: the same object as long as nothing has changed.

        Raises StoreUnavailable only where nothing was ever read.
        """
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._fresh()
        except (StoreError, TimeoutError) as error:
            if self._catalog is None:
                raise
            extra = {"action": "catalog_stale", "error": type(error).__name__}
            log.warning("The models in memory are used; the database is away.", extra=extra)
            return self._catalog

    async def user_key(self, provider: OfferedProvider, identity: str | None) -> Secret | None:
        """Somebody's own key for a provider that allows them; read each time, and kept nowhere."""
        if provider.id is None or identity is None or not provider.policy.user_key_allowed:
            return None
        return await self._store.read_user_key(provider.id, identity)

    async def choices(self, identity: str) -> Sequence[ModelChoice]:
        """What this person may ask for, with the reason where it would not be answered."""
        catalog = await self.current()
        theirs = await self._store.providers_with_key_of(identity)
        default = catalog.default
        return [
            ModelChoice(
                choice=choice,
                is_default=default is not None and choice.reference == default.reference,
                why_not=_why_not(choice, theirs),
            )
            for choice in catalog.choices()
        ]

    async def _fresh(self) -> ModelCatalog:
        version = await self._configuration.current()
        if self._catalog is None or version != self._version:
            async with self._loading:
                if self._catalog is None or version != self._version:
                    # What is read after the version is at least as new.
                    self._catalog = await self._load()
                    self._version = version
        return self._catalog

    async def _load(self) -> ModelCatalog:
        providers = await self._store.list_providers()
        models = await self._store.list_models()
        secrets = await self._store.read_secrets() if providers else {}
        stored = [
            _offered(provider, models, secrets.get(provider.id, ProviderSecrets()))
            for provider in providers
        ]
        for provider in stored:
            if provider.fault:
                extra = {
                    "action": "secret_unreadable",
                    "provider": provider.name,
                    "reason": provider.fault,
                }
                log.error("The key of a provider cannot be read.", extra=extra)
        return catalog_of(stored, self._settled)


def catalog_of(
    stored: Sequence[OfferedProvider], settled: Sequence[OfferedProvider]
) -> ModelCatalog:
    """What is stored, then what is settled; one default, the stored one where there is one.

    A stored provider without models that has the name of a settled one has the models of that one.
    """
    by_name = {provider.name: provider for provider in settled}
    stored = [
        replace(
            provider, models=by_name[provider.name].models, template=by_name[provider.name].template
        )
        if not provider.models and provider.name in by_name
        else provider
        for provider in stored
    ]
    if any(model.is_default and model.id for provider in stored for model in provider.models):
        stored = [_without_settled_default(provider) for provider in stored]
        settled = [_without_settled_default(provider) for provider in settled]
    return ModelCatalog((*stored, *settled))


def _without_settled_default(provider: OfferedProvider) -> OfferedProvider:
    models = (model if model.id else replace(model, is_default=False) for model in provider.models)
    return replace(provider, models=tuple(models))


def _why_not(choice: Choice, with_own_key: frozenset[UUID]) -> UnavailableReason | None:
    if not choice.model.is_enabled:
        return UnavailableReason.PROVIDER_DISABLED
    provider = choice.provider
    outcome = choose_key(provider.policy, has_user_key=provider.id in with_own_key)
    return outcome.reason if isinstance(outcome, Unavailable) else None


def _offered(
    provider: ProviderInfo, models: Iterable[ModelInfo], secrets: ProviderSecrets
) -> OfferedProvider:
    spec = provider.spec
    options: Mapping[str, object] = spec.options
    needs_key = options.get("needs_key", True) is True
    known = {name: value for name, value in options.items() if name != "needs_key"}
    config = ProviderConfig(
        name=spec.name,
        base_url=spec.base_url,
        wire=Wire(spec.wire),
        display_name=spec.display_name,
        api_key=secrets.api_key,
        needs_key=needs_key,
        headers=secrets.headers or {},
        **known,  # type: ignore[arg-type]  # checked before it was stored
    )
    policy = KeyPolicy(
        is_enabled=spec.enabled,
        central_key_enabled=spec.central_key_enabled,
        user_key_allowed=spec.user_key_allowed,
        central_key_fallback=spec.central_key_fallback,
        has_central_key=secrets.api_key is not None,
        needs_key=needs_key,
    )
    return OfferedProvider(
        config=config,
        policy=policy,
        id=provider.id,
        models=tuple(_model(model) for model in models if model.provider_id == provider.id),
        fault=str(secrets.fault) if secrets.fault else "",
    )


def _model(model: ModelInfo) -> OfferedModel:
    spec = model.spec
    prices = Prices(
        input=spec.input_price,
        output=spec.output_price,
        cache_read=spec.cache_read_price,
        cache_write=spec.cache_write_price,
    )
    return OfferedModel(
        name=spec.name,
        id=model.id,
        display_name=spec.display_name,
        is_enabled=spec.enabled,
        is_default=spec.is_default,
        context_limit=spec.context_limit,
        compaction_threshold=spec.compaction_threshold,
        max_output_tokens=spec.max_output_tokens,
        temperature=spec.temperature,
        accepts=frozenset(spec.accepts),
        options=spec.options,
        prices=None if prices == Prices() else prices,
    )
