"""What Anthropic's Messages API refuses of tools and their schemas."""

import re
from typing import Any

from tests.fakes.model_rules import Refused

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


def check_tools(body: dict[str, Any]) -> None:
    """Raise Refused for the first thing that is wrong with the tools."""
    has_calls = any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")
        for message in body.get("messages") or ()
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for block in message["content"]
    )
    if "tools" not in body:
        _want(not has_calls, "Requests which include `tool_use` blocks must define tools")
        _want("tool_choice" not in body, "tool_choice may only be specified with tools")
        return
    tools = body["tools"]
    _want(isinstance(tools, list) and tools, "tools: at least one tool is required")
    names: list[str] = []
    for place, tool in enumerate(tools):
        where = f"tools.{place}"
        _want(isinstance(tool, dict), f"{where}: Input should be an object")
        name = tool.get("name")
        _want(
            isinstance(name, str) and _NAME.fullmatch(name),
            f"{where}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'",
        )
        names.append(str(name))
        if tool.get("type", "custom") == "custom":
            _check_custom(f"{where}.custom", tool)
    _want(len(set(names)) == len(names), "tools: Tool names must be unique.")
    choice = body.get("tool_choice", {"type": "auto"})
    _want(choice.get("type") in ("auto", "any", "tool", "none"), "tool_choice: Input tag")


def _check_custom(where: str, tool: dict[str, Any]) -> None:
    extra = set(tool) - {"type", "name", "description", "input_schema", "cache_control"}
    _want(not extra, f"{where}: Extra inputs are not permitted: {extra}")
    _want(isinstance(tool.get("description", ""), str), f"{where}.description: no string")
    schema = tool.get("input_schema")
    _want(isinstance(schema, dict), f"{where}.input_schema: Field required")
    assert isinstance(schema, dict)
    _want(schema.get("type") == "object", f"{where}.input_schema.type: Input should be 'object'")
    for key in ("oneOf", "allOf", "anyOf"):
        _want(
            key not in schema,
            f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level",
        )
    for key in schema.get("properties") or ():
        _want(
            _KEY.fullmatch(key),
            f"{where}.input_schema.properties: Property keys should match pattern",
        )
    _check_schema(where, schema)


def _check_schema(where: str, schema: Any) -> None:
    """JSON Schema draft 2020-12, as far as tools are wrong about it."""
    invalid = f"{where}.input_schema: JSON schema is invalid. It must match draft 2020-12"
    if isinstance(schema, bool):
        return
    _want(isinstance(schema, dict), invalid)
    kind = schema.get("type", "object")
    kinds = kind if isinstance(kind, list) else [kind]
    _want(all(one in _TYPES for one in kinds), invalid)
    required = schema.get("required", [])
    _want(isinstance(required, list) and all(isinstance(r, str) for r in required), invalid)
    properties = schema.get("properties", {})
    _want(isinstance(properties, dict), invalid)
    for item in properties.values():
        _check_schema(where, item)
    for key in ("items", "additionalProperties", "not"):
        if key in schema:
            _check_schema(where, schema[key])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            _want(isinstance(schema[key], list) and schema[key], invalid)
            for item in schema[key]:
                _check_schema(where, item)


def _want(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)
