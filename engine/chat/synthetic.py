"""Results that nobody gave: every call ends with exactly one result, so that history replays."""

from collections.abc import Iterable

from msgspec.structs import replace

from engine.chat.content import FilePart, NewMessage, Part, Role, ToolCallPart, ToolResultPart
from engine.chat.snapshot import OpenCall

INTERRUPTED_BY_USER = "Tool execution interrupted by user"
INTERRUPTED_IN_RUN = "tool call was interrupted before it produced a result"
NO_RESULT = "tool call was interrupted and did not receive a result"
ACTION_TIMED_OUT = "Dynamic tool execution timed out"


def result_message(result: ToolResultPart) -> NewMessage:
    """One result as the tool message that stores it, the files that came with it behind it."""
    return NewMessage(role=Role.TOOL, content=(without_files(result), *result.files))


def without_files(result: ToolResultPart) -> ToolResultPart:
    """The result as the model and followers read it."""
    return replace(result, files=()) if result.files else result


def error_results(calls: Iterable[OpenCall], text: str) -> tuple[NewMessage, ...]:
    """An error result with `text` for each call, in call order."""
    return tuple(
        result_message(
            ToolResultPart(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                result={"error": text},
                is_error=True,
            )
        )
        for call in calls
    )


def settle(
    open_calls: Iterable[OpenCall],
    messages: Iterable[NewMessage],
    text: str,
    *,
    described: Iterable[OpenCall] = (),
) -> tuple[tuple[NewMessage, ...], tuple[OpenCall, ...]]:
    """Make `messages` replay after `open_calls`, whatever they are; give the calls still open then.

    The first result of a call is kept, any other left out with its files. Calls still open when
    anybody but a tool speaks get an error result with `text` first. `described` says who executes
    the new calls.
    """
    calls = {call.tool_call_id: call for call in open_calls}
    descriptions = {call.tool_call_id: call for call in described}
    settled: list[NewMessage] = []
    for message in messages:
        if message.role is not Role.TOOL:
            settled.extend(error_results(calls.values(), text))
            calls.clear()
        content: list[Part] = []
        is_left_out = False
        # In order: an id may come back in a later message, and is another call then.
        for part in message.content:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = descriptions.get(part.tool_call_id) or OpenCall(
                    tool_call_id=part.tool_call_id, tool_name=part.tool_name
                )
            elif isinstance(part, ToolResultPart):
                is_left_out = calls.pop(part.tool_call_id, None) is None
            if not (is_left_out and isinstance(part, ToolResultPart | FilePart)):
                content.append(part)
        if content or not message.content:
            settled.append(replace(message, content=tuple(content)))
    return tuple(settled), tuple(calls.values())
