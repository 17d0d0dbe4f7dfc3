"""A chat as server-sent events. Each carries the id after which a reconnecting client goes on."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from aiohttp import web

from adapters.http import views
from adapters.http.call import Call
from adapters.http.errors import Problem
from adapters.http.reading import ReadingMark
from engine.chat.ids import MessageId
from engine.stream.events import Event, HistoryReset, MessageEvent

RETRY_MS: Final = 1000
WRITE_SECONDS: Final = 60.0
"""A client that takes nothing for so long is let go; it can come back."""
_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


async def stream_sse(
    call: Call, after_id: MessageId, first: tuple[Event, ...], mark: ReadingMark
) -> web.StreamResponse:
    """Stream until the client goes or the server ends; `first` is told before anything else.

    `mark` is told what was sent.
    """
    request, streams = call.request, call.around.streams
    response = web.StreamResponse(headers=_HEADERS)
    await response.prepare(request)
    writer = EventWriter(after_id)

    def is_gone() -> bool:
        return request.transport is None or request.transport.is_closing()

    async with streams.open(call.engine, call.chat_id, after_id) as follower:
        try:
            await response.write(f"retry: {RETRY_MS}\n\n".encode() + writer.write(first))
            batches = streams.batches(
                follower,
                is_gone,
                require_token=call.require_token,
                beat_seconds=call.around.beat_seconds,
            )
            async for events in batches:
                data = writer.write(events) if events else b": still here\n\n"
                async with asyncio.timeout(WRITE_SECONDS):
                    await response.write(data)
                mark.note(events)
        except Problem as problem:
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(WRITE_SECONDS):
                    await response.write(_farewell(problem))
        except (ConnectionError, TimeoutError):
            # The client went away, or takes nothing: its follower is freed.
            _abort(request)
    return response


def _farewell(problem: Problem) -> bytes:
    """Why the stream ends. A reconnecting client is then told by the status."""
    error = {"kind": problem.code, "message": problem.message}
    body = views.encode({"type": "error", "error": error})
    return b"event: error\ndata: " + body + b"\n\n"


class EventWriter:
    """Turns events into the bytes of an event stream, each with the last message's id."""

    def __init__(self, after_id: MessageId) -> None:
        self._last_id = after_id

    def write(self, events: Iterable[Event]) -> bytes:
        """The bytes of these events."""
        return b"".join(self._one(event) for event in events)

    def _one(self, event: Event) -> bytes:
        if isinstance(event, MessageEvent):
            # An amended message is an old one; the client has those after it.
            self._last_id = max(self._last_id, event.message.id)
        elif isinstance(event, HistoryReset):
            self._last_id = event.after_id
        body = views.event(event)
        head = f"id: {self._last_id}\nevent: {body['type']}\ndata: ".encode()
        return head + views.encode(body) + b"\n\n"


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
