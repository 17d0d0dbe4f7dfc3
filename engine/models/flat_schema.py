"""Write a tool's schema without alternatives at its root, which providers refuse there. Pure.

What the root says in alternatives or by a reference is merged into the widest object that all of
them allow.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_ANY: Final = ("anyOf", "oneOf")
_MERGED: Final = frozenset({"allOf", "$ref", *_ANY})
_REFERENCES_DEEP: Final = 8


def flat_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a root of plain properties; `required` names only some of them, if any."""
    flat = _flat(schema, schema, _REFERENCES_DEEP)
    properties = flat.get("properties")
    flat["properties"] = dict(properties) if isinstance(properties, Mapping) else {}
    required = [name for name in _required(flat) if name in flat["properties"]]
    flat.pop("required", None)
    if required:
        flat["required"] = required
    return flat


def _flat(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The schema with what `allOf`, alternatives and a reference say merged into it."""
    flat = {key: value for key, value in schema.items() if key not in _MERGED}
    if not depth:
        return flat
    every = [schema] if "$ref" in schema else []
    every = [_referenced(one["$ref"], root) for one in every] + _objects(schema.get("allOf"))
    for part in every:
        merged = _flat(part, root, depth - 1)
        _add_properties(flat, merged, "allOf")
        _require(flat, _required(merged))
    for key in _ANY:
        choices = [_flat(part, root, depth - 1) for part in _objects(schema.get(key))]
        for choice in choices:
            _add_properties(flat, choice, "anyOf")
        if choices:
            shared = set(_required(choices[0])).intersection(*map(_required, choices[1:]))
            _require(flat, [name for name in _required(choices[0]) if name in shared])
    return flat


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """The members of a list of schemas that may describe an object."""
    if not isinstance(value, list):
        return []
    return [
        one
        for one in value
        if isinstance(one, Mapping) and one.get("type", "object") in ("object", ["object", "null"])
    ]


def _referenced(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the same schema points to; nothing for any other."""
    found: Any = root
    path = reference.split("/") if isinstance(reference, str) else [""]
    for step in path[1:]:
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if path[0] == "#" and isinstance(found, Mapping) else {}


def _add_properties(flat: dict[str, Any], part: Mapping[str, Any], both: str) -> None:
    """Add a part's properties; one that both describe must fit both, or either, as `both` says."""
    more = part.get("properties")
    if not isinstance(more, Mapping):
        return
    own = flat.get("properties")
    properties = dict(own) if isinstance(own, Mapping) else {}
    for name, item in more.items():
        known = properties.get(name, item)
        properties[name] = item if known == item else {both: [known, item]}
    flat["properties"] = properties


def _require(flat: dict[str, Any], names: Sequence[str]) -> None:
    flat["required"] = list(dict.fromkeys([*_required(flat), *names]))


def _required(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    if not isinstance(required, list | tuple):
        return []
    return [name for name in required if isinstance(name, str)]
