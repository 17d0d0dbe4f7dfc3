"""What owners are to be told, from the end of a turn until it was said.

Theory of operation. The report that ends a turn enters a row, so exactly those turns have one that came
to rest. A row is `new` until there are words for it, then `ready`; `sending` from before the call to the
platform until its answer is noted, so whoever finds it so must look before it sends. Every claim has an
id of its own and ends by the database's clock; what an earlier holder still writes is refused.
"""

from dataclasses import dataclass
from uuid import UUID

from engine.chat.content import Author
from engine.chat.notification import Notification, NotificationKind
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.side_chat import SideChat, side_chat_of
from engine.store.stored_json import (
    decode_json,
    decode_optional_text,
    encode_text,
)

STALE_SECONDS = 86_400.0
"""What could not be said for a day is not said any more."""
KEPT_SECONDS = 7 * 86_400.0
"""How long what was said is kept, for whoever wonders."""
_PURGE_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WordlessNotification:
    """A notification that lacks its words. `channel` is platform:installation:channel."""

    id: int
    kind: NotificationKind
    history_version: int
    channel: str
    attempts: int
    chat: SideChat


class Notifications:
    """Claims and settles notifications. Methods raise StoreUnavailable without a database.

    Those that return a bool say False when the claim is over, and change nothing then.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def claim_new(
        self, claim: UUID, limit: int, seconds: float
    ) -> tuple[WordlessNotification, ...]:
        """Take up to `limit` that lack words, for so long, oldest first."""
        rows = await self._pool.fetch(query("notifications.claim_new"), claim, limit, seconds)
        return tuple(_wordless_of(row) for row in rows)

    async def put_text(self, notification_id: int, claim: UUID, text: str) -> bool:
        """The words; it can be sent now."""
        return await self._settle("put_text", notification_id, claim, encode_text(text))

    async def claim_ready(
        self, platform: str, *, claim: UUID, limit: int, seconds: float
    ) -> tuple[Notification, ...]:
        """Take up to `limit` of a platform that can be sent, for so long, oldest first."""
        rows = await self._pool.fetch(
            query("notifications.claim_ready"), platform, claim, limit, seconds
        )
        return tuple(_notification_of(row) for row in rows)

    async def mark_sending(self, notification_id: int, claim: UUID) -> bool:
        """Note that the platform is called now. After this the outcome is unknown."""
        return await self._settle("mark_sending", notification_id, claim)

    async def mark_sent(self, notification_id: int, claim: UUID) -> bool:
        """It is there."""
        return await self._settle("finish", notification_id, claim, "sent")

    async def mark_dropped(self, notification_id: int, claim: UUID) -> bool:
        """It will not be sent."""
        return await self._settle("finish", notification_id, claim, "dropped")

    async def release(
        self, notification_id: int, claim: UUID, *, seconds: float, is_unsent: bool
    ) -> bool:
        """Have it tried again after so long. `is_unsent`: it surely did not reach the platform."""
        return await self._settle("release", notification_id, claim, seconds, is_unsent)

    async def clean_up(self) -> int:
        """Drop what nobody could send, and remove what is long over; how many rows."""
        changed = await self._pool.execute(query("notifications.drop_stale"), STALE_SECONDS)
        while some := await self._pool.execute(
            query("notifications.purge"), KEPT_SECONDS, _PURGE_BATCH
        ):
            changed += some
        return changed

    async def _settle(self, name: str, notification_id: int, claim: UUID, *args: object) -> bool:
        changed = await self._pool.execute(
            query(f"notifications.{name}"), notification_id, claim, *args
        )
        return changed == 1


def _wordless_of(row: Row) -> WordlessNotification:
    return WordlessNotification(
        id=row["id"],
        kind=NotificationKind(row["kind"]),
        history_version=row["history_version"],
        channel=row["channel"],
        attempts=row["attempts"],
        chat=side_chat_of(row),
    )


def _notification_of(row: Row) -> Notification:
    return Notification(
        id=row["id"],
        chat_id=row["chat_id"],
        kind=NotificationKind(row["kind"]),
        owner=decode_json(row["owner"], Author),
        installation=row["installation"],
        channel=row["channel"],
        thread=row["thread"] or "",
        title=decode_optional_text(row["title"]) or "",
        text=decode_optional_text(row["text"]) or "",
        nonce=row["nonce"],
        created_at=row["created_at"],
        attempts=row["attempts"],
        may_be_sent=row["state"] == "sending",
    )
