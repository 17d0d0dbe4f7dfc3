"""The shapes of a Chat Completions chunk: strict and fast for what is usual, lenient for the rest.

Pure. `read_chunk` is the hot path. What it refuses goes through `read_odd_chunk`, which takes any
JSON and keeps what it can; both give the same Chunk.
"""

import json
from typing import Any, Final

import msgspec
from msgspec import Struct

from engine.chat.content import Usage
from engine.models.parts import StreamFault


class FunctionPiece(Struct, gc=False):
    """Name and arguments of a call, or a piece of them."""

    name: str | None = None
    arguments: str | None = None


class CallPiece(Struct, gc=False):
    """A piece of a tool call."""

    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None


class Delta(Struct, gc=False):
    """What a chunk adds. A whole message has the same fields."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: FunctionPiece | None = None


class PromptDetails(Struct, gc=False):
    """Input tokens by kind."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(Struct, gc=False):
    """Output tokens by kind."""

    reasoning_tokens: int | None = None


class WireUsage(Struct, gc=False):
    """Tokens as Chat Completions counts them: `prompt_tokens` includes the cached ones."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None


class VendorBlock(Struct, gc=False):
    """Where one vendor puts the usage."""

    usage: WireUsage | None = None


class Choice(Struct, gc=False):
    """One alternative answer; only the one with index 0 is ours."""

    index: int = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: WireUsage | None = None


class Chunk(Struct, gc=False):
    """One event of the stream, or a whole body. Unknown fields are ignored."""

    choices: list[Choice] | None = None
    usage: WireUsage | None = None
    x_groq: VendorBlock | None = None
    error: Any = None
    object: Any = None
    type: Any = None
    message: Any = None
    detail: Any = None


_DECODER: Final = msgspec.json.Decoder(Chunk)
read_chunk = _DECODER.decode
"""Decode a usual chunk. Raises msgspec.MsgspecError for an unusual one."""


def read_odd_chunk(data: bytes) -> Chunk | None:
    """Decode any JSON object into a Chunk, keeping what makes sense. None: it is no JSON object.

    Text may hold lone surrogates afterwards, where a server cut a character in two.
    """
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return Chunk(error=value) if value else None
    return _chunk_of(value) if isinstance(value, dict) else None


def _chunk_of(value: dict[str, Any]) -> Chunk:
    choices = value.get("choices")
    vendor = value.get("x_groq")
    return Chunk(
        choices=[_choice_of(item) for item in choices if isinstance(item, dict)]
        if isinstance(choices, list)
        else None,
        usage=_usage_of(value.get("usage")),
        x_groq=VendorBlock(usage=_usage_of(vendor.get("usage")))
        if isinstance(vendor, dict)
        else None,
        error=value.get("error"),
        object=value.get("object"),
        type=value.get("type"),
        message=value.get("message"),
        detail=value.get("detail"),
    )


def _choice_of(value: dict[str, Any]) -> Choice:
    return Choice(
        index=_int_of(value.get("index")) or 0,
        delta=_delta_of(value.get("delta")),
        message=_delta_of(value.get("message")),
        finish_reason=_str_of(value.get("finish_reason")),
        usage=_usage_of(value.get("usage")),
    )


def _delta_of(value: Any) -> Delta | None:
    if isinstance(value, str):
        return Delta(content=value)
    if not isinstance(value, dict):
        return None
    thought, text = _content_of(value.get("content"))
    calls = value.get("tool_calls")
    if isinstance(calls, dict):
        calls = [calls]
    return Delta(
        content=text,
        reasoning_content=_content_of(value.get("reasoning_content"))[1] or thought,
        reasoning=_content_of(value.get("reasoning"))[1],
        refusal=_str_of(value.get("refusal")),
        tool_calls=[_call_of(call) for call in calls if isinstance(call, dict)]
        if isinstance(calls, list)
        else None,
        function_call=_function_of(value.get("function_call")),
    )


def _content_of(value: Any) -> tuple[str | None, str | None]:
    """Return (reasoning, text) of content that is a string, a block, or a list of blocks."""
    if isinstance(value, str):
        return None, value
    if isinstance(value, dict):
        if "thinking" in value:
            return _content_of(value["thinking"])[1], None
        return None, _str_of(value.get("text") or value.get("refusal"))
    if isinstance(value, list):
        pairs = [_content_of(item) for item in value]
        return "".join(r or "" for r, _ in pairs) or None, "".join(t or "" for _, t in pairs)
    return None, None


def _call_of(value: dict[str, Any]) -> CallPiece:
    wire_id = value.get("id")
    return CallPiece(
        index=_int_of(value.get("index")),
        id=str(wire_id) if isinstance(wire_id, str | int) else None,
        function=_function_of(value.get("function")),
    )


def _function_of(value: Any) -> FunctionPiece | None:
    if not isinstance(value, dict):
        return None
    args = value.get("arguments")
    if args is not None and not isinstance(args, str):
        args = json.dumps(args, ensure_ascii=False, separators=(",", ":"))
    return FunctionPiece(name=_str_of(value.get("name")), arguments=args)


def _usage_of(value: Any) -> WireUsage | None:
    if not isinstance(value, dict):
        return None
    prompt = value.get("prompt_tokens_details")
    completion = value.get("completion_tokens_details")
    return WireUsage(
        prompt_tokens=_int_of(value.get("prompt_tokens")),
        completion_tokens=_int_of(value.get("completion_tokens")),
        total_tokens=_int_of(value.get("total_tokens")),
        prompt_tokens_details=PromptDetails(
            cached_tokens=_int_of(prompt.get("cached_tokens")),
            cache_write_tokens=_int_of(prompt.get("cache_write_tokens")),
        )
        if isinstance(prompt, dict)
        else None,
        completion_tokens_details=CompletionDetails(
            reasoning_tokens=_int_of(completion.get("reasoning_tokens"))
        )
        if isinstance(completion, dict)
        else None,
        prompt_cache_hit_tokens=_int_of(value.get("prompt_cache_hit_tokens")),
    )


def _str_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _int_of(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def usage_of(wire: WireUsage) -> Usage | None:
    """Return the usage in our terms: input without cached tokens, output with reasoning."""
    if wire.prompt_tokens is None and wire.completion_tokens is None:
        return None
    prompt = wire.prompt_tokens_details
    read = (prompt.cached_tokens if prompt else None) or wire.prompt_cache_hit_tokens
    written = prompt.cache_write_tokens if prompt else None
    details = wire.completion_tokens_details
    reasoning = details.reasoning_tokens if details else None
    fresh, output = wire.prompt_tokens, wire.completion_tokens
    if fresh is not None:
        fresh = max(fresh - (read or 0) - (written or 0), 0)
    if (
        output is not None
        and reasoning
        and wire.total_tokens == (wire.prompt_tokens or 0) + output + reasoning
    ):
        # This provider counts reasoning beside the completion; all others within it.
        output += reasoning
    return Usage(
        input_tokens=fresh,
        output_tokens=output,
        total_tokens=wire.total_tokens,
        reasoning_tokens=reasoning or None,
        cache_read_tokens=read or None,
        cache_write_tokens=written or None,
    )


def fault_of(value: Any) -> StreamFault:
    """Return what an error value of any shape says. Always has a message."""
    if not isinstance(value, dict):
        return StreamFault(message=value if isinstance(value, str) else _compact(value))
    inner = value.get("error")
    if inner and "message" not in value:
        outer = fault_of(inner)
        status = outer.status or _status_of(value)
        return msgspec.structs.replace(outer, status=status)
    texts = (value.get(key) for key in ("message", "msg", "detail"))
    message = next((text for text in texts if isinstance(text, str) and text), None)
    codes = (value.get(key) for key in ("code", "type", "status"))
    code = next((c for c in codes if isinstance(c, str) and not c.isdigit()), None)
    metadata = value.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return StreamFault(
        message=message or _compact(value),
        code=code,
        status=_status_of(value),
        detail=raw if isinstance(raw, str) else None,
    )


def _status_of(value: dict[str, Any]) -> int | None:
    for key in ("status_code", "code", "status", "http_code"):
        number = _int_of(value.get(key))
        if number is not None and 400 <= number <= 599:
            return number
    return None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
