"""Runs local tool calls side by side. Every call ends with exactly one result, whatever it does."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.chat.content import ToolCallPart, ToolResultPart
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, OrganizationId
from engine.tools.registry import KeepFile, LocalTool, ToolContext, ToolOutput, ToolSet
from engine.tools.truncation import truncate_result, truncate_text

CALL_TIMEOUT_SECONDS = 60.0
"""How long a local call may take when its tool does not say (the MCP budget of the design)."""

ERROR_BYTES_MAX = 4_000
"""What a model is told of an exception; more would be a stack of somebody's data."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoker:
    """Runs the calls of one chat with the tools of one turn."""

    chat_id: ChatId
    tools: ToolSet
    result_bytes_max: int
    organization_id: OrganizationId = DEFAULT_ORGANIZATION
    keep_file: KeepFile | None = None

    async def run(self, call: ToolCallPart) -> ToolResultPart:
        """The result of one call; never raises but for cancellation."""
        tool = self.tools.local(call.tool_name)
        if tool is None:
            return error_result(call, f"Tool not found: {call.tool_name}")
        args = arguments_of(call)
        if args is None:
            return error_result(call, "The arguments are not a JSON object.")
        return await self._run_tool(tool, call, args)

    async def _run_tool(
        self, tool: LocalTool, call: ToolCallPart, args: dict[str, Any]
    ) -> ToolResultPart:
        seconds = tool.definition.timeout_seconds or CALL_TIMEOUT_SECONDS
        context = ToolContext(
            chat_id=self.chat_id,
            tool_call_id=call.tool_call_id,
            organization_id=self.organization_id,
            keep_file=self.keep_file,
        )
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                output = _output_of(await tool.run(args, context))
            result, cut = truncate_result(storable(output.result), self.result_bytes_max)
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return self._failed(call, "it was cancelled from within")
        except Exception as error:  # noqa: BLE001 - a tool may raise anything
            if limit.expired():
                return self._failed(call, f"it did not finish within {seconds:g} seconds", error)
            return self._failed(call, _text_of(error), error)
        if cut:
            extra = {
                "action": "tool_result_truncated",
                "tool": call.tool_name,
                "bytes_cut": str(cut),
            }
            log.info("A tool's result was cut.", extra=extra)
        return ToolResultPart(
            tool_call_id=call.tool_call_id,
            tool_name=call.tool_name,
            result=result,
            files=output.files,
        )

    def _failed(
        self, call: ToolCallPart, reason: str, error: Exception | None = None
    ) -> ToolResultPart:
        extra = {"action": "tool_failed", "chat_id": str(self.chat_id), "tool": call.tool_name}
        log.warning("A tool failed.", extra=extra, exc_info=error)
        text, _ = truncate_text(reason, ERROR_BYTES_MAX)
        return error_result(call, f"{call.tool_name} failed: {text}")


def arguments_of(call: ToolCallPart) -> dict[str, Any] | None:
    """The arguments as an object, or None when they are not one."""
    try:
        args = msgspec.json.decode(call.args or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


def storable(value: Any) -> Any:
    """A JSON value: text becomes an object, anything that JSON cannot say becomes its text."""
    if isinstance(value, str):
        return {"output": value.encode(errors="replace").decode()}
    if isinstance(value, bytes):
        return {"output": value.decode(errors="replace")}
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError):
        return {"output": repr(value).encode(errors="replace").decode()}


def error_result(call: ToolCallPart, text: str) -> ToolResultPart:
    """An error that the model reads as the call's result."""
    return ToolResultPart(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        result={"error": text},
        is_error=True,
    )


def _output_of(value: Any) -> ToolOutput:
    return value if isinstance(value, ToolOutput) else ToolOutput(result=value)


def _is_cancelled() -> bool:
    """Whether it is us who are told to stop, not something inside the tool."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _text_of(error: Exception) -> str:
    """What went wrong: a sentence of the tool's, or the kind of a bare exception."""
    kind, text = type(error).__name__, str(error).encode(errors="replace").decode()
    return text if isinstance(error, ValueError | RuntimeError) and text else f"{kind}: {text}"
