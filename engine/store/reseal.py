"""Seals anew, with the key of today, what a former key has sealed; in batches, while replicas run.

Idempotent: what is sealed by today's key is left alone. What cannot be opened is left as it is, and told.
"""

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from engine.store.catalog import Catalog
from engine.store.catalog_changes import Entries
from engine.store.catalog_rows import headers_place, key_place, user_key_place
from engine.store.errors import SealBroken, SecretKeyMissing, SecretKeyUnknown
from engine.store.stored_json import decode_text
from engine.store.vault import Sealed, Vault

BATCH: Final = 100
_FIRST: Final = UUID(int=0)
_PROVIDER_SECRETS: Final = (
    (key_place, "api_key", "api_key_id", "catalog.set_provider_key"),
    (headers_place, "headers", "headers_key_id", "catalog.set_provider_headers"),
)


@dataclass(slots=True, kw_only=True)
class Resealed:
    """What was done. `unopened`: secrets left as they were, counted by the key that they want."""

    secrets: int = 0
    unopened: dict[str, int] = field(default_factory=dict)


async def reseal(catalog: Catalog, vault: Vault, *, batch: int = BATCH) -> Resealed:
    """Seal anew everything that another key has sealed. Raises SecretKeyMissing."""
    if vault.key_id is None:
        raise SecretKeyMissing
    work = _Work(vault, vault.key_id)
    after = _FIRST
    while True:
        async with catalog.entries() as entries:
            rows = await entries.fetch(
                "catalog.providers_sealed_otherwise", work.key_id, after, batch
            )
            for row in rows:
                await work.reseal_provider(entries, row)
        if len(rows) < batch:
            break
        after = rows[-1]["id"]
    place: tuple[UUID, str] = (_FIRST, "")
    while True:
        async with catalog.entries() as entries:
            rows = await entries.fetch(
                "catalog.user_keys_sealed_otherwise", work.key_id, *place, batch
            )
            for row in rows:
                await work.reseal_user_key(entries, row)
        if len(rows) < batch:
            return work.done
        place = (rows[-1]["provider_id"], rows[-1]["identity"])


class _Work:
    """One rotation."""

    def __init__(self, vault: Vault, key_id: str) -> None:
        self._vault = vault
        self.key_id = key_id
        self.done = Resealed()

    async def reseal_provider(self, entries: Entries, row: Any) -> None:
        """Seal a provider's key and headers anew, each as far as it can be opened."""
        for place, column, key_id_column, store in _PROVIDER_SECRETS:
            data, key_id = row[column], row[key_id_column]
            if data is None or key_id == self.key_id:
                continue
            sealed = self._anew(Sealed(data=data, key_id=key_id), place(row["id"]))
            if sealed is not None:
                await entries.execute(store, row["id"], sealed.data, sealed.key_id)

    async def reseal_user_key(self, entries: Entries, row: Any) -> None:
        """Seal somebody's key anew."""
        provider_id, identity = row["provider_id"], row["identity"]
        former = Sealed(data=row["api_key"], key_id=row["api_key_id"])
        sealed = self._anew(former, user_key_place(provider_id, decode_text(identity)))
        if sealed is not None:
            values = (provider_id, identity, sealed.data, sealed.key_id, former.key_id)
            await entries.execute("catalog.reseal_user_key", *values)

    def _anew(self, former: Sealed, place: tuple[str, ...]) -> Sealed | None:
        try:
            text = self._vault.open(former, place)
        except (SecretKeyUnknown, SealBroken):
            self.done.unopened[former.key_id] = self.done.unopened.get(former.key_id, 0) + 1
            return None
        self.done.secrets += 1
        return self._vault.seal(text, place)
