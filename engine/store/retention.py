"""What is put away because nobody goes on with it, and what is removed for good, all in small pieces.

Days are counted from midnight, UTC, by the database's clock unless another is given. What was paid for
is kept when a chat goes; everything else that hangs on it goes with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.rows import change_of

BATCH_MAX = 1000
"""Chats that are put away or removed at a time."""
BATCH_MESSAGES_MAX = 20_000
"""Messages that are removed at a time, but at least those of one chat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleChat:
    """A chat that nobody goes on with, as it stood at this version."""

    chat_id: ChatId
    snapshot_version: int


class Retention:
    """Finds and removes. Methods raise StoreUnavailable when the database is out of reach.

    `publish` is told of chats that are gone; it must neither wait nor raise.
    """

    def __init__(
        self,
        pool: Pool,
        publish: Callable[[ChatChange], object],
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._pool = pool
        self._publish = publish
        self._clock = clock

    async def idle_chats(self, days: int, *, limit: int = BATCH_MAX) -> tuple[IdleChat, ...]:
        """Chats in which nothing was said since the midnight so many days ago, oldest first.

        Those that are pinned, at work or waiting for an answer are none of them.
        """
        rows = await self._pool.fetch(query("retention.idle_chats"), self._now(), days, limit)
        return tuple(
            IdleChat(chat_id=row["id"], snapshot_version=row["snapshot_version"]) for row in rows
        )

    async def delete_archived(
        self,
        days: int,
        *,
        limit: int = BATCH_MAX,
        messages_max: int = BATCH_MESSAGES_MAX,
    ) -> int:
        """Remove some chats that were put away so long ago; how many. Ask again until it is none."""
        rows = await self._pool.fetch(
            query("retention.delete_archived"), self._now(), days, limit, messages_max
        )
        return self._told(rows)

    async def delete_chat(self, chat_id: ChatId) -> bool:
        """Remove a chat, whatever it is doing. False: there is no such chat."""
        return self._told(await self._pool.fetch(query("retention.delete_chat"), chat_id)) == 1

    def _now(self) -> datetime | None:
        return None if self._clock is None else self._clock()

    def _told(self, rows: list[Row]) -> int:
        for row in rows:
            self._publish(change_of(row))
        return len(rows)
