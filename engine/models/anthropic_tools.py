"""Make tool definitions that Anthropic accepts. Pure.

Its rules are narrower than JSON Schema: the root is one object with plainly named properties.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from engine.models.flat_schema import flat_schema
from engine.models.model import ToolOffer
from engine.models.tool_schema import object_schema
from engine.models.words import tool_name_on_wire

_PROPERTY_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def tool_definitions(
    offers: Iterable[ToolOffer], further: Sequence[Any] = (), used: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """The tools of a request; of two with one name the first counts.

    `further` are tools that the provider runs itself, from the configuration. `used` are the names
    of a history's calls: where no tool is offered they are named, since a history with calls and
    no tools is refused.
    """
    tools: dict[str, dict[str, Any]] = {}
    for offer in offers:
        name = tool_name_on_wire(offer.name)
        tool: dict[str, Any] = {"name": name}
        if offer.description.strip():
            tool["description"] = offer.description
        tools.setdefault(name, tool | {"input_schema": input_schema(offer.input_schema)})
    for own in further:
        if isinstance(own, Mapping) and isinstance(own.get("name"), str):
            tools.setdefault(own["name"], dict(own))
    if not tools:
        for name in used:
            tools.setdefault(name, {"name": name, "input_schema": input_schema({})})
    return list(tools.values())


def input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments: an object whose root has no alternatives."""
    flat = flat_schema(object_schema(schema))
    properties = {n: item for n, item in flat["properties"].items() if _PROPERTY_NAME.fullmatch(n)}
    required = [name for name in flat.pop("required", ()) if name in properties]
    return flat | {"properties": properties} | ({"required": required} if required else {})
