"""Who shows which chat in which thread, and how far that has come.

Theory of operation. A delivery is due while its chat has changed since it was settled; a trigger on
chats raises that, settling lowers it. One owner at a time, by a lease of the database's clock; every
claim has a greater fence, and what an earlier owner still writes is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from engine.chat.commands import ThreadBinding
from engine.chat.ids import ChatId, MessageId
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import decode_optional_text, encode_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A chat to show in a thread, held under `fence`.

    `settled_version`: the chat's snapshot that is shown completely. `settled_message_id`: turns before
    this user message are settled.
    """

    id: int
    binding_id: int
    chat_id: ChatId
    thread: ThreadBinding
    settled_version: int
    settled_message_id: MessageId
    fence: int
    attempts: int
    last_error: str | None


class Deliveries:
    """Claims and settles deliveries. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def claim_due(
        self, platform: str, owner: UUID, limit: int, seconds: float
    ) -> tuple[Delivery, ...]:
        """Take up to `limit` due deliveries for so long, longest untouched first."""
        rows = await self._pool.fetch(
            query("deliveries.claim_due"), platform, owner, limit, seconds
        )
        return tuple(_delivery_of(row) for row in rows)

    async def renew(self, ids: Sequence[int], owner: UUID, seconds: float) -> frozenset[int]:
        """Keep these; those that are missing in the answer are lost."""
        rows = await self._pool.fetch(query("deliveries.renew"), list(ids), owner, seconds)
        return frozenset(row["id"] for row in rows)

    async def settle(
        self,
        delivery_id: int,
        fence: int,
        version: int,
        message_id: MessageId,
        *,
        keeps_lease: bool = False,
    ) -> bool | None:
        """All of the chat up to `version` is shown. Whether it is due again; None: the fence is old.

        Lets the delivery go unless `keeps_lease`.
        """
        row = await self._pool.fetch_one(
            query("deliveries.settle"), delivery_id, fence, version, message_id, keeps_lease
        )
        return None if row is None else bool(row["is_due"])

    async def fail(self, delivery_id: int, fence: int, error: str, retry_seconds: float) -> bool:
        """Let go after a failure, and have it tried again after a while. False: the fence is old."""
        changed = await self._pool.execute(
            query("deliveries.fail"), delivery_id, fence, encode_text(error), retry_seconds
        )
        return changed == 1

    async def release(self, delivery_id: int, fence: int) -> bool:
        """Let go unfinished, for another replica to go on at once. False: the fence is old."""
        return await self._pool.execute(query("deliveries.release"), delivery_id, fence) == 1

    async def failing(self, limit: int = 50) -> tuple[Delivery, ...]:
        """Deliveries whose last try failed, worst first."""
        rows = await self._pool.fetch(query("deliveries.failing"), limit)
        return tuple(_delivery_of(row) for row in rows)


def _delivery_of(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        binding_id=row["binding_id"],
        chat_id=row["chat_id"],
        thread=ThreadBinding(
            platform=row["platform"],
            installation=row["installation"],
            channel=row["channel"],
            thread=row["thread"],
        ),
        settled_version=row["settled_version"],
        settled_message_id=row["settled_message_id"],
        fence=row["fence"],
        attempts=row["attempts"],
        last_error=decode_optional_text(row["last_error"]),
    )
