"""What leaves a replica for Redis: hints at once, parts joined over a few tens of milliseconds.

Theory of operation. The publisher is one more reader of the episodes that run here, so parts wait in
their buffer and nowhere else: while Redis is away it merely falls behind, and afterwards it sends what
is new as one frame. Hints wait in a bounded queue. Each frame goes into the episode's stream, for
those who come later, and is published, for those who are there.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId
from engine.stream.cancellation import raise_if_cancelled
from engine.stream.episode import START, EpisodeBuffer, Position
from engine.stream.frames import (
    ENTRY_FIELD,
    chat_channel,
    encode_change,
    encode_parts,
    episode_key,
    wake_channel,
)

logger = logging.getLogger(__name__)

HINTS_MAX = 10_000
"""Hints that may wait while Redis is away; the oldest are dropped, as pollers repair it."""
BATCH_MAX = 256
"""Hints in one round trip."""
ENTRIES_MAX = 10_000
"""Entries kept of one episode, about five minutes of uninterrupted parts. Older ones are trimmed."""
EXPIRE_SECONDS = 600
"""How long an episode outlives its last part, if its replica dies."""
EXPIRE_ENDED_SECONDS = 30
"""How long it outlives its end."""
RENEW_SECONDS = 120.0
"""How often its time to live is set anew."""
BACKOFF_SECONDS = (0.05, 2.0)
"""The first and the longest wait before sending again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Parts made ready to go, and where the episode stands once they have gone."""

    data: bytes
    position: Position
    seq: int


@dataclass(slots=True, eq=False)
class Outgoing:
    """One episode on its way.

    `position` and `sent_seq`: what of it was sent for certain. `unsure`: a frame that may have
    arrived although sending it failed; it goes again as it was, so that its doubles can be told.
    `renew_at`: when its time to live is set next, by the loop's clock. `is_lost`: Redis has
    forgotten it.
    """

    buffer: EpisodeBuffer
    channel: bytes
    key: bytes
    position: Position = START
    sent_seq: int = 0
    unsure: _Frame | None = None
    renew_at: float = 0.0
    ended: bool = False
    is_lost: bool = False


class RedisPublisher:
    """Takes hints and parts without waiting; `run` sends them. `on_down` is called once per outage."""

    def __init__(
        self,
        client: Redis,
        *,
        prefix: str,
        origin: bytes,
        coalesce_seconds: float,
        on_down: Callable[[], None],
        backoff_seconds: tuple[float, float] = BACKOFF_SECONDS,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._origin = origin
        self._coalesce_seconds = coalesce_seconds
        self._on_down = on_down
        self._backoff_seconds = backoff_seconds
        self._hints: deque[tuple[bytes, bytes]] = deque(maxlen=HINTS_MAX)
        self._dirty: dict[Outgoing, None] = {}
        self._open: dict[Outgoing, None] = {}
        self._work = asyncio.Event()
        self._has_hints = asyncio.Event()
        self._must_check = False
        self._said_refused = False
        self.is_up = True

    def publish(self, change: ChatChange) -> None:
        """Send a hint to the chat's followers elsewhere, and to workers where it concerns them."""
        frame = encode_change(self._origin, change)
        self._hints.append((chat_channel(self._prefix, change.chat_id), frame))
        if change.wake or change.taken:
            self._hints.append((wake_channel(self._prefix), frame))
        self._has_hints.set()
        self._work.set()

    def open(self, chat_id: ChatId, buffer: EpisodeBuffer) -> Outgoing:
        """Begin to send an episode."""
        outgoing = Outgoing(
            buffer=buffer,
            channel=chat_channel(self._prefix, chat_id),
            key=episode_key(self._prefix, chat_id, buffer.episode),
        )
        self._open[outgoing] = None
        return outgoing

    def note_parts(self, outgoing: Outgoing) -> None:
        """Send the episode's new parts within the coalescing time."""
        if outgoing not in self._dirty:
            self._dirty[outgoing] = None
            self._work.set()

    def end(self, outgoing: Outgoing) -> None:
        """Send what is left and let the stream expire soon."""
        outgoing.ended = True
        self._open.pop(outgoing, None)
        self.note_parts(outgoing)

    def check_streams(self) -> None:
        """Look whether Redis still has what it was sent, as it has been away."""
        self._must_check = True
        self._work.set()

    async def run(self) -> None:
        """Send. Never returns, and outlives any failure of Redis."""
        loop = asyncio.get_running_loop()
        shortest, longest = self._backoff_seconds
        backoff, parts_due = shortest, 0.0
        while True:
            raise_if_cancelled()
            await self._wait_for_work(parts_due - loop.time())
            parts: tuple[Outgoing, ...] = ()
            if loop.time() >= parts_due:
                parts, parts_due = tuple(self._dirty), loop.time() + self._coalesce_seconds
            try:
                if self._must_check:
                    await self._find_lost_streams()
                if await self._send(parts):
                    self.is_up, backoff = True, shortest
            except (RedisError, OSError) as error:
                self._note_down(error)
                await self._client.connection_pool.disconnect(inuse_connections=False)
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, longest)

    async def flush(self) -> None:
        """Send all there is, once, after `run` has ended. Raises what Redis raises."""
        while self._hints or self._dirty:
            await self._send(tuple(self._dirty))

    async def _wait_for_work(self, parts_wait_seconds: float) -> None:
        """Return when there is something to send: hints at once, parts when they are due."""
        await self._work.wait()
        if not self._hints and parts_wait_seconds > 0:
            try:
                async with asyncio.timeout(parts_wait_seconds):
                    await self._has_hints.wait()
            except TimeoutError:
                return

    async def _send(self, parts: tuple[Outgoing, ...]) -> bool:
        """One round trip, if there is anything to send. Hints come first: parts follow from them."""
        hints = [self._hints.popleft() for _ in range(min(len(self._hints), BATCH_MAX))]
        for outgoing in parts:
            # From here on new parts, and the end, make it dirty again.
            del self._dirty[outgoing]
        try:
            async with self._client.pipeline(transaction=False) as pipeline:
                for channel, frame in hints:
                    pipeline.publish(channel, frame)
                entries = [self._add_parts(pipeline, outgoing) for outgoing in parts]
                replies = await pipeline.execute(raise_on_error=False) if len(pipeline) else []
                self._check(replies)
        except BaseException:
            for hint in reversed(hints):
                if len(self._hints) < HINTS_MAX:
                    self._hints.appendleft(hint)
            self._dirty.update(dict.fromkeys(parts))
            raise
        for outgoing, entry in zip(parts, entries, strict=True):
            self._note_sent(outgoing, is_stored=entry is None or replies[entry] is not None)
        if not self._hints:
            self._has_hints.clear()
            if not self._dirty and not self._must_check:
                self._work.clear()
        return bool(replies)

    def _add_parts(self, pipeline: Pipeline, outgoing: Outgoing) -> int | None:
        """Queue what is new. The result is the number of the reply that says if it was stored."""
        frame = outgoing.unsure = self._next_frame(outgoing)
        entry = None
        if outgoing.is_lost:
            everything = outgoing.buffer.read(START).events
            if everything:
                data = encode_parts(self._origin, outgoing.buffer.lost_seq + 1, everything)
                pipeline.xadd(outgoing.key, {ENTRY_FIELD: data}, maxlen=ENTRIES_MAX)
        elif frame is not None:
            entry = len(pipeline)
            # Only the first entry may make the stream: a stream without its beginning is lost.
            pipeline.xadd(
                outgoing.key,
                {ENTRY_FIELD: frame.data},
                maxlen=ENTRIES_MAX,
                nomkstream=outgoing.sent_seq > 0,
            )
        if frame is not None:
            pipeline.publish(outgoing.channel, frame.data)
        if outgoing.ended:
            pipeline.expire(outgoing.key, EXPIRE_ENDED_SECONDS)
        elif asyncio.get_running_loop().time() >= outgoing.renew_at:
            pipeline.expire(outgoing.key, EXPIRE_SECONDS)
        return entry

    def _next_frame(self, outgoing: Outgoing) -> _Frame | None:
        """What to send of an episode: again what is unsure, otherwise all that is new."""
        if outgoing.unsure is not None and not outgoing.is_lost:
            return outgoing.unsure
        buffer = outgoing.buffer
        reading = buffer.read(outgoing.position)
        if not reading.events:
            return None
        # What overflowed before it could be sent is missing from the numbers, so it is noticed.
        first_seq = max(outgoing.sent_seq, buffer.lost_seq) + 1
        data = encode_parts(self._origin, first_seq, reading.events)
        return _Frame(data=data, position=reading.position, seq=buffer.last_seq)

    def _note_sent(self, outgoing: Outgoing, *, is_stored: bool) -> None:
        frame, outgoing.unsure = outgoing.unsure, None
        if frame is not None:
            outgoing.position, outgoing.sent_seq = frame.position, frame.seq
        outgoing.is_lost = not is_stored
        now = asyncio.get_running_loop().time()
        if now >= outgoing.renew_at:
            outgoing.renew_at = now + RENEW_SECONDS
        if outgoing.is_lost or outgoing.buffer.last_seq > outgoing.sent_seq:
            self.note_parts(outgoing)

    async def _find_lost_streams(self) -> None:
        """After Redis was away: mark the episodes that it forgot, to be sent from their beginning."""
        streams = [outgoing for outgoing in self._open if outgoing.sent_seq]
        self._must_check = False
        try:
            async with self._client.pipeline(transaction=False) as pipeline:
                for outgoing in streams:
                    pipeline.exists(outgoing.key)
                exist = await pipeline.execute() if streams else []
        except BaseException:
            self._must_check = True
            raise
        for outgoing, exists in zip(streams, exist, strict=True):
            if not exists:
                outgoing.is_lost, outgoing.renew_at = True, 0.0
                self.note_parts(outgoing)

    def _check(self, replies: list[object]) -> None:
        """A demoted server must be left; another refusal repeats itself, so it is only reported."""
        for reply in replies:
            if isinstance(reply, ReadOnlyError):
                raise reply
            if isinstance(reply, ResponseError) and not self._said_refused:
                self._said_refused = True
                extra = {"action": "relay_refused", "error": repr(reply)}
                logger.warning("Redis refuses a command", extra=extra)

    def _note_down(self, error: Exception) -> None:
        if self.is_up:
            self.is_up = False
            extra = {"action": "relay_publish_failed", "error": repr(error)}
            logger.warning("hints and parts do not leave this replica", extra=extra)
            self._on_down()
