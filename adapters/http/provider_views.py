"""From the catalogue's values to the JSON of the API (pure). Secrets are shown as their presence alone."""

from decimal import Decimal
from typing import Any

from engine.api import ModelChoice, ModelInfo, ProviderInfo

Json = dict[str, Any]


def provider(info: ProviderInfo) -> Json:
    """A provider, without its models."""
    spec = info.spec
    return {
        "id": str(info.id),
        "name": spec.name,
        "wire": spec.wire,
        "display_name": spec.display_name,
        "base_url": spec.base_url,
        "enabled": spec.enabled,
        "has_key": info.has_key,
        "key_id": info.key_id,
        "has_headers": info.has_headers,
        "central_key_enabled": spec.central_key_enabled,
        "user_key_allowed": spec.user_key_allowed,
        "central_key_fallback": spec.central_key_fallback,
        "options": dict(spec.options),
        "source": info.source.value,
        "created_at": info.created_at.isoformat(),
        "updated_at": info.updated_at.isoformat(),
    }


def model(info: ModelInfo) -> Json:
    """A model as it is configured."""
    spec = info.spec
    return {
        "id": str(info.id),
        "provider": info.provider,
        "reference": info.reference,
        "name": spec.name,
        "display_name": spec.display_name,
        "enabled": spec.enabled,
        "is_default": spec.is_default,
        "context_limit": spec.context_limit,
        "compaction_threshold": spec.compaction_threshold,
        "max_output_tokens": spec.max_output_tokens,
        "temperature": spec.temperature,
        "accepts": list(spec.accepts),
        "options": dict(spec.options),
        "input_price": _price(spec.input_price),
        "output_price": _price(spec.output_price),
        "cache_read_price": _price(spec.cache_read_price),
        "cache_write_price": _price(spec.cache_write_price),
        "source": info.source.value,
        "created_at": info.created_at.isoformat(),
        "updated_at": info.updated_at.isoformat(),
    }


def choice(found: ModelChoice) -> Json:
    """A model as somebody may ask for it. `id` is null for that of the settings."""
    offered, provider = found.choice.model, found.choice.provider
    return {
        "id": str(offered.id) if offered.id else None,
        "reference": found.choice.reference,
        "name": offered.name,
        "display_name": offered.display_name or offered.name,
        "provider": provider.name,
        "provider_display_name": provider.shown_name,
        "is_default": found.is_default,
        "is_available": found.why_not is None,
        "why_not": found.why_not.value if found.why_not else None,
        "context_limit": offered.context_limit,
        "accepts": sorted(offered.accepts),
    }


def _price(price: Decimal | None) -> float | None:
    return None if price is None else float(price)
