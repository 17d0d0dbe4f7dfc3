"""The secrets of stored providers, opened for whoever asks their models."""

from collections.abc import Mapping
from dataclasses import dataclass

from config.secret import Secret
from engine.store.catalog_rows import headers_place, key_place
from engine.store.errors import StoreError
from engine.store.pool import Row
from engine.store.stored_json import decode_json
from engine.store.vault import Sealed, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSecrets:
    """A provider's secrets. `fault`: why some could not be opened."""

    api_key: Secret | None = None
    headers: Mapping[str, str] | None = None
    fault: StoreError | None = None


def opened_secrets(vault: Vault, row: Row) -> ProviderSecrets:
    """The secrets of a row, as far as they can be opened."""
    key, headers, fault = None, None, None
    try:
        if row["api_key"] is not None:
            sealed = Sealed(data=row["api_key"], key_id=row["api_key_id"])
            key = Secret(vault.open(sealed, key_place(row["id"])))
        if row["headers"] is not None:
            sealed = Sealed(data=row["headers"], key_id=row["headers_key_id"])
            headers = decode_json(vault.open(sealed, headers_place(row["id"])).encode())
    except StoreError as error:
        fault = error
    return ProviderSecrets(api_key=key, headers=headers, fault=fault)
