"""The relay of several replicas: what happens here is told here at once, and elsewhere over Redis.

Redis may go away and come back at any time. Meanwhile nothing here waits for it: hints of this
replica still arrive here, those of others are found by polling, and parts of others come late.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from engine.chat.changes import ChatChange, Episode
from engine.chat.ids import ChatId
from engine.stream.episode import EpisodeBuffer
from engine.stream.frames import (
    ORIGIN_LENGTH,
    FrameInvalid,
    chat_channel,
    decode,
    origin_of,
    wake_channel,
)
from engine.stream.local_hub import LocalHub
from engine.stream.part_buffer import EpisodeWriter, PartBuffer
from engine.stream.redis_mirror import RedisMirror
from engine.stream.redis_publisher import RedisPublisher
from engine.stream.redis_subscriber import RedisSubscriber
from engine.stream.relay import OnChange, OnNews, OnWake, Wake

PREFIX = "tw:"
COALESCE_MS = 30
"""How long parts are joined before they leave the replica; a fifth of what an eye notices."""
READY_SECONDS = 1.0
"""How long a new subscription waits for Redis; without it, polling serves it."""
FLUSH_SECONDS = 0.5
"""How long a replica that stops tries to send its last hints; they wake workers elsewhere."""
SOCKET_SECONDS = 5.0
"""How long a reply of Redis may take."""
CONNECT_SECONDS = 2.0


class RedisRelay:
    """A replica's tie to the others. Works from the start; `run` connects it and keeps it so."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = PREFIX,
        coalesce_ms: float = COALESCE_MS,
        parts: PartBuffer | None = None,
        quiet_seconds: float = SOCKET_SECONDS,
        backoff_seconds: tuple[float, float] = (0.05, 5.0),
    ) -> None:
        self._prefix = prefix
        self._origin = os.urandom(ORIGIN_LENGTH)
        self._hub = LocalHub()
        self._parts = parts or PartBuffer()
        self._chat_of: dict[bytes, ChatId] = {}
        pool = ConnectionPool.from_url(
            url,
            protocol=2,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            # Whoever sends decides when to try again.
            retry=Retry(NoBackoff(), 0),
        )
        self._client = Redis.from_pool(pool)
        self._mirror = RedisMirror(self._client, self._parts, prefix=prefix)
        self._publisher = RedisPublisher(
            self._client,
            prefix=prefix,
            origin=self._origin,
            coalesce_seconds=coalesce_ms / 1000,
            on_down=self._hub.tell_gap,
            backoff_seconds=backoff_seconds,
        )
        self._subscriber = RedisSubscriber(
            pool,
            on_message=self._on_message,
            on_up=self._on_up,
            on_down=self._on_down,
            quiet_seconds=quiet_seconds,
            backoff_seconds=backoff_seconds,
        )

    @property
    def healthy(self) -> bool:
        """Whether hints arrive and leave."""
        return self._subscriber.is_up and self._publisher.is_up

    @property
    def spans_replicas(self) -> bool:
        """Whether hints of other replicas arrive here."""
        return self._subscriber.is_up

    async def run(self) -> None:
        """Serve until cancelled, then send what is left if Redis is there, and disconnect."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._subscriber.run())
                tasks.create_task(self._publisher.run())
                tasks.create_task(self._mirror.run())
        finally:
            self._parts.close()
            self._mirror.give_up()
            if self._publisher.is_up:
                with suppress(RedisError, OSError):
                    async with asyncio.timeout(FLUSH_SECONDS):
                        await self._publisher.flush()
            await self._client.aclose(close_connection_pool=True)

    def publish_change(self, change: ChatChange) -> None:
        """Tell watchers here, then workers here, then the other replicas."""
        self._hub.tell_own(change)
        self._publisher.publish(change)

    def subscribe(
        self, chat_id: ChatId, *, on_change: OnChange, on_parts: OnNews | None = None
    ) -> "RedisSubscription":
        """Watch a chat."""
        return RedisSubscription(self, chat_id, on_change, on_parts)

    def subscribe_wakes(self, on_wake: OnWake) -> Callable[[], None]:
        """Be told of chats that need a worker, and that have one."""
        self._subscriber.add(wake_channel(self._prefix))
        remove = self._hub.add_wake(on_wake)

        def unsubscribe() -> None:
            remove()
            if not self._hub.wants_wakes:
                self._subscriber.remove(wake_channel(self._prefix))

        return unsubscribe

    def subscribe_gaps(self, on_gap: OnNews) -> Callable[[], None]:
        """Be told when Redis goes away and when it is back."""
        return self._hub.add_gap(on_gap)

    def open_episode(self, chat_id: ChatId, episode: Episode) -> EpisodeWriter:
        """Begin to stream an episode."""
        writer = self._parts.open(chat_id, episode)
        outgoing = self._publisher.open(chat_id, writer.buffer)
        writer.on_append = lambda: self._publisher.note_parts(outgoing)
        writer.on_close = lambda: self._publisher.end(outgoing)
        return writer

    # -- for RedisSubscription -------------------------------------------------------------------

    def watch(self, chat_id: ChatId, on_change: OnChange) -> None:
        """Hear of a chat."""
        if self._hub.add(chat_id, on_change):
            channel = chat_channel(self._prefix, chat_id)
            self._chat_of[channel] = chat_id
            self._subscriber.add(channel)

    def unwatch(self, chat_id: ChatId, on_change: OnChange) -> None:
        """Hear of it no more, if nobody else does."""
        if self._hub.remove(chat_id, on_change):
            channel = chat_channel(self._prefix, chat_id)
            del self._chat_of[channel]
            self._subscriber.remove(channel)
            self._mirror.forget(chat_id)

    @property
    def parts(self) -> PartBuffer:
        """The episodes known here."""
        return self._parts

    def seek(self, chat_id: ChatId, episode: Episode) -> None:
        """Fetch an episode if another replica streams it."""
        self._mirror.seek(chat_id, episode)

    async def wait_until_ready(self, chat_id: ChatId) -> None:
        """Return when hints of the chat arrive and what was sought is here, or in a second."""
        if not self._subscriber.is_up:
            return
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._subscriber.wait_until_confirmed(chat_channel(self._prefix, chat_id))
                await self._mirror.wait_until_fetched(chat_id)
        except TimeoutError:
            return

    # -- callbacks of the subscriber -------------------------------------------------------------

    def _on_message(self, channel: bytes, frame: bytes) -> None:
        if origin_of(frame) == self._origin:
            return
        try:
            body = decode(frame)
        except FrameInvalid:
            # Of a release that knows more. Reading the database helps in any case.
            self._hub.tell_gap()
            return
        if not isinstance(body, ChatChange):
            chat_id = self._chat_of.get(channel)
            if chat_id is not None:
                self._mirror.take_published(chat_id, body)
        elif channel in self._chat_of:
            self._hub.tell_change(body)
        else:
            self._hub.tell_wake(Wake(body, is_from_elsewhere=True))

    def _on_up(self) -> None:
        self._publisher.check_streams()
        self._mirror.fetch_all()
        self._hub.tell_gap()

    def _on_down(self) -> None:
        self._mirror.give_up()
        self._hub.tell_gap()


class RedisSubscription:
    """A watcher on one replica."""

    def __init__(
        self,
        relay: RedisRelay,
        chat_id: ChatId,
        on_change: OnChange,
        on_parts: OnNews | None,
    ) -> None:
        self._relay = relay
        self._chat_id = chat_id
        self._on_change = on_change
        self._on_parts = on_parts
        self._is_open = True
        self._chat = relay.parts.watch(chat_id, on_parts) if on_parts is not None else None
        relay.watch(chat_id, on_change)

    @property
    def buffer(self) -> EpisodeBuffer | None:
        """The newest episode known on this replica."""
        return self._chat.buffer if self._chat is not None else None

    def seek(self, episode: Episode) -> None:
        """Fetch the episode if another replica streams it."""
        if self._chat is not None and self._is_open:
            self._relay.seek(self._chat_id, episode)

    async def wait_until_ready(self) -> None:
        """Return when hints arrive and what was sought is here, or in a second."""
        await self._relay.wait_until_ready(self._chat_id)

    def close(self) -> None:
        """Stop watching."""
        if not self._is_open:
            return
        self._is_open = False
        self._relay.unwatch(self._chat_id, self._on_change)
        if self._on_parts is not None:
            self._relay.parts.unwatch(self._chat_id, self._on_parts)
