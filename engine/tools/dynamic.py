"""Dynamic tools as API clients describe them, checked into definitions. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.chat.answerers import Answerers, parse_answerers
from engine.chat.snapshot import Executor
from engine.tools.definition import EMPTY_SCHEMA, NAME_PATTERN, ToolDefinition

DYNAMIC_TOOLS_MAX = 250
"""Tools that one chat may bring; more would not fit any model's window."""
DYNAMIC_EXECUTORS = (Executor.CLIENT, Executor.PEOPLE)
_ON_TIMEOUT = ("error", "continue")


class DynamicToolInvalid(ValueError):
    """A dynamic tool that cannot be offered. `field` says where, the message how to mend it."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field
        self.detail = detail


def parse_dynamic_tools(raw: Iterable[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Definitions of a chat's own tools; raises DynamicToolInvalid for the first that is not one.

    Both spellings of the schema keys are taken: MCP's camel case and the snake case of its SDK.
    """
    tools: list[ToolDefinition] = []
    for index, item in enumerate(raw):
        if index >= DYNAMIC_TOOLS_MAX:
            raise DynamicToolInvalid("dynamic_tools", f"at most {DYNAMIC_TOOLS_MAX} tools a chat")
        tool = _parse(item, f"dynamic_tools[{index}]")
        if any(tool.name == other.name for other in tools):
            raise DynamicToolInvalid(f"dynamic_tools[{index}].name", f"{tool.name} is there twice")
        tools.append(tool)
    return tuple(tools)


def _parse(item: Mapping[str, Any], where: str) -> ToolDefinition:
    if not isinstance(item, Mapping):
        raise DynamicToolInvalid(where, "a tool is an object with name, description, inputSchema")
    name = item.get("name")
    if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
        raise DynamicToolInvalid(f"{where}.name", "1 to 64 characters of a-z A-Z 0-9 _ -")
    executor = item.get("executor", Executor.CLIENT)
    if executor not in DYNAMIC_EXECUTORS:
        raise DynamicToolInvalid(f"{where}.executor", 'either "client" or "people"')
    return ToolDefinition(
        name=name,
        description=_text(item, "description", where),
        input_schema=_schema(item, "input_schema", "inputSchema", where) or EMPTY_SCHEMA,
        output_schema=_schema(item, "output_schema", "outputSchema", where),
        executor=Executor(executor),
        timeout_seconds=_timeout(item, where),
        on_timeout_continue=_on_timeout(item, where) == "continue",
        answerers=_answerers(item, where),
    )


def _text(item: Mapping[str, Any], key: str, where: str) -> str:
    value = item.get(key) or ""
    if not isinstance(value, str):
        raise DynamicToolInvalid(f"{where}.{key}", "must be text")
    return value


def _schema(item: Mapping[str, Any], snake: str, camel: str, where: str) -> Mapping[str, Any]:
    value = item.get(snake, item.get(camel))
    if value is None:
        return {}
    if not isinstance(value, Mapping) or value.get("type", "object") != "object":
        raise DynamicToolInvalid(f"{where}.{camel}", 'a JSON schema whose root type is "object"')
    return value


def _timeout(item: Mapping[str, Any], where: str) -> float | None:
    value = item.get("timeout_seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 30 * 86400:
        raise DynamicToolInvalid(f"{where}.timeout_seconds", "a number of seconds up to 30 days")
    return float(value)


def _on_timeout(item: Mapping[str, Any], where: str) -> str:
    value = item.get("on_timeout", "error")
    if value not in _ON_TIMEOUT:
        raise DynamicToolInvalid(f"{where}.on_timeout", 'either "error" or "continue"')
    return str(value)


def _answerers(item: Mapping[str, Any], where: str) -> Answerers | None:
    value = item.get("answerers")
    if value is None:
        return None
    if item.get("executor") != Executor.PEOPLE:
        raise DynamicToolInvalid(f"{where}.answerers", 'goes with the executor "people" alone')
    try:
        return parse_answerers(value)
    except ValueError as error:
        raise DynamicToolInvalid(f"{where}.answerers", str(error)) from error
