"""The JSON schemas of providers, models and keys, by name (pure)."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_OBJECT: Final = {"type": "object"}
_UUID: Final = {"type": "string", "format": "uuid"}
_TIME: Final = {"type": "string", "format": "date-time"}
_TOKENS: Final = {"type": "integer", "minimum": 1}
_PERCENT: Final = {"type": "integer", "minimum": 1, "maximum": 100}
_WIRE: Final = {"enum": ["chat_completions", "responses", "anthropic"]}
_SOURCE: Final = {"enum": ["admin", "file"]}
_WHY_NOT: Final = {"enum": ["provider_disabled", "user_api_key_required", "missing_api_key"]}
_ACCEPTS: Final = {"type": "array", "items": {"enum": ["image", "pdf"]}}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _array(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


def _answer(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _body(required: tuple[str, ...], properties: Mapping[str, Schema]) -> Schema:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_KEY: Final = {"type": "string", "writeOnly": True}
_PRICE: Final = _nullable({"type": "number", "minimum": 0})
_PROVIDER: Final[Mapping[str, Schema]] = {
    "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,62}$"},
    "wire": _WIRE,
    "base_url": {
        "type": "string",
        "description": "Its http or https address; without it the usual one of its wire.",
    },
    "display_name": _TEXT,
    "enabled": _FLAG,
    "central_key_enabled": _FLAG,
    "user_key_allowed": _FLAG,
    "central_key_fallback": _FLAG,
    "options": _OBJECT,
}
_SECRETS: Final[Mapping[str, Schema]] = {
    "api_key": _nullable(_KEY),
    "headers": _nullable({"type": "object", "additionalProperties": _KEY}),
}
_MODEL: Final[Mapping[str, Schema]] = {
    "name": _TEXT,
    "display_name": _TEXT,
    "enabled": _FLAG,
    "is_default": _FLAG,
    "context_limit": {"type": "integer", "minimum": 1024},
    "compaction_threshold": _PERCENT,
    "max_output_tokens": _nullable(_TOKENS),
    "temperature": _nullable({"type": "number", "minimum": 0, "maximum": 2}),
    "accepts": _ACCEPTS,
    "options": _OBJECT,
    "input_price": _PRICE,
    "output_price": _PRICE,
    "cache_read_price": _PRICE,
    "cache_write_price": _PRICE,
}
_MADE: Final[Mapping[str, Schema]] = {
    "id": _UUID,
    "source": _SOURCE,
    "created_at": _TIME,
    "updated_at": _TIME,
}
_SHOWN_PROVIDER: Final = {
    **_PROVIDER,
    **_MADE,
    "has_key": _FLAG,
    "key_id": _nullable(_TEXT),
    "has_headers": _FLAG,
}

PROVIDER_PATH_PARAMETERS: Final[Mapping[str, dict[str, Any]]] = {
    "provider": {"type": "string"},
    "identity": {"type": "string"},
    "model_id": dict(_UUID),
}
PROVIDER_SCHEMAS: Final[Mapping[str, Schema]] = {
    "NewProvider": _body(("name", "wire"), {**_PROVIDER, **_SECRETS}),
    "ProviderChange": _body((), {**_PROVIDER, **_SECRETS}),
    "Provider": _answer(**_SHOWN_PROVIDER),
    "ProviderWithModels": _answer(**_SHOWN_PROVIDER, models=_array("Model")),
    "Providers": _answer(providers=_array("ProviderWithModels")),
    "NewModel": _body(("provider", "name", "context_limit"), {"provider": _TEXT, **_MODEL}),
    "ModelChange": _body((), _MODEL),
    "Model": _answer(**_MODEL, **_MADE, provider=_TEXT, reference=_TEXT),
    "ModelChoice": _answer(
        id=_nullable(_UUID),
        reference=_TEXT,
        name=_TEXT,
        display_name=_TEXT,
        provider=_TEXT,
        provider_display_name=_TEXT,
        is_default=_FLAG,
        is_available=_FLAG,
        why_not=_nullable(_WHY_NOT),
        context_limit=_nullable(_TOKENS),
        accepts=_ACCEPTS,
    ),
    "ModelChoices": _answer(models=_array("ModelChoice")),
    "UserKey": _body(("api_key",), {"api_key": _KEY}),
}
