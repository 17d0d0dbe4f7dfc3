"""Make tool definitions that every provider accepts.

Pure. Tools come from many hands; `null` where JSON Schema wants a list or an object, and an empty
`required`, are refused by providers with a 400 for the whole request.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.models.flat_schema import flat_schema
from engine.models.model import ToolOffer
from engine.models.words import tool_name_on_wire

_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_ONE: Final = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
)
_MANY: Final = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_NOT_AT_ROOT: Final = frozenset({"anyOf", "oneOf", "allOf", "enum", "not", "$ref"})
_VALUES: Final = frozenset({"default", "const", "enum", "examples", "example"})


def tool_definitions(offers: Iterable[ToolOffer]) -> list[dict[str, Any]]:
    """Return the tools as Chat Completions wants them; of two with one name the first counts."""
    by_name: dict[str, ToolOffer] = {}
    for offer in offers:
        by_name.setdefault(tool_name_on_wire(offer.name), offer)
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": offer.description,
                "parameters": root_schema(offer.input_schema),
            },
        }
        for name, offer in by_name.items()
    ]


def root_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema as OpenAI takes it: a root without alternatives, left alone if it has none."""
    cleaned = object_schema(schema)
    if not _NOT_AT_ROOT.intersection(cleaned):
        return cleaned
    flat = flat_schema(cleaned)
    return {key: value for key, value in flat.items() if key not in _NOT_AT_ROOT}


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments: always an object with properties."""
    cleaned = _clean(schema)
    cleaned["type"] = "object"
    cleaned.setdefault("properties", {})
    return cleaned


def _clean(schema: Mapping[str, Any]) -> dict[str, Any]:
    cleaned = {
        key: _clean_value(key, value)
        for key, value in schema.items()
        if key in _VALUES or not (value is None or (key == "required" and not value))
    }
    kind = cleaned.get("type")
    if kind == "array" or (isinstance(kind, list | tuple) and "array" in kind):
        # OpenAI refuses a list that does not say of what.
        cleaned.setdefault("items", {})
    return cleaned


def _clean_value(key: str, value: Any) -> Any:
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: _clean_any(item) for name, item in value.items() if item is not None}
    if key in _ONE:
        return _clean_any(value)
    if key in _MANY and isinstance(value, list | tuple):
        return [_clean_any(item) for item in value if item is not None]
    return value


def _clean_any(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_clean_any(item) for item in value]
    return _clean(value) if isinstance(value, Mapping) else value
