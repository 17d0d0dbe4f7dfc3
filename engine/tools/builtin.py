"""The tools that every bot can have without any set-up."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engine.chat.snapshot import Executor
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext

ASK_PEOPLE = ToolDefinition(
    name="ask_people",
    description=(
        "Ask the people in this thread a question and wait for the answer. Give options when the "
        "answer is one of a few; they are shown as buttons."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "One clear question."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What to choose from. Leave out for a free answer.",
            },
        },
        "required": ["question"],
    },
    output_schema={
        "type": "object",
        "properties": {"answer": {"type": "string", "title": "Your answer"}},
        "required": ["answer"],
    },
    executor=Executor.PEOPLE,
)

CURRENT_TIME = ToolDefinition(
    name="current_time",
    description="The current date and time in a time zone (IANA name; UTC when left out).",
    input_schema={
        "type": "object",
        "properties": {"time_zone": {"type": "string", "description": "For example Europe/Oslo."}},
    },
    read_only=True,
    timeout_seconds=5,
)


def current_time_tool(clock: Callable[[], datetime]) -> LocalTool:
    """Tells the time by `clock`, which gives an aware UTC time."""

    async def run(args: Mapping[str, Any], _context: ToolContext) -> Any:
        name = str(args.get("time_zone") or "UTC")
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"There is no time zone {name!r}.") from None
        now = clock().astimezone(zone)
        return {"time": now.isoformat(timespec="seconds"), "weekday": now.strftime("%A")}

    return LocalTool(definition=CURRENT_TIME, run=run)
