"""The tools that every bot can have."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from engine.chat.ids import ChatId
from engine.tools.builtin import current_time_tool
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext, ToolSet

CONTEXT = ToolContext(chat_id=ChatId(UUID(int=1)), tool_call_id="c1")
TIME = current_time_tool(lambda: datetime(2026, 7, 1, 22, 30, tzinfo=UTC))


async def test_the_time_is_told_in_any_zone() -> None:
    assert await TIME.run({}, CONTEXT) == {
        "time": "2026-07-01T22:30:00+00:00", "weekday": "Wednesday",
    }  # fmt: skip
    assert await TIME.run({"time_zone": "Europe/Oslo"}, CONTEXT) == {
        "time": "2026-07-02T00:30:00+02:00", "weekday": "Thursday",
    }  # fmt: skip


@pytest.mark.parametrize(
    "zone", ["Nowhere/Land", "../../etc/passwd", "/etc/localtime", "\x00", "a" * 999]
)
async def test_a_zone_that_is_none_is_said_to_be_none(zone: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        await TIME.run({"time_zone": zone}, CONTEXT)


def test_built_in_tools_win_and_offers_are_sorted() -> None:
    own = ToolDefinition(name="current_time", description="mine")
    other = ToolDefinition(name="anchor", description="")
    tools = ToolSet([LocalTool(definition=TIME.definition, run=TIME.run)], [own, other])
    assert [tool.name for tool in tools.definitions] == ["anchor", "current_time"]
    assert tools.definition("current_time") == TIME.definition
    assert tools.local("anchor") is None
