"""The shapes of an Anthropic Messages event, and what its fields mean in our terms. Pure.

A whole body is read as the events that would have streamed it, so that one decoder serves both.
"""

import json
from typing import Any, Final

import msgspec
from msgspec import Struct

from engine.chat.content import Finish, Usage
from engine.models.chat_wire import fault_of
from engine.models.parts import StreamFault

WIRE: Final = "anthropic"
"""How a stored ProviderPart names this wire."""

FINISH: Final = {
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "pause_turn": Finish.CONTINUE,
    "compaction": Finish.CONTINUE,
    "refusal": Finish.CONTENT_FILTER,
}
"""How an end is named. Every other name is a normal stop, or one for tool calls."""

_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class OutputDetails(Struct, gc=False):
    """Output tokens by kind."""

    thinking_tokens: int | None = None


class WireUsage(Struct, gc=False):
    """Tokens so far; a later event's count replaces the earlier one."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None

    def updated_by(self, later: "WireUsage") -> "WireUsage":
        """These counts with those that a later event names."""
        named = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(later, name)) is not None
        }
        return msgspec.structs.replace(self, **named)


class WireMessage(Struct, gc=False):
    """A message: without content at the start of a stream, whole in a body."""

    id: str | None = None
    content: list[Any] | None = None
    stop_reason: str | None = None
    usage: WireUsage | None = None


class WireDelta(Struct, gc=False):
    """What an event adds to a block or to the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    content: Any = None
    stop_reason: str | None = None


class WireEvent(Struct, gc=False):
    """One event of the stream. Unknown fields are ignored."""

    type: str = ""
    index: int | None = None
    message: Any = None
    content_block: Any = None
    delta: WireDelta | None = None
    usage: WireUsage | None = None
    error: Any = None
    content: list[Any] | None = None
    stop_reason: str | None = None
    id: str | None = None


_DECODER: Final = msgspec.json.Decoder(WireEvent)
_KEPT: Final = frozenset({"redacted_thinking", "compaction"})


def read_event(data: bytes) -> tuple[WireEvent | None, bool]:
    """Return (the event, whether its text may hold half characters). None: it is no event."""
    try:
        return _DECODER.decode(data), False
    except msgspec.MsgspecError:
        pass
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        return msgspec.convert(value, WireEvent, strict=False), True
    except (ValueError, RecursionError):
        return None, True


def message_of(value: Any) -> WireMessage:
    """The message of an event, as far as it is one."""
    try:
        return msgspec.convert(value, WireMessage, strict=False)
    except msgspec.MsgspecError:
        return WireMessage()


def events_of_body(event: WireEvent) -> list[WireEvent]:
    """The events that would have streamed this whole message."""
    events = [WireEvent(type="message_start", message={"id": event.id})]
    for index, block in enumerate(event.content or ()):
        events.append(WireEvent(type="content_block_start", index=index, content_block=block))
        events.append(WireEvent(type="content_block_stop", index=index))
    delta = WireDelta(stop_reason=event.stop_reason)
    events.append(WireEvent(type="message_delta", delta=delta, usage=event.usage))
    events.append(WireEvent(type="message_stop"))
    return events


def is_providers_own(kind: str) -> bool:
    """Whether a block of this type is kept for its provider: what it ran itself or encrypted."""
    return kind in _KEPT or kind.endswith(("_tool_use", "_tool_result"))


def usage_of(wire: WireUsage) -> Usage | None:
    """The usage in our terms. This wire leaves the cache out of the input already."""
    if wire.input_tokens is None and wire.output_tokens is None:
        return None
    counted = (
        wire.input_tokens,
        wire.output_tokens,
        wire.cache_read_input_tokens,
        wire.cache_creation_input_tokens,
    )
    details = wire.output_tokens_details
    return Usage(
        input_tokens=wire.input_tokens,
        output_tokens=wire.output_tokens,
        total_tokens=sum(count or 0 for count in counted),
        reasoning_tokens=(details.thinking_tokens if details else None) or None,
        cache_read_tokens=wire.cache_read_input_tokens or None,
        cache_write_tokens=wire.cache_creation_input_tokens or None,
    )


def error_value(data: bytes) -> Any:
    """What an error event without an `error` says: its JSON, or else its words."""
    words = data.decode("utf-8", "replace")
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return words


def fault_of_error(value: Any) -> StreamFault:
    """What an error says, with the status that the same error has as a response."""
    fault = fault_of(value)
    status = fault.status or _STATUSES.get(fault.code or "")
    return msgspec.structs.replace(fault, status=status)
