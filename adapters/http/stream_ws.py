"""A chat over a WebSocket: frames of JSON arrays of events. What the client sends is ignored."""

import asyncio
from collections.abc import Sequence
from typing import Final

from aiohttp import WSCloseCode, web

from adapters.http import views
from adapters.http.call import Call
from adapters.http.errors import Problem
from adapters.http.reading import ReadingMark
from engine.api import ChatFollower
from engine.chat.ids import MessageId
from engine.stream.events import Event

EVENTS_MAX: Final = 256
"""Events in one frame."""
CLOSE_OF_STATUS: Final = 4000
"""Codes from here on are ours to give; 4401 closes a socket whose token was revoked, 4404 of a chat
that was deleted."""
WRITE_SECONDS: Final = 60.0
_INCOMING_BYTES_MAX: Final = 4096


async def stream_ws(
    call: Call, after_id: MessageId, first: tuple[Event, ...], mark: ReadingMark
) -> web.WebSocketResponse:
    """Stream until the client goes or the server ends; `first` is told before anything else.

    `mark` is told what was sent.
    """
    # Pings find clients that vanished; pongs are answered while we receive.
    socket = web.WebSocketResponse(
        heartbeat=call.around.beat_seconds, max_msg_size=_INCOMING_BYTES_MAX
    )
    await socket.prepare(call.request)
    async with (
        call.around.streams.open(call.engine, call.chat_id, after_id) as follower,
        asyncio.TaskGroup() as group,
    ):
        receiving = group.create_task(_receive(socket, follower))
        try:
            await _send(socket, first)
            batches = call.around.streams.batches(
                follower,
                receiving.done,
                require_token=call.require_token,
                beat_seconds=call.around.beat_seconds,
            )
            async for events in batches:
                await _send(socket, events)
                mark.note(events)
            await socket.close(code=WSCloseCode.GOING_AWAY)
        except Problem as problem:
            await socket.close(code=CLOSE_OF_STATUS + problem.status, message=problem.code.encode())
        except (ConnectionError, TimeoutError):
            if call.request.transport is not None:
                call.request.transport.abort()
        finally:
            receiving.cancel()
    return socket


async def _receive(socket: web.WebSocketResponse, follower: ChatFollower) -> None:
    async for _message in socket:
        pass
    follower.close()


async def _send(socket: web.WebSocketResponse, events: Sequence[Event]) -> None:
    for begin in range(0, len(events), EVENTS_MAX):
        frame = [views.event(event) for event in events[begin : begin + EVENTS_MAX]]
        async with asyncio.timeout(WRITE_SECONDS):
            await socket.send_str(views.encode(frame).decode())
