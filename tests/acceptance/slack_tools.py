"""Tools that people answer, for tests of questions on Slack."""

from typing import Any

from engine.chat.answerers import parse_answerers
from engine.chat.snapshot import Executor
from engine.tools.definition import ToolDefinition


def people_tool(
    properties: dict[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    answerers: Any = "anyone",
    name: str = "ask_crew",
    **fields: Any,
) -> ToolDefinition:
    """A tool whose result has these properties; without any it is done or declined."""
    return ToolDefinition(
        name=name,
        description="Plan the trip.",
        input_schema={"type": "object", "properties": {}},
        output_schema={
            "type": "object",
            "properties": properties or {},
            "required": list(required),
        },
        executor=Executor.PEOPLE,
        answerers=parse_answerers(answerers),
        **fields,
    )
