"""Changes of providers and models within one transaction, under the lock of the catalogue.

Whoever changes something gets the entries from `Catalog.entries`; what is wrong is a Rejection, and then
the transaction is to be given up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from engine.store.catalog_checks import (
    flaws_of_headers,
    flaws_of_key,
    read_model,
    read_provider,
)
from engine.store.catalog_entries import (
    Flaw,
    ModelInfo,
    ModelSpec,
    ProviderInfo,
    Rejection,
    Source,
    conflict,
    invalid,
)
from engine.store.catalog_rows import (
    headers_place,
    key_place,
    model_of,
    model_values,
    provider_of,
    provider_values,
)
from engine.store.catalog_secrets import ProviderSecrets, opened_secrets
from engine.store.errors import StoreError
from engine.store.pool import Row, Transaction
from engine.store.queries import query
from engine.store.stored_json import encode_json, encode_text
from engine.store.vault import Sealed, Vault

Fields = Mapping[str, Any]
"""What is to be set, as raw JSON values."""


class Entries:
    """The catalogue within one transaction, under its lock. Only `Catalog.entries` makes one."""

    def __init__(self, transaction: Transaction, vault: Vault) -> None:
        self._transaction = transaction
        self._vault = vault
        self.is_void = False

    def give_up(self) -> None:
        """Change nothing after all."""
        self.is_void = True
        self._transaction.give_up()

    async def keep_a_default(self) -> None:
        """Make another model the default where there is none any more."""
        heir = await self._transaction.fetch_one(query("catalog.find_heir"))
        if heir is not None:
            await self.execute("catalog.promote", heir["id"])

    async def execute(self, name: str, *args: object) -> int:
        """Run a query of the catalogue; the number of rows that it changed."""
        return await self._transaction.execute(query(name), *args)

    async def fetch(self, name: str, *args: object) -> list[Row]:
        """The rows of a query of the catalogue."""
        return await self._transaction.fetch(query(name), *args)

    async def provider(self, name: str) -> ProviderInfo | None:
        """The provider of this name."""
        row = await self._transaction.fetch_one(query("catalog.find_provider"), encode_text(name))
        return None if row is None else provider_of(row)

    async def model(self, model_id: UUID) -> ModelInfo | None:
        """The model with this id."""
        row = await self._transaction.fetch_one(query("catalog.find_model"), model_id)
        return None if row is None else model_of(row)

    async def add_provider(self, fields: Fields, source: Source) -> ProviderInfo | Rejection:
        """Add a provider with its secrets. Raises SecretKeyMissing."""
        plain, flaws = _without_secrets(fields)
        spec = read_provider(plain)
        if isinstance(spec, Rejection):
            return invalid((*spec.flaws, *flaws))
        if flaws:
            return invalid(flaws)
        provider_id = uuid4()
        values = (provider_id, *provider_values(spec), source.value)
        if not await self.execute("catalog.insert_provider", *values):
            return conflict(f"there is a provider {spec.name} already")
        await self._set_secrets(provider_id, fields)
        return await self._known(spec.name)

    async def change_provider(
        self, found: ProviderInfo, fields: Fields
    ) -> ProviderInfo | Rejection:
        """Change a provider and, where they are given, its secrets. Raises SecretKeyMissing."""
        plain, flaws = _without_secrets(fields)
        spec = read_provider(plain, found.spec)
        if isinstance(spec, Rejection):
            return invalid((*spec.flaws, *flaws))
        if flaws:
            return invalid(flaws)
        if spec.name != found.spec.name and await self.provider(spec.name):
            return conflict(f"there is a provider {spec.name} already")
        if spec != found.spec:
            await self.execute("catalog.update_provider", found.id, *provider_values(spec))
        await self._set_secrets(found.id, fields)
        return await self._known(spec.name)

    async def add_model(
        self, provider: ProviderInfo, fields: Fields, source: Source
    ) -> ModelInfo | Rejection:
        """Add a model."""
        spec = read_model(fields)
        if isinstance(spec, Rejection):
            return spec
        model_id = uuid4()
        if spec.is_default:
            await self.execute("catalog.clear_default", model_id)
        values = (model_id, provider.id, *model_values(spec), source.value)
        if not await self.execute("catalog.insert_model", *values):
            return conflict(f"there is a model {provider.spec.name}:{spec.name} already")
        # Now and not at the end: of several that are added together the first becomes it.
        await self.keep_a_default()
        return await self._known_model(model_id)

    async def change_model(self, found: ModelInfo, fields: Fields) -> ModelInfo | Rejection:
        """Change a model."""
        spec = read_model(fields, found.spec)
        if isinstance(spec, Rejection):
            return spec
        if spec.name != found.spec.name and await self._is_taken(found, spec.name):
            return conflict(f"there is a model {found.provider}:{spec.name} already")
        if spec.is_default and not found.spec.is_default:
            provider = await self.provider(found.provider)
            if provider is not None and not provider.spec.enabled:
                detail = f"cannot be true while its provider {found.provider} is disabled"
                return invalid((Flaw(field="is_default", detail=f"{detail}; enable that first"),))
        return await self._store_model(found, spec)

    async def reset_model(self, found: ModelInfo, fields: Fields) -> ModelInfo | Rejection:
        """Make a model what the fields say alone. The default stays one unless another is made it."""
        spec = read_model(fields)
        if isinstance(spec, Rejection):
            return spec
        is_default = spec.enabled and (spec.is_default or found.spec.is_default)
        return await self._store_model(found, replace(spec, is_default=is_default))

    async def models(self) -> Sequence[ModelInfo]:
        """All models."""
        return [model_of(row) for row in await self.fetch("catalog.list_models")]

    async def providers(self) -> Sequence[ProviderInfo]:
        """All providers."""
        return [provider_of(row) for row in await self.fetch("catalog.list_providers")]

    async def secrets(self, provider_id: UUID) -> ProviderSecrets:
        """A provider's secrets, opened."""
        for row in await self.fetch("catalog.list_sealed"):
            if row["id"] == provider_id:
                return opened_secrets(self._vault, row)
        return ProviderSecrets()

    async def _store_model(self, found: ModelInfo, spec: ModelSpec) -> ModelInfo:
        if spec == found.spec:
            return found
        if spec.is_default:
            await self.execute("catalog.clear_default", found.id)
        await self.execute("catalog.update_model", found.id, *model_values(spec))
        return await self._known_model(found.id)

    async def _is_taken(self, found: ModelInfo, name: str) -> bool:
        return any(
            model.provider_id == found.provider_id and model.spec.name == name
            for model in await self.models()
        )

    async def _set_secrets(self, provider_id: UUID, fields: Fields) -> None:
        if "api_key" in fields:
            key = fields["api_key"]
            sealed = None if key is None else self._vault.seal(key.strip(), key_place(provider_id))
            await self.execute("catalog.set_provider_key", provider_id, *_columns(sealed))
        if "headers" in fields:
            # No headers are stored as none.
            text = encode_json(fields["headers"]).decode() if fields["headers"] else None
            sealed = None if text is None else self._vault.seal(text, headers_place(provider_id))
            await self.execute("catalog.set_provider_headers", provider_id, *_columns(sealed))

    async def _known(self, name: str) -> ProviderInfo:
        found = await self.provider(name)
        if found is None:
            raise StoreError("the provider was not stored")
        return found

    async def _known_model(self, model_id: UUID) -> ModelInfo:
        found = await self.model(model_id)
        if found is None:
            raise StoreError("the model was not stored")
        return found


def _without_secrets(fields: Fields) -> tuple[Fields, tuple[Flaw, ...]]:
    """The fields but for the secrets, and what is wrong with those."""
    flaws: tuple[Flaw, ...] = ()
    if fields.get("api_key") is not None:
        flaws += flaws_of_key(fields["api_key"])
    if fields.get("headers") is not None:
        flaws += flaws_of_headers(fields["headers"])
    plain = {name: value for name, value in fields.items() if name not in ("api_key", "headers")}
    return plain, flaws


def _columns(sealed: Sealed | None) -> tuple[bytes | None, str | None]:
    return (None, None) if sealed is None else (sealed.data, sealed.key_id)
