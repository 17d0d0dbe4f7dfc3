"""Reading Slack's JSON without trusting it: what is missing or of another type is empty (pure)."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
NOTHING: Json = {}


def text_at(body: Any, *path: str) -> str:
    """The string at the end of the path, else the empty string."""
    value = _at(body, path)
    return value if isinstance(value, str) else ""


def object_at(body: Any, *path: str) -> Json:
    """The object at the end of the path, else an empty one."""
    value = _at(body, path)
    return value if isinstance(value, Mapping) else NOTHING


def objects_at(body: Any, *path: str) -> list[Json]:
    """The objects in the list at the end of the path; whatever else is in it is left out."""
    value = _at(body, path)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _at(body: Any, path: tuple[str, ...]) -> Any:
    value = body
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value
