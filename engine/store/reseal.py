"""Seals anew, with the key of today, what a former key has sealed; in batches, while replicas run.

Idempotent: what is sealed by today's key is left alone. What cannot be opened is left as it is, and told.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from uuid import UUID

from engine.store.catalog import Catalog
from engine.store.catalog_changes import Entries
from engine.store.catalog_rows import headers_place, key_place, user_key_place
from engine.store.errors import SealBroken, SecretKeyMissing, SecretKeyUnknown
from engine.store.installations import columns_of, refresh_place, sealed_of, token_place
from engine.store.pool import Row
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
    for kind in (
        _Kind("catalog.providers_sealed_otherwise", ("id",), (_FIRST,), work.reseal_provider),
        _Kind(
            "catalog.user_keys_sealed_otherwise",
            ("provider_id", "identity"),
            (_FIRST, ""),
            work.reseal_user_key,
        ),
        _Kind(
            "installations.sealed_otherwise",
            ("platform", "installation"),
            ("", ""),
            work.reseal_installation,
        ),
    ):
        await _reseal_all(catalog, kind, work.key_id, batch)
    return work.done


class _Kind(NamedTuple):
    """One table: the query of its rows after a place, the columns of that place, where it begins."""

    query: str
    columns: tuple[str, ...]
    first: tuple[object, ...]
    reseal: Callable[[Entries, Row], Awaitable[None]]


async def _reseal_all(catalog: Catalog, kind: _Kind, key_id: str, batch: int) -> None:
    place = kind.first
    while True:
        async with catalog.entries() as entries:
            rows = await entries.fetch(kind.query, key_id, *place, batch)
            for row in rows:
                await kind.reseal(entries, row)
        if len(rows) < batch:
            return
        place = tuple(rows[-1][column] for column in kind.columns)


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

    async def reseal_installation(self, entries: Entries, row: Row) -> None:
        """Seal both tokens of an installed app anew, each as far as it can be opened."""
        names = (row["platform"], decode_text(row["installation"]))
        token, refresh = sealed_of(row)
        if token.key_id != self.key_id:
            token = self._anew(token, token_place(*names)) or token
        if refresh is not None and refresh.key_id != self.key_id:
            refresh = self._anew(refresh, refresh_place(*names)) or refresh
        await entries.execute(
            "installations.reseal",
            row["platform"],
            row["installation"],
            *columns_of(token, refresh),
        )

    def _anew(self, former: Sealed, place: tuple[str, ...]) -> Sealed | None:
        try:
            text = self._vault.open(former, place)
        except (SecretKeyUnknown, SealBroken):
            self.done.unopened[former.key_id] = self.done.unopened.get(former.key_id, 0) + 1
            return None
        self.done.secrets += 1
        return self._vault.seal(text, place)
