"""Decode an Anthropic Messages reply, streamed or not.

Pure: bytes in, parts out. The result is the same wherever the bytes are cut. A stream that just
stops is INCOMPLETE, never a silent success; an error inside a stream keeps the text before it.
"""

from typing import Final

from engine.chat.content import Finish
from engine.models.anthropic_blocks import Blocks
from engine.models.anthropic_wire import (
    FINISH,
    WireDelta,
    WireEvent,
    WireUsage,
    error_value,
    events_of_body,
    fault_of_error,
    message_of,
    read_event,
    usage_of,
)
from engine.models.call_assembly import is_json_object
from engine.models.parts import StreamFault, StreamPart, StreamResult
from engine.models.reply_events import BODY, ReplyEvents, page_fault
from engine.models.sse import SseEvent

OVERLAPPING: Final = "overlapping messages"
_DONE: Final = b"[DONE]"


class AnthropicDecoder:
    """A StreamDecoder for one reply. `provider` is noted on what only it understands."""

    __slots__ = (
        "_blocks",
        "_done",
        "_dropped",
        "_events",
        "_fault",
        "_first_dropped",
        "_good",
        "_message_id",
        "_raw_finish",
        "_usage",
    )

    def __init__(self, provider: str) -> None:
        self._events = ReplyEvents()
        self._blocks = Blocks(provider)
        self._usage = WireUsage()
        self._message_id: str | None = None
        self._fault: StreamFault | None = None
        self._raw_finish = ""
        self._done = False
        self._good = False
        self._dropped = 0
        self._first_dropped = b""

    @property
    def is_closed(self) -> bool:
        """Whether the provider has said that nothing more will come."""
        return self._done

    @property
    def is_finished(self) -> bool:
        """Whether the answer is whole or has failed, though the last event may still come."""
        return self._done or bool(self._raw_finish) or self._fault is not None

    def feed(self, chunk: bytes) -> list[StreamPart]:
        """Return the parts that this chunk completes; neighbours of one kind are joined."""
        parts: list[StreamPart] = []
        for event in self._events.feed(chunk):
            self._take(event, parts)
        return parts

    def end(self) -> list[StreamPart]:
        """Take note that the body has ended; return what had to wait for that."""
        parts: list[StreamPart] = []
        for event in self._events.end():
            self._take(event, parts)
        if not self._good and self._dropped and self._fault is None:
            words = self._first_dropped.decode("utf-8", "replace").strip()
            self._fault = StreamFault(message=words[:2000] or "an empty event")
        return parts

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        finish = self._finish()
        return StreamResult(
            content=self._blocks.content(),
            finish=finish,
            usage=usage_of(self._usage),
            fault=self._fault,
            runnable=finish is Finish.TOOL_CALLS
            and (
                bool(self._raw_finish)
                or all(is_json_object(call.args) for call in self._blocks.calls())
            ),
            dropped_events=self._dropped,
        )

    def _finish(self) -> Finish:
        if self._fault is not None:
            return Finish.ERROR
        if not self._raw_finish and not self._done:
            return Finish.INCOMPLETE
        finish = FINISH.get(self._raw_finish, Finish.STOP)
        if finish in (Finish.STOP, Finish.CONTINUE) and self._blocks.has_calls:
            # What was sent decides: a call that waits for its result is never left behind.
            return Finish.TOOL_CALLS
        return finish

    # -- events ----------------------------------------------------------------------------------

    def _take(self, event: SseEvent, parts: list[StreamPart]) -> None:
        data = event.data
        if event.name == BODY and (fault := page_fault(data)) is not None:
            self._fault = self._fault or fault
            return
        wire, is_odd = read_event(data)
        if event.name == "error" or (wire is not None and (wire.type == "error" or wire.error)):
            self._fail((wire and wire.error) or error_value(data))
        elif wire is None:
            self._take_no_event(data)
        elif wire.type == "message" and wire.content is not None:
            for each in events_of_body(wire):
                self._on_event(each, parts, is_odd=is_odd)
        else:
            self._on_event(wire, parts, is_odd=is_odd)

    def _take_no_event(self, data: bytes) -> None:
        if data.strip() == _DONE:
            self._done = True
        else:
            self._dropped += 1
            self._first_dropped = self._first_dropped or data

    def _on_event(self, event: WireEvent, parts: list[StreamPart], *, is_odd: bool) -> None:
        self._good = True
        index = event.index or 0
        match event.type:
            case "content_block_delta":
                if event.delta is not None:
                    self._blocks.grow(index, event.delta, parts, is_odd=is_odd)
            case "content_block_start":
                self._blocks.begin(index, event.content_block, parts)
            case "content_block_stop":
                self._blocks.close(index, parts)
            case "message_start":
                self._on_start(event)
            case "message_delta":
                self._on_message_delta(event.delta, event.usage, parts)
            case "message_stop":
                self._blocks.close_all(parts)
                self._done = True
            case _:
                # A ping, or something newer than this code.
                pass

    def _on_start(self, event: WireEvent) -> None:
        message = message_of(event.message)
        if message.usage is not None:
            self._usage = self._usage.updated_by(message.usage)
        if self._message_id is None:
            self._message_id = message.id or ""
        elif message.id != self._message_id:
            # Some gateway has spliced a second attempt onto a first one that broke off.
            self._blocks.tear()
            self._fail(OVERLAPPING)

    def _on_message_delta(
        self, delta: WireDelta | None, usage: WireUsage | None, parts: list[StreamPart]
    ) -> None:
        if usage is not None:
            self._usage = self._usage.updated_by(usage)
        if delta is not None and delta.stop_reason:
            self._raw_finish = delta.stop_reason
            self._blocks.close_all(parts)

    def _fail(self, value: object) -> None:
        self._fault = self._fault or fault_of_error(value)
