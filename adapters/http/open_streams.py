"""The streams that are open: their followers are freed when the client goes or the server ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from adapters.http.errors import not_found
from engine.api import ChatFollower, ChatMissing, Engine, StoreUnavailable
from engine.chat.ids import ChatId, MessageId
from engine.stream.events import Event

GONE_CHECK_SECONDS: Final = 1.0
"""How soon a client that went away without a word while nothing happened is noticed."""
STORE_RETRY_SECONDS: Final = 1.0
BEAT_SECONDS: Final = 15.0
"""Proxies close what is silent for a minute, many sooner; also how long a revoked token streams on."""


class OpenStreams:
    """Counts and ends streams. After `close` no stream goes on."""

    def __init__(self) -> None:
        self._followers: set[ChatFollower] = set()
        self._closed = False

    @property
    def count(self) -> int:
        """Streams that are open."""
        return len(self._followers)

    def close(self) -> None:
        """End all streams; clients come back to another replica."""
        self._closed = True
        for follower in tuple(self._followers):
            follower.close()

    @asynccontextmanager
    async def open(
        self, engine: Engine, chat_id: ChatId, after_id: MessageId
    ) -> AsyncIterator[ChatFollower]:
        """A follower for the length of the block."""
        follower = engine.follow(chat_id, after_id=after_id)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            follower.close()

    async def batches(
        self,
        follower: ChatFollower,
        is_gone: Callable[[], bool],
        *,
        require_token: Callable[[], Awaitable[None]],
        beat_seconds: float,
    ) -> AsyncIterator[tuple[Event, ...]]:
        """All that is new, whenever there is something; nothing at all after `beat_seconds` of that.

        Ends when the client is gone or the server ends. While the store is away it waits. What
        `require_token` raises, asked every `beat_seconds`, passes through; Problem 404 comes when the
        chat is deleted.
        """
        loop = asyncio.get_running_loop()
        beat_at = check_at = loop.time() + beat_seconds
        while not self._closed and not is_gone():
            if loop.time() >= check_at:
                # What is not known while the store is away is asked again.
                with suppress(StoreUnavailable):
                    await require_token()
                check_at = loop.time() + beat_seconds
            events = await self._take(follower)
            if events or loop.time() >= beat_at:
                yield events
                beat_at = loop.time() + beat_seconds
            await _wait(follower)

    async def _take(self, follower: ChatFollower) -> tuple[Event, ...]:
        try:
            return await follower.take()
        except StoreUnavailable:
            # Nothing is lost: the next take tells it.
            await asyncio.sleep(STORE_RETRY_SECONDS)
            return ()
        except ChatMissing:
            raise not_found("chat") from None


async def _wait(follower: ChatFollower) -> None:
    try:
        async with asyncio.timeout(GONE_CHECK_SECONDS):
            await follower.wait_for_news()
    except TimeoutError:
        return


async def can_go_on_after(engine: Engine, chat_id: ChatId, after_id: MessageId) -> bool:
    """Whether the message that a client has last is still there, so that it can go on from it."""
    if after_id == 0:
        return True
    page = await engine.read_messages(chat_id, after=MessageId(after_id - 1), limit=1)
    return bool(page) and page[0].id == after_id
