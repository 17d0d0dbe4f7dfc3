"""The configured providers and models, and people's keys for them: all changes, all reads.

There is always one default model as long as one is enabled. A change is made under a lock, whole or not at
all, and what is wrong with it is a Rejection. Secrets are sealed before they are stored and given to nobody
but who asks the model (see `read_secrets`, `read_user_key`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

from config.secret import Secret
from engine.store.catalog_changes import Entries, Fields
from engine.store.catalog_checks import flaws_of_identity, flaws_of_key
from engine.store.catalog_entries import (
    NO_SECRET_KEY,
    Flaw,
    ModelInfo,
    ProviderInfo,
    Rejection,
    Source,
    UserKeyInfo,
    conflict,
    invalid,
    not_found,
)
from engine.store.catalog_rows import (
    LOCK_KEY,
    model_of,
    provider_of,
    user_key_of,
    user_key_place,
)
from engine.store.catalog_secrets import ProviderSecrets, opened_secrets
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import SecretKeyMissing
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import encode_text
from engine.store.vault import Sealed, Vault

T = TypeVar("T")
_IN_FILE = "is administered in the providers file; change it there"


class Catalog:
    """Keeps providers, models and people's keys. Methods raise StoreUnavailable."""

    def __init__(
        self,
        pool: Pool,
        vault: Vault | None = None,
        configuration: ConfigurationVersion | None = None,
    ) -> None:
        """Without a vault no secret can be stored or read. `configuration` is told of changes."""
        self._pool = pool
        self._vault = vault or Vault()
        self._configuration = configuration

    # -- reading ---------------------------------------------------------------------------------

    async def list_providers(self) -> Sequence[ProviderInfo]:
        """All providers by name."""
        return [provider_of(row) for row in await self._pool.fetch(query("catalog.list_providers"))]

    async def find_provider(self, name: str) -> ProviderInfo | None:
        """The provider of this name."""
        row = await self._pool.fetch_one(query("catalog.find_provider"), encode_text(name))
        return None if row is None else provider_of(row)

    async def list_models(self) -> Sequence[ModelInfo]:
        """All models, by provider and age."""
        return [model_of(row) for row in await self._pool.fetch(query("catalog.list_models"))]

    async def find_model(self, model_id: UUID) -> ModelInfo | None:
        """The model with this id."""
        row = await self._pool.fetch_one(query("catalog.find_model"), model_id)
        return None if row is None else model_of(row)

    async def read_secrets(self) -> Mapping[UUID, ProviderSecrets]:
        """The secrets of all providers, for whoever asks the models."""
        rows = await self._pool.fetch(query("catalog.list_sealed"))
        return {row["id"]: opened_secrets(self._vault, row) for row in rows}

    async def read_user_key(self, provider_id: UUID, identity: str) -> Secret | None:
        """Somebody's own key. Raises SecretKeyUnknown or SealBroken where it cannot be opened."""
        row = await self._pool.fetch_one(
            query("catalog.find_user_key"), provider_id, encode_text(identity)
        )
        if row is None:
            return None
        sealed = Sealed(data=row["api_key"], key_id=row["api_key_id"])
        return Secret(self._vault.open(sealed, user_key_place(provider_id, identity)))

    async def list_user_keys(self) -> Sequence[UserKeyInfo]:
        """Who has keys of their own, without the keys."""
        return [user_key_of(row) for row in await self._pool.fetch(query("catalog.list_user_keys"))]

    async def providers_with_key_of(self, identity: str) -> frozenset[UUID]:
        """The providers for which somebody has a key of their own."""
        rows = await self._pool.fetch(
            query("catalog.list_user_key_providers"), encode_text(identity)
        )
        return frozenset(row["provider_id"] for row in rows)

    # -- providers -------------------------------------------------------------------------------

    async def create_provider(self, fields: Fields) -> ProviderInfo | Rejection:
        """Add a provider; `api_key` and `headers` are sealed."""

        async def change(entries: Entries) -> ProviderInfo | Rejection:
            return await entries.add_provider(fields, Source.ADMIN)

        return await self._change(change)

    async def update_provider(self, name: str, fields: Fields) -> ProviderInfo | Rejection:
        """Change what is given. `api_key` or `headers` null takes them away."""

        async def change(entries: Entries) -> ProviderInfo | Rejection:
            found = await entries.provider(name)
            if found is None:
                return not_found(f"provider {name}")
            if found.source is Source.FILE:
                return conflict(f"the provider {name} {_IN_FILE}")
            return await entries.change_provider(found, fields)

        return await self._change(change)

    async def delete_provider(self, name: str) -> ProviderInfo | Rejection:
        """Remove a provider with its models and all keys for it."""

        async def change(entries: Entries) -> ProviderInfo | Rejection:
            found = await entries.provider(name)
            if found is None:
                return not_found(f"provider {name}")
            if found.source is Source.FILE:
                return conflict(f"the provider {name} {_IN_FILE}")
            await entries.execute("catalog.delete_provider", found.id)
            return found

        return await self._change(change)

    # -- models ----------------------------------------------------------------------------------

    async def create_model(self, provider: str, fields: Fields) -> ModelInfo | Rejection:
        """Add a model to a provider. The first one that is enabled becomes the default."""

        async def change(entries: Entries) -> ModelInfo | Rejection:
            found = await entries.provider(provider)
            if found is None:
                return invalid((Flaw(field="provider", detail="is not the name of a provider"),))
            return await entries.add_model(found, fields, Source.ADMIN)

        return await self._change_model(change)

    async def update_model(self, model_id: UUID, fields: Fields) -> ModelInfo | Rejection:
        """Change what is given. Making it the default clears the former one."""

        async def change(entries: Entries) -> ModelInfo | Rejection:
            found = await entries.model(model_id)
            if found is None:
                return not_found("model with this id")
            if found.source is Source.FILE and set(fields) - {"is_default"}:
                return conflict(f"the model {found.reference} {_IN_FILE}")
            return await entries.change_model(found, fields)

        return await self._change_model(change)

    async def delete_model(self, model_id: UUID) -> ModelInfo | Rejection:
        """Remove a model. Where it was the default another one becomes it."""

        async def change(entries: Entries) -> ModelInfo | Rejection:
            found = await entries.model(model_id)
            if found is None:
                return not_found("model with this id")
            if found.source is Source.FILE:
                return conflict(f"the model {found.reference} {_IN_FILE}")
            await entries.execute("catalog.delete_model", found.id)
            return found

        return await self._change(change)

    # -- people's keys ---------------------------------------------------------------------------

    async def set_user_key(self, provider: str, identity: str, key: str) -> Rejection | None:
        """Keep somebody's own key for a provider, in place of the one before."""
        if flaws := (*flaws_of_identity(identity), *flaws_of_key(key)):
            return invalid(flaws)

        async def change(entries: Entries) -> Rejection | None:
            found = await entries.provider(provider)
            if found is None:
                return not_found(f"provider {provider}")
            if not found.spec.user_key_allowed:
                return conflict(f"the provider {provider} takes no keys of people")
            sealed = self._vault.seal(key.strip(), user_key_place(found.id, identity))
            values = (found.id, encode_text(identity), sealed.data, sealed.key_id)
            await entries.execute("catalog.set_user_key", *values)
            return None

        return await self._change(change)

    async def delete_user_key(self, provider: str, identity: str) -> bool:
        """Forget somebody's key. False: there is none."""
        values = (encode_text(provider), encode_text(identity))
        is_gone = await self._pool.execute(query("catalog.delete_user_key"), *values) > 0
        self._forget()
        return is_gone

    # -- changing --------------------------------------------------------------------------------

    @asynccontextmanager
    async def entries(self) -> AsyncIterator[Entries]:
        """The entries under the lock of the catalogue, in one transaction with a default model."""
        async with self._pool.transaction() as transaction:
            await transaction.fetch_one(query("catalog.lock_catalog"), LOCK_KEY)
            entries = Entries(transaction, self._vault)
            yield entries
            if not entries.is_void:
                await entries.keep_a_default()
        self._forget()

    async def _change(self, change: Callable[[Entries], Awaitable[T]]) -> T | Rejection:
        """Make a change, or nothing where it is rejected."""
        try:
            async with self.entries() as entries:
                outcome = await change(entries)
                if isinstance(outcome, Rejection):
                    entries.give_up()
        except SecretKeyMissing:
            return NO_SECRET_KEY
        return outcome

    async def _change_model(
        self, change: Callable[[Entries], Awaitable[ModelInfo | Rejection]]
    ) -> ModelInfo | Rejection:
        """The model as it stands after the change, which may have made it the default."""
        outcome = await self._change(change)
        if isinstance(outcome, Rejection):
            return outcome
        return await self.find_model(outcome.id) or outcome

    def _forget(self) -> None:
        """This process need not wait until it looks at the version again."""
        if self._configuration is not None:
            self._configuration.forget()
