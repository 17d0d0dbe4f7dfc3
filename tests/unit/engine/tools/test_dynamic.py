"""Tools that API clients bring: taken as MCP spells them, refused with the field and the reason."""

from typing import Any

import pytest

from engine.chat.snapshot import Executor
from engine.tools.dynamic import DYNAMIC_TOOLS_MAX, DynamicToolInvalid, parse_dynamic_tools


def test_a_tool_in_mcps_terms_is_taken() -> None:
    schema = {"type": "object", "properties": {"gate": {"type": "string"}}}
    for key in ("inputSchema", "input_schema"):
        (tool,) = parse_dynamic_tools(
            [{"name": "open-gate_1", "description": "Opens.", key: schema, "timeout_seconds": 5}]
        )
        assert (tool.name, tool.description, tool.executor) == (
            "open-gate_1", "Opens.", Executor.CLIENT,
        )  # fmt: skip
        assert tool.input_schema == schema
        assert tool.timeout_seconds == 5.0
    (least,) = parse_dynamic_tools([{"name": "x", "executor": "people", "on_timeout": "continue"}])
    assert least.executor is Executor.PEOPLE
    assert least.on_timeout_continue
    assert least.input_schema["type"] == "object"


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ("open", ""),
        ({}, ".name"),
        ({"name": ""}, ".name"),
        ({"name": "a b"}, ".name"),
        ({"name": "open\n"}, ".name"),
        ({"name": "x" * 65}, ".name"),
        ({"name": 7}, ".name"),
        ({"name": "x", "executor": "local"}, ".executor"),
        ({"name": "x", "executor": ["client"]}, ".executor"),
        ({"name": "x", "executor": None}, ".executor"),
        ({"name": "x", "description": 7}, ".description"),
        ({"name": "x", "inputSchema": {"type": "array"}}, ".inputSchema"),
        ({"name": "x", "inputSchema": "{}"}, ".inputSchema"),
        ({"name": "x", "outputSchema": []}, ".outputSchema"),
        ({"name": "x", "on_timeout": "go_on"}, ".on_timeout"),
        ({"name": "x", "on_timeout": ["continue"]}, ".on_timeout"),
        ({"name": "x", "timeout_seconds": 0}, ".timeout_seconds"),
        ({"name": "x", "timeout_seconds": True}, ".timeout_seconds"),
        ({"name": "x", "timeout_seconds": float("nan")}, ".timeout_seconds"),
        ({"name": "x", "timeout_seconds": "5"}, ".timeout_seconds"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_refused(tool: Any, field: str) -> None:
    with pytest.raises(DynamicToolInvalid) as refused:
        parse_dynamic_tools([{"name": "fine"}, tool])
    assert refused.value.field == f"dynamic_tools[1]{field}"
    assert refused.value.detail


def test_names_are_unique_and_their_number_is_bounded() -> None:
    with pytest.raises(DynamicToolInvalid, match="twice"):
        parse_dynamic_tools([{"name": "x"}, {"name": "x"}])
    most = [{"name": f"tool_{number}"} for number in range(DYNAMIC_TOOLS_MAX)]
    assert len(parse_dynamic_tools(most)) == DYNAMIC_TOOLS_MAX
    with pytest.raises(DynamicToolInvalid, match="at most"):
        parse_dynamic_tools([*most, {"name": "one_more"}])
