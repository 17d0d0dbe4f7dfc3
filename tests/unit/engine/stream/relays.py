"""Relays of one kind or the other, running, and followers that a test can wait on."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from uuid import uuid4

from engine.chat.changes import ChatChange
from engine.chat.content import text_of
from engine.chat.ids import ChatId, MessageId
from engine.stream.episode import START
from engine.stream.events import Event, LivePart, TextDelta
from engine.stream.follower import ChatFollower
from engine.stream.part_buffer import PartBuffer
from engine.stream.relay import Relay, Subscription
from engine.stream.relay_memory import MemoryRelay
from engine.stream.relay_redis import RedisRelay
from engine.stream.stream_loop import StreamLoop
from tests.fakes.live_chat import LiveChat
from tests.unit.engine.stream.committed import CommittedChats

PATIENCE_SECONDS = 10.0
BACKOFF_SECONDS = (0.01, 0.05)


def silence(url: str, milliseconds: int) -> None:
    """Let the server keep its connections and answer nobody for a while."""
    assert command(url, f"CLIENT PAUSE {milliseconds} ALL").startswith("+OK")


def cut_subscribers(url: str) -> None:
    """Close the connections that listen, and no others."""
    assert command(url, "CLIENT KILL TYPE pubsub").startswith(":")


def command(url: str, line: str) -> str:
    """What the server says to one command, or its beginning."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(line.encode() + b"\r\n")
        return connection.recv(65536).decode()


@asynccontextmanager
async def redis_relay(url: str, prefix: str, **settings: object) -> AsyncIterator[RedisRelay]:
    relay = RedisRelay(url, prefix=prefix, **{"backoff_seconds": BACKOFF_SECONDS} | settings)
    running = asyncio.create_task(relay.run())
    try:
        await until(lambda: relay.healthy)
        yield relay
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@asynccontextmanager
async def replicas(kind: str, url: str) -> AsyncIterator[tuple[Relay, Relay]]:
    """Where a test writes and where it reads: one relay, or two over one Redis."""
    prefix = f"tw:{uuid4()}:"
    if kind == "memory":
        relay = MemoryRelay(PartBuffer(keep_seconds=0.02))
        try:
            yield relay, relay
        finally:
            relay.close()
    elif kind == "redis":
        async with redis_relay(url, prefix) as relay:
            yield relay, relay
    else:
        async with redis_relay(url, prefix) as near, redis_relay(url, prefix) as far:
            yield near, far


async def until(is_true: Callable[[], object], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition that nobody announces."""
    async with asyncio.timeout(seconds):
        while not is_true():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.002)


@dataclass
class Watched:
    """A follower, all that it was told, and how things stand by it."""

    follower: ChatFollower
    events: list[Event] = field(default_factory=list)
    live: LiveChat = field(default_factory=LiveChat)

    async def take(self) -> tuple[Event, ...]:
        events = await self.follower.take()
        self.events += events
        self.live.apply_all(events)
        return events

    async def until(self, is_true: Callable[[LiveChat], object]) -> LiveChat:
        """Take until the chat stands as asked."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not is_true(self.live):
                    await self.follower.wait_for_news()
                    await self.take()
        except TimeoutError:
            raise AssertionError(f"not so after {self.events}") from None
        return self.live

    def told(self, kind: type) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def texts(self) -> list[str]:
        return [text_of(message.content) for message in self.live.messages]


@asynccontextmanager
async def watching(loop: StreamLoop, chat_id: ChatId, after_id: int = 0) -> AsyncIterator[Watched]:
    async with loop.follow(chat_id, MessageId(after_id)) as follower:
        yield Watched(follower)


@asynccontextmanager
async def stream_loop(
    reader: CommittedChats, relay: Relay, *, poll_seconds: float = 60.0
) -> AsyncIterator[StreamLoop]:
    """A loop that polls so rarely that only hints can be why something arrives, unless told."""
    loop = StreamLoop(
        reader=reader,
        relay=relay,
        poll_seconds=poll_seconds,
        poll_seconds_with_bus=poll_seconds,
    )
    polling = asyncio.create_task(loop.run())
    try:
        yield loop
    finally:
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling


class Ear:
    """A subscription and what it heard."""

    def __init__(self, relay: Relay, chat_id: ChatId) -> None:
        self.changes: list[ChatChange] = []
        self.tells = 0
        self.subscription: Subscription = relay.subscribe(
            chat_id, on_change=self.changes.append, on_parts=self._count
        )

    def _count(self) -> None:
        self.tells += 1

    @property
    def text(self) -> str:
        """The text of the newest episode."""
        buffer = self.subscription.buffer
        parts: list[LivePart] = []
        if buffer is not None:
            parts = [event.part for event in buffer.read(START).events]
        return "".join(part.text for part in parts if isinstance(part, TextDelta))
