"""Results that nobody gave: every call ends with exactly one result, so that history replays."""

from collections.abc import Iterable

from engine.chat.content import NewMessage, Role, ToolCallPart, ToolResultPart
from engine.chat.snapshot import Executor, OpenCall

INTERRUPTED_BY_USER = "Tool execution interrupted by user"
INTERRUPTED_IN_RUN = "tool call was interrupted before it produced a result"
NO_RESULT = "tool call was interrupted and did not receive a result"
ACTION_TIMED_OUT = "Dynamic tool execution timed out"


def result_message(result: ToolResultPart) -> NewMessage:
    """One result as the tool message that stores it."""
    return NewMessage(role=Role.TOOL, content=(result,))


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


def unanswered(
    open_calls: Iterable[OpenCall], messages: Iterable[NewMessage]
) -> tuple[OpenCall, ...]:
    """The calls, stored or in `messages`, that `messages` do not answer."""
    calls = {call.tool_call_id: call for call in open_calls}
    answered = set()
    for message in messages:
        for part in message.content:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = OpenCall(
                    tool_call_id=part.tool_call_id,
                    tool_name=part.tool_name,
                    executor=Executor.LOCAL,
                )
            elif isinstance(part, ToolResultPart):
                answered.add(part.tool_call_id)
    return tuple(call for call_id, call in calls.items() if call_id not in answered)
