"""Whoever follows a chat reads it: the mark moves when a stream begins and when it ends, never between."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from adapters.http.call import Call
from engine.api import StoreError
from engine.chat.ids import MessageId
from engine.stream.events import Event, MessageEvent


class ReadingMark:
    """The newest message that was sent to a reader."""

    def __init__(self) -> None:
        self.last_id = MessageId(0)

    def note(self, events: Iterable[Event]) -> None:
        """Take note that these were sent."""
        for event in events:
            if isinstance(event, MessageEvent):
                self.last_id = max(self.last_id, event.message.id)


@asynccontextmanager
async def reading(call: Call) -> AsyncIterator[ReadingMark]:
    """Mark what there is as read now, and what was sent when the block ends, by whatever way."""
    mark = ReadingMark()
    await _mark(call, None)
    try:
        yield mark
    finally:
        if mark.last_id:
            await _mark(call, mark.last_id)


async def _mark(call: Call, message_id: MessageId | None) -> None:
    # A mark is a convenience: that the database is away is no reason to end a stream.
    with suppress(StoreError):
        await call.engine.mark_read(call.chat_id, call.caller.author.identity, message_id)
