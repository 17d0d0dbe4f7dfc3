"""Decode a reply of the Responses API, streamed or not, from OpenAI and everything that imitates it.

Pure: bytes in, parts out. The result is the same wherever the bytes are cut. A stream that just
stops is INCOMPLETE, never a silent success; an error inside a stream keeps the text before it.
"""

from typing import Any, Final

from engine.chat.content import Finish, Usage
from engine.models.chat_wire import fault_of
from engine.models.parts import StreamFault, StreamPart, StreamResult
from engine.models.reply_events import BODY, ReplyEvents, page_fault
from engine.models.response_items import ResponseItems
from engine.models.responses_wire import Event, dict_of, items_of, read_event, str_of, usage_of
from engine.models.sse import SseEvent

_DONE: Final = b"[DONE]"
_ENDS: Final = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}


class ResponsesDecoder:
    """A StreamDecoder for one reply. `provider` is noted on what only that provider can use."""

    __slots__ = (
        "_done",
        "_dropped",
        "_events",
        "_fault",
        "_finish",
        "_first_dropped",
        "_good",
        "_items",
        "_usage",
    )

    def __init__(self, provider: str) -> None:
        self._events = ReplyEvents()
        self._items = ResponseItems(provider)
        self._usage: Usage | None = None
        self._fault: StreamFault | None = None
        self._finish: Finish | None = None
        self._done = False
        self._good = False
        self._dropped = 0
        self._first_dropped = b""

    @property
    def is_closed(self) -> bool:
        """Whether the provider has said that nothing more will come."""
        return self._done or self._finish is not None

    @property
    def is_finished(self) -> bool:
        """Whether the answer is whole or has failed."""
        return self._finish is not None or self._fault is not None

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
        self._items.end(parts)
        if not self._good and self._dropped and self._fault is None:
            words = self._first_dropped.decode("utf-8", "replace").strip()
            self._fault = StreamFault(message=words[:2000] or "an empty event")
        return parts

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        finish = self._finish_now()
        return StreamResult(
            content=self._items.content(),
            finish=finish,
            usage=self._usage,
            fault=self._fault,
            runnable=finish is Finish.TOOL_CALLS,
            dropped_events=self._dropped,
        )

    def _finish_now(self) -> Finish:
        if self._fault is not None:
            return Finish.ERROR
        if self._finish is None:
            return Finish.INCOMPLETE
        if self._finish is Finish.STOP and self._items.has_calls:
            return Finish.TOOL_CALLS
        return self._finish

    # -- events ----------------------------------------------------------------------------------

    def _take(self, frame: SseEvent, parts: list[StreamPart]) -> None:
        event = read_event(frame.data)
        if event is None:
            self._take_no_json(frame)
            return
        self._good = True
        if frame.name == BODY or (not event.type and event.object == "response"):
            self._take_body(event, parts)
        else:
            self._on_event(event, event.type or frame.name, parts)

    def _take_no_json(self, frame: SseEvent) -> None:
        if frame.data.strip() == _DONE:
            self._done = True
        elif frame.name == BODY and (fault := page_fault(frame.data)) is not None:
            self._fault = fault
        elif frame.name == "error":
            self._fail(frame.data.decode("utf-8", "replace"))
        else:
            self._dropped += 1
            self._first_dropped = self._first_dropped or frame.data

    def _take_body(self, event: Event, parts: list[StreamPart]) -> None:
        if event.output is None and event.status is None:
            self._fail(event.error or event.message or event.detail)
            return
        response = {
            "output": event.output,
            "incomplete_details": event.incomplete_details,
            "usage": event.usage,
            "error": event.error,
        }
        self._on_end(response, str_of(event.status) or "completed", parts)

    def _on_event(self, event: Event, kind: str, parts: list[StreamPart]) -> None:
        if kind in _ENDS:
            response = dict_of(event.response)
            self._on_end(response, str_of(response.get("status")) or _ENDS[kind], parts)
        elif kind == "error":
            self._fail(event.error or {"message": event.message, "code": event.code})
        elif event.error and not kind.startswith("response."):
            self._fail(event.error)
        else:
            self._items.on_event(kind, event, parts)

    def _fail(self, said: Any) -> None:
        """Note what the provider says is wrong; of several errors the first one counts."""
        if self._fault is None:
            said = said or {"message": "the provider ended the answer with an error"}
            self._fault = fault_of(said)

    def _on_end(self, response: dict[str, Any], status: str, parts: list[StreamPart]) -> None:
        if not self._items:
            for item in items_of(response.get("output")):
                self._items.on_whole(item, parts)
        self._usage = usage_of(response.get("usage")) or self._usage
        match status:
            case "completed":
                self._finish = Finish.STOP
            case "incomplete":
                reason = dict_of(response.get("incomplete_details")).get("reason")
                is_filtered = reason == "content_filter"
                self._finish = Finish.CONTENT_FILTER if is_filtered else Finish.LENGTH
            case "failed" | "cancelled":
                self._finish = Finish.ERROR
                self._fail(response.get("error"))
            case _:
                # It is still being worked on, and nobody will tell this stream.
                self._done = True
