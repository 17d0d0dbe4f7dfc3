"""Keeps platform events from before they are acknowledged until they have become commands.

Theory of operation. An event is stored once per event key, and once per message key, so whatever comes
twice is one. Workers claim the first unfinished event of a thread; the others of that thread wait,
other threads do not. A claim is a lease by the database's clock. An event that fails too often is dead:
out of the way, kept with its error, and can be delivered again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import (
    decode_json,
    decode_optional,
    decode_optional_text,
    decode_text,
    encode_json,
    encode_optional_text,
    encode_text,
)

ATTEMPTS_MAX = 8
"""Tries before an event is dead. With the usual delays that is about as long as platforms retry."""
DONE_DAYS = 7
"""How long a done event is kept to recognise a repetition. Slack and GitHub repeat for three days."""
DEAD_DAYS = 30
_DAY_SECONDS = 86_400.0
_DIED = "the worker died each time that it worked on this event"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEvent:
    """One event as it came in.

    `event_key`: the platform's id of the event. `message_key`: of the message that it is about, where
    several events may be about one. Events of one `thread_key` are worked on in order.
    """

    platform: str
    installation: str
    event_key: str
    thread_key: str
    kind: str
    payload: dict[str, Any]
    message_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """The event is stored. `is_new`: it will be worked on; otherwise it, or its twin, already is."""

    id: int
    is_new: bool


class Twin(Struct, frozen=True, kw_only=True):
    """Another event about the same message, which came while the first one waited."""

    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedEvent:
    """An event to work on. `attempts` counts this one; `error` is what the last one said."""

    id: int
    event: InboxEvent
    twin: Twin | None
    attempts: int
    error: str | None
    received_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What a platform's workers have before them."""

    platform: str
    events: int
    oldest_at: datetime


class AfterFailure(StrEnum):
    """What becomes of an event that failed."""

    PENDING = "pending"
    DEAD = "dead"


class Inbox:
    """The inbox. Methods raise StoreUnavailable when the database is out of reach.

    Where `owner` is given, an event that somebody else has claimed meanwhile is left alone.
    """

    def __init__(self, pool: Pool, *, attempts_max: int = ATTEMPTS_MAX) -> None:
        self._pool = pool
        self._attempts_max = attempts_max

    async def receive(self, event: InboxEvent) -> Received:
        """Store the event. When this returns it may be acknowledged; when it raises it may not."""
        platform, installation = encode_text(event.platform), encode_text(event.installation)
        event_key = encode_text(event.event_key)
        message_key = encode_optional_text(event.message_key)
        kind, payload = encode_text(event.kind), encode_json(event.payload)
        row = await self._pool.fetch_one(
            query("inbox.receive"),
            platform,
            installation,
            event_key,
            message_key,
            encode_text(event.thread_key),
            kind,
            payload,
        )
        if row is not None:
            return Received(id=row["id"], is_new=True)
        row = await self._pool.fetch_one(
            query("inbox.receive_again"),
            platform,
            installation,
            event_key,
            message_key,
            kind,
            payload,
        )
        if row is None:
            # What it collided with was purged in between.
            return await self.receive(event)
        return Received(id=row["id"], is_new=False)

    async def claim(
        self, platforms: Sequence[str], owner: UUID, limit: int, seconds: float
    ) -> tuple[ClaimedEvent, ...]:
        """Take up to `limit` events for so long, at most one of each thread, oldest first."""
        rows = await self._pool.fetch(query("inbox.claim"), list(platforms), owner, limit, seconds)
        fresh = [row for row in rows if row["attempts"] <= self._attempts_max]
        if len(fresh) < len(rows):
            await self._bury_worn_out(row["id"] for row in rows if row not in fresh)
        return tuple(_claimed_of(row) for row in fresh)

    async def renew(self, ids: Sequence[int], owner: UUID, seconds: float) -> frozenset[int]:
        """Keep these claims; those that are missing in the answer are lost."""
        rows = await self._pool.fetch(query("inbox.renew"), list(ids), owner, seconds)
        return frozenset(row["id"] for row in rows)

    async def finish(self, event_id: int, owner: UUID | None = None) -> bool:
        """The event has become its command."""
        return await self._pool.execute(query("inbox.finish"), event_id, owner) == 1

    async def retry_later(
        self, event_id: int, error: str, delay_seconds: float, owner: UUID | None = None
    ) -> AfterFailure | None:
        """Try again after a while, or give up after too many tries. None: it is not ours any more."""
        row = await self._pool.fetch_one(
            query("inbox.retry_later"),
            event_id,
            owner,
            encode_text(error),
            delay_seconds,
            self._attempts_max,
        )
        return None if row is None else AfterFailure(row["state"])

    async def bury(self, event_id: int, error: str, owner: UUID | None = None) -> bool:
        """Give up at once: the event can never succeed."""
        return (
            await self._pool.execute(query("inbox.bury"), event_id, owner, encode_text(error)) == 1
        )

    async def redeliver(self, event_id: int) -> bool:
        """Give a dead event all its tries again. False: there is no such dead event."""
        return await self._pool.execute(query("inbox.redeliver"), event_id) == 1

    async def list_dead(
        self, *, before_id: int | None = None, limit: int = 50
    ) -> tuple[ClaimedEvent, ...]:
        """Dead events, newest first."""
        rows = await self._pool.fetch(query("inbox.list_dead"), before_id, limit)
        return tuple(_claimed_of(row) for row in rows)

    async def waiting_count(self) -> tuple[Backlog, ...]:
        """What is unfinished, for each platform that has anything."""
        rows = await self._pool.fetch(query("inbox.waiting_count"))
        return tuple(
            Backlog(
                platform=decode_text(row["platform"]),
                events=row["events"],
                oldest_at=row["oldest_at"],
            )
            for row in rows
        )

    async def purge(
        self,
        *,
        done_seconds: float = DONE_DAYS * _DAY_SECONDS,
        dead_seconds: float = DEAD_DAYS * _DAY_SECONDS,
        limit: int = 1000,
    ) -> int:
        """Remove up to `limit` old events of each kind; how many. Ask again until it is none."""
        return await self._pool.execute(query("inbox.purge"), done_seconds, dead_seconds, limit)

    async def _bury_worn_out(self, ids: Iterable[int]) -> None:
        for event_id in ids:
            await self.bury(event_id, _DIED)


def _claimed_of(row: Row) -> ClaimedEvent:
    return ClaimedEvent(
        id=row["id"],
        event=InboxEvent(
            platform=decode_text(row["platform"]),
            installation=decode_text(row["installation"]),
            event_key=decode_text(row["event_key"]),
            message_key=decode_optional_text(row["message_key"]),
            thread_key=decode_text(row["thread_key"]),
            kind=decode_text(row["kind"]),
            payload=decode_json(row["payload"], dict[str, Any]),
        ),
        twin=decode_optional(row["twin"], Twin),
        attempts=row["attempts"],
        error=decode_optional_text(row["error"]),
        received_at=row["received_at"],
    )
