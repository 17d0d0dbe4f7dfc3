"""Keeps a chat's page up to date with server-sent events, at a pace that pages can show."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from adapters.console.live import Change, LiveChat
from engine.api import ChatFollower, ChatMissing, Engine, StoreUnavailable
from engine.chat.ids import ChatId, MessageId
from engine.stream.events import Event, MessageEvent

PAGE_SECONDS: Final = 0.08
"""Least time between two changes of a page: as fast as the eye reads."""
CHARACTERS_PER_SECOND: Final = 200_000
"""A long answer is laid out anew less often, so that it costs no more than a short one."""
BEAT_SECONDS: Final = 15.0
GONE_CHECK_SECONDS: Final = 1.0
STORE_RETRY_SECONDS: Final = 1.0
WRITE_SECONDS: Final = 60.0
RETRY_MS: Final = 1000
STREAM_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


class LiveStreams:
    """The streams that are open. After `close` no stream goes on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followers: set[ChatFollower] = set()
        self._closed = False

    def close(self) -> None:
        """End all streams; pages come back by themselves."""
        self._closed = True
        for follower in tuple(self._followers):
            follower.close()

    async def serve(
        self,
        request: web.Request,
        response: web.StreamResponse,
        chat: LiveChat,
        *,
        chat_id: ChatId,
        first: list[Change],
    ) -> None:
        """Stream until the page is gone or the server ends. A gone page's follower is freed."""
        async with self._open(chat_id, chat.last_id) as follower:
            try:
                await _write(response, f"retry: {RETRY_MS}\n\n".encode())
                if first:
                    await _write(response, _event(first, chat.last_id))
                async for events in self._batches(request, follower):
                    changes = await _drawn(chat, events)
                    changes += await self._answered(chat, chat_id)
                    await _write(response, _event(changes, chat.last_id))
                    await asyncio.sleep(
                        max(PAGE_SECONDS, chat.preview_length / CHARACTERS_PER_SECOND)
                    )
            except (ConnectionError, TimeoutError):
                if request.transport is not None:
                    request.transport.abort()

    async def _answered(self, chat: LiveChat, chat_id: ChatId) -> list[Change]:
        if not chat.needs_actions:
            return []
        try:
            return chat.set_actions(await self._engine.read_actions(chat_id, only_open=False))
        except StoreUnavailable:
            # Asked again with the next batch.
            return []

    @asynccontextmanager
    async def _open(self, chat_id: ChatId, after_id: MessageId) -> AsyncIterator[ChatFollower]:
        follower = self._engine.follow(chat_id, after_id=after_id)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            follower.close()

    async def _batches(
        self, request: web.Request, follower: ChatFollower
    ) -> AsyncIterator[tuple[Event, ...]]:
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + BEAT_SECONDS
        while not self._closed and not _is_gone(request):
            events: tuple[Event, ...] = ()
            try:
                events = await follower.take()
            except ChatMissing:
                # It was deleted. The page that comes back is told that there is none.
                return
            except StoreUnavailable:
                # Nothing is lost: the next take tells it.
                await asyncio.sleep(STORE_RETRY_SECONDS)
            if events or loop.time() >= beat_at:
                yield events
                beat_at = loop.time() + BEAT_SECONDS
            await _wait(follower)


async def _drawn(chat: LiveChat, events: tuple[Event, ...]) -> list[Change]:
    """What these events change. Whoever else waits is served between two messages."""
    changes: list[Change] = []
    for event in events:
        changes += chat.take(event)
        if isinstance(event, MessageEvent):
            await asyncio.sleep(0)
    return changes + chat.settle()


async def _wait(follower: ChatFollower) -> None:
    try:
        async with asyncio.timeout(GONE_CHECK_SECONDS):
            await follower.wait_for_news()
    except TimeoutError:
        return


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(WRITE_SECONDS):
        await response.write(data)


def _is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _event(changes: list[Change], last_id: MessageId) -> bytes:
    """One event; a heartbeat when nothing has changed."""
    if not changes:
        return b": still here\n\n"
    return b"id: %d\ndata: " % last_id + msgspec.json.encode(changes) + b"\n\n"
