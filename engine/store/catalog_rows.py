"""Rows of the catalogue: how providers and models are written, and come back."""

from typing import Final
from uuid import UUID

from engine.store.catalog_entries import (
    ModelInfo,
    ModelSpec,
    ProviderInfo,
    ProviderSpec,
    Source,
    UserKeyInfo,
)
from engine.store.pool import Row
from engine.store.stored_json import decode_json, decode_text, encode_json, encode_text

LOCK_KEY: Final = 0x7457_6361_7461_6C6F
"""Of the advisory lock under which the catalogue is changed."""


def provider_of(row: Row) -> ProviderInfo:
    """A stored provider, without its secrets."""
    spec = ProviderSpec(
        name=row["name"],
        wire=row["wire"],
        base_url=decode_text(row["base_url"]),
        display_name=decode_text(row["display_name"]),
        enabled=row["enabled"],
        central_key_enabled=row["central_key_enabled"],
        user_key_allowed=row["user_key_allowed"],
        central_key_fallback=row["central_key_fallback"],
        options=decode_json(row["options"]),
    )
    return ProviderInfo(
        id=row["id"],
        spec=spec,
        source=Source(row["source"]),
        key_id=row["api_key_id"],
        headers_key_id=row["headers_key_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def provider_values(spec: ProviderSpec) -> tuple[object, ...]:
    """A provider's columns, in the order of the queries."""
    return (
        spec.name,
        spec.wire,
        encode_text(spec.display_name),
        encode_text(spec.base_url),
        spec.enabled,
        spec.central_key_enabled,
        spec.user_key_allowed,
        spec.central_key_fallback,
        encode_json(spec.options),
    )


def model_of(row: Row) -> ModelInfo:
    """A stored model."""
    spec = ModelSpec(
        name=decode_text(row["name"]),
        display_name=decode_text(row["display_name"]),
        enabled=row["enabled"],
        is_default=row["is_default"],
        context_limit=row["context_limit"],
        compaction_threshold=row["compaction_threshold"],
        max_output_tokens=row["max_output_tokens"],
        temperature=row["temperature"],
        accepts=tuple(row["accepts"]),
        options=decode_json(row["options"]),
        input_price=row["input_price"],
        output_price=row["output_price"],
        cache_read_price=row["cache_read_price"],
        cache_write_price=row["cache_write_price"],
    )
    return ModelInfo(
        id=row["id"],
        provider_id=row["provider_id"],
        provider=row["provider"],
        spec=spec,
        source=Source(row["source"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def model_values(spec: ModelSpec) -> tuple[object, ...]:
    """A model's columns, in the order of the queries."""
    return (
        encode_text(spec.name),
        encode_text(spec.display_name),
        spec.enabled,
        spec.is_default,
        spec.context_limit,
        spec.compaction_threshold,
        spec.max_output_tokens,
        spec.temperature,
        list(spec.accepts),
        encode_json(spec.options),
        spec.input_price,
        spec.output_price,
        spec.cache_read_price,
        spec.cache_write_price,
    )


def user_key_of(row: Row) -> UserKeyInfo:
    """That somebody has a key of their own."""
    return UserKeyInfo(
        provider=row["provider"],
        identity=decode_text(row["identity"]),
        key_id=row["api_key_id"],
        created_at=row["created_at"],
    )


# -- where secrets are sealed for ------------------------------------------------------------------


def key_place(provider_id: UUID) -> tuple[str, ...]:
    """The place of a provider's central key."""
    return ("model_providers", str(provider_id), "api_key")


def headers_place(provider_id: UUID) -> tuple[str, ...]:
    """The place of a provider's headers."""
    return ("model_providers", str(provider_id), "headers")


def user_key_place(provider_id: UUID, identity: str) -> tuple[str, ...]:
    """The place of somebody's own key. `identity` as people spell it, not as it is stored."""
    return ("user_provider_keys", str(provider_id), identity, "api_key")
