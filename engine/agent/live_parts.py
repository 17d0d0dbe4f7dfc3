"""Turns what a model client yields into what followers are sent. Pure, and on the hot path."""

from collections.abc import Iterable

from engine.chat.ids import ToolCallId
from engine.models import parts as model
from engine.stream import events as live


def live_parts(parts: Iterable[model.StreamPart]) -> list[live.LivePart]:
    """The same parts in the stream's own shapes, in order."""
    return [_live(part) for part in parts]


def _live(part: model.StreamPart) -> live.LivePart:
    match part:
        case model.TextDelta():
            return live.TextDelta(text=part.text)
        case model.ReasoningDelta():
            return live.ReasoningDelta(text=part.text)
        case model.ToolCallDelta():
            return live.ToolCallDelta(
                tool_call_id=ToolCallId(part.tool_call_id),
                tool_name=part.tool_name,
                args_delta=part.args_delta,
            )
