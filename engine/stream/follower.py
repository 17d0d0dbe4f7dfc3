"""One subscriber of one chat: committed state and live parts as one stream of events.

Theory of operation. A follower pulls. Hints and parts only mark it as having news, and it keeps at
most one hint, the newest; what there is to tell is worked out when it is taken: messages by revision
from the database, parts by position from the episode's buffer. So a follower holds no backlog, being
slow costs nobody anything, and whatever was skipped is told all the same, joined.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from engine.chat.changes import NOTHING_KNOWN, ChatChange, Episode, Versions
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import SyncRead
from engine.stream.episode import START, EpisodeBuffer
from engine.stream.errors import ChatMissing
from engine.stream.events import Event, PreviewReset, PreviewResetReason
from engine.stream.reasoning import events_without_reasoning
from engine.stream.relay import Relay, Subscription
from engine.stream.shared_reads import SharedReads
from engine.stream.sync import (
    FROM_THE_START,
    Cursor,
    Update,
    advance,
    advance_by_hint,
    begin,
    begin_again,
    is_news,
    restart_after,
)


class ChatFollower:
    """The events of a chat, each exactly once, as events.py describes them. For one consumer.

    `async for event in follower` streams them. A consumer with a pace of its own calls `take` when
    it likes, and `wait_for_news` between: the first take is the full state, and each brings all
    that is new, deltas joined. An error of the reader passes through and loses nothing: take again.
    """

    def __init__(
        self,
        chat_id: ChatId,
        *,
        after_id: MessageId,
        relay: Relay,
        reads: SharedReads,
        on_close: Callable[["ChatFollower"], None] | None = None,
        with_reasoning: bool = True,
    ) -> None:
        self.chat_id = chat_id
        self._after_id = after_id
        self._relay = relay
        self._reads = reads
        self._on_close = on_close
        self._with_reasoning = with_reasoning
        self._subscription: Subscription | None = None
        self._cursor: Cursor | None = None
        self._hint: ChatChange | None = None
        self._hint_polled = False
        self._read_for: Episode | None = None
        self._buffer: EpisodeBuffer | None = None
        self._position = START
        self._has_news = True
        self._is_missing = False
        self._waiter: asyncio.Future[None] | None = None
        # Invariant: whatever the cursor has gone past is here or taken.
        self._untaken: list[Event] = []
        self._ready: deque[Event] = deque()
        self._closed = False

    async def wait_for_news(self) -> None:
        """Return when a take would probably bring something; at once before the first, or closed."""
        while not self._has_news:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    async def take(self) -> tuple[Event, ...]:
        """All that is new; nothing new is an empty answer. Raises ChatMissing for no such chat."""
        if self._closed:
            return ()
        self._has_news = False
        try:
            if self._subscription is None or self._cursor is None:
                await self._begin()
            else:
                await self._go_on(self._subscription, self._cursor)
        except BaseException:
            self._has_news = True
            raise
        events = tuple(
            self._untaken if self._with_reasoning else events_without_reasoning(self._untaken)
        )
        self._untaken.clear()
        return events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            await self.wait_for_news()
            if self._closed:
                raise StopAsyncIteration
            self._ready.extend(await self.take())
        return self._ready.popleft()

    def close(self) -> None:
        """End it: a waiting consumer is woken, iteration stops. Closing twice is closing once."""
        if self._closed:
            return
        self._closed = True
        self._ready.clear()
        if self._subscription is not None:
            self._subscription.close()
        if self._on_close is not None:
            self._on_close(self)
        self._tell()

    async def aclose(self) -> None:
        """As `close`, for contextlib.aclosing."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def tell_versions(self, change: ChatChange) -> None:
        """What a poll found. Only news counts, so repeating it costs nothing."""
        if self._cursor is not None and is_news(self._cursor, change, polled=True):
            self._note(change, polled=True)

    def tell_missing(self) -> None:
        """A poll did not find the chat. The next take looks for itself, and raises ChatMissing."""
        if self._cursor is not None:
            self._is_missing = True
            self._tell()

    # -- callbacks of the relay ------------------------------------------------------------------

    def _on_change(self, change: ChatChange) -> None:
        if self._cursor is None or is_news(self._cursor, change, polled=False):
            self._note(change, polled=False)

    def _note(self, change: ChatChange, *, polled: bool) -> None:
        held = self._hint
        if held is None or change.snapshot_version >= held.snapshot_version:
            self._hint, self._hint_polled = change, polled
        self._tell()

    def _tell(self) -> None:
        self._has_news = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- taking ----------------------------------------------------------------------------------

    async def _begin(self) -> None:
        """Subscribe, then read: a change in between arrives as a hint."""
        subscription = self._subscription
        if subscription is None:
            subscription = self._subscription = self._relay.subscribe(
                self.chat_id, on_change=self._on_change, on_parts=self._tell
            )
        await subscription.wait_until_ready()
        read = await self._read(NOTHING_KNOWN, self._after_id)
        update = begin(read, self._after_id)
        if update.cursor.is_live:
            subscription.seek(update.cursor.episode)
            await subscription.wait_until_ready()
        self._tell_update(subscription, update)

    async def _go_on(self, subscription: Subscription, cursor: Cursor) -> None:
        if self._is_missing:
            await self._read(cursor.versions, FROM_THE_START)
            self._is_missing = False
        while (update := await self._next_update(subscription, cursor)) is not None:
            cursor = self._tell_update(subscription, update)
        self._tell_parts(subscription, cursor)

    async def _next_update(self, subscription: Subscription, cursor: Cursor) -> Update | None:
        hint, polled = self._hint, self._hint_polled
        self._hint = None
        if hint is not None and is_news(cursor, hint, polled=polled):
            update = advance_by_hint(cursor, hint)
            if update is not None:
                return update
            try:
                return await self._read_on(cursor, hint.snapshot_version)
            except BaseException:
                self._note(hint, polled=polled)
                raise
        # Parts of an episode that no hint spoke of: what came before it must be told first.
        buffer = subscription.buffer
        if buffer is None or buffer.episode <= cursor.episode or buffer.episode == self._read_for:
            return None
        self._read_for = buffer.episode
        return await self._read_on(cursor, cursor.versions.snapshot_version)

    async def _read_on(self, cursor: Cursor, snapshot_version: int) -> Update:
        read = await self._read(cursor.versions, FROM_THE_START)
        if read.chat.versions.snapshot_version < snapshot_version:
            # Shared with one who asked before the change was committed.
            read = await self._read(cursor.versions, FROM_THE_START)
        after_id = restart_after(cursor, read)
        if after_id is None:
            return advance(cursor, read)
        return begin_again(await self._read(NOTHING_KNOWN, after_id), after_id)

    async def _read(self, known: Versions, after_id: MessageId) -> SyncRead:
        read = await self._reads.read_sync(self.chat_id, known, after_id)
        if read is None:
            raise ChatMissing(self.chat_id)
        return read

    # -- telling ---------------------------------------------------------------------------------

    def _tell_update(self, subscription: Subscription, update: Update) -> Cursor:
        """Tell the update's events and stand where it leads."""
        before, cursor = self._cursor, update.cursor
        self._cursor = cursor
        self._untaken += update.events
        if before is None or cursor.episode != before.episode or update.after_parts:
            self._buffer, self._position = None, START
            if cursor.is_live and before is not None:
                subscription.seek(cursor.episode)
        if update.after_parts:
            cursor = self._tell_parts(subscription, cursor)
            self._untaken += update.after_parts
        return cursor

    def _tell_parts(self, subscription: Subscription, cursor: Cursor) -> Cursor:
        """Tell what is new of the current episode, never of another."""
        buffer = subscription.buffer
        if buffer is None or buffer.episode != cursor.episode or not cursor.is_live:
            return cursor
        if buffer is not self._buffer:
            if cursor.has_preview:
                self._untaken.append(PreviewReset(reason=PreviewResetReason.RESENT))
            self._buffer, self._position = buffer, START
        reading = buffer.read(self._position)
        self._position = reading.position
        if reading.lost:
            self._untaken.append(PreviewReset(reason=PreviewResetReason.OVERFLOW))
        if not reading.events:
            return cursor
        self._untaken += reading.events
        if not cursor.has_preview:
            cursor = self._cursor = replace(cursor, has_preview=True)
        return cursor
