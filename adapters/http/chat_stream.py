"""The stream endpoint: where it goes on, and by which of the two ways."""

from aiohttp import web

from adapters.http.call import Call
from adapters.http.open_streams import can_go_on_after
from adapters.http.queries import stream_query
from adapters.http.reading import reading
from adapters.http.stream_sse import stream_sse
from adapters.http.stream_ws import stream_ws
from engine.chat.ids import MessageId
from engine.stream.events import Event, HistoryReset, HistoryResetReason


async def stream(call: Call) -> web.StreamResponse:
    """Everything that happens in a chat, after its full state; over a WebSocket if that is asked.

    A client that has a message which was taken back meanwhile is told to begin anew.
    """
    after_id = stream_query(call.query, call.request.headers.get("Last-Event-ID"))
    await call.require_chat()
    first: tuple[Event, ...] = ()
    if not await can_go_on_after(call.engine, call.chat_id, after_id):
        after_id = MessageId(0)
        first = (HistoryReset(reason=HistoryResetReason.TRUNCATED),)
    stream = stream_ws if web.WebSocketResponse().can_prepare(call.request) else stream_sse
    async with reading(call) as mark:
        return await stream(call, after_id, first, mark)
