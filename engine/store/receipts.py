"""What was posted where: one receipt for each page of each thing that a thread is shown.

A page is attempted before it is sent and delivered after. Attempted but not delivered means that nobody
knows: then the platform is asked for the nonce before the page is sent again. All writes need the
delivery's fence.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from engine.store.pool import Pool
from engine.store.queries import query


class ReceiptState(StrEnum):
    """What is known of a page."""

    PENDING = "pending"
    ATTEMPTING = "attempting"
    DELIVERED = "delivered"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One page. `item_key` says of what: `reply:<message>`, `action:<id>`, `notice:<key>`.

    `content_hash` is of what was last sent, or is being sent. `is_streamed`: it was begun as a stream,
    which has no nonce before it ends. `cut_at`: the page was ended on purpose when its item's text had
    this many characters.
    """

    item_key: str
    page: int
    state: ReceiptState
    platform_message_id: str | None
    nonce: UUID | None
    content_hash: str | None
    attempted_at: datetime | None
    delivered_at: datetime | None
    is_streamed: bool = False
    cut_at: int | None = None


class Receipts:
    """Keeps receipts. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list_receipts(self, delivery_id: int) -> tuple[Receipt, ...]:
        """All receipts of a delivery, pages of one item together and in order."""
        rows = await self._pool.fetch(query("receipts.list_receipts"), delivery_id)
        return tuple(
            Receipt(
                item_key=row["item_key"],
                page=row["page"],
                state=ReceiptState(row["state"]),
                platform_message_id=row["platform_message_id"],
                nonce=row["nonce"],
                content_hash=row["content_hash"],
                attempted_at=row["attempted_at"],
                delivered_at=row["delivered_at"],
                is_streamed=row["is_streamed"],
                cut_at=row["cut_at"],
            )
            for row in rows
        )

    async def put_attempt(
        self,
        delivery_id: int,
        fence: int,
        item_key: str,
        page: int,
        *,
        nonce: UUID,
        content_hash: str,
        is_streamed: bool = False,
    ) -> bool:
        """Say that the page is about to be sent. False: the fence is old, do not send."""
        changed = await self._pool.execute(
            query("receipts.put_attempt"),
            delivery_id,
            fence,
            item_key,
            page,
            nonce,
            content_hash,
            is_streamed,
        )
        return changed == 1

    async def put_delivered(
        self,
        delivery_id: int,
        fence: int,
        item_key: str,
        page: int,
        *,
        platform_message_id: str,
        content_hash: str,
        cut_at: int | None = None,
    ) -> bool:
        """Say that the page is there, with this text. False: the fence is old."""
        changed = await self._pool.execute(
            query("receipts.put_delivered"),
            delivery_id,
            fence,
            item_key,
            page,
            platform_message_id,
            content_hash,
            cut_at,
        )
        return changed == 1

    async def mark_deleted(self, delivery_id: int, fence: int, item_key: str, page: int) -> bool:
        """Say that the page is gone. False: the fence is old, or there is no such page."""
        changed = await self._pool.execute(
            query("receipts.mark_deleted"), delivery_id, fence, item_key, page
        )
        return changed == 1
