"""Keeps what people think of replies, one word for each person and reply."""

from datetime import datetime
from typing import Final

from engine.chat.content import Author
from engine.chat.feedback import COMMENT_MAX, FeedbackBy, FeedbackCount, Rating
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, MessageId, OrganizationId
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_optional_text, decode_text, encode_text

ROWS_MAX: Final = 10_000
"""Of one report."""


class Feedback:
    """Stores and counts ratings. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(
        self,
        chat_id: ChatId,
        turn_id: MessageId,
        by: Author,
        *,
        is_good: bool,
        comment: str | None = None,
    ) -> bool:
        """Note what somebody thinks of the reply to a message; their last word counts.

        False: there is no such reply, or not any more. Without a comment an earlier one stays as
        long as they think the same.
        """
        row = await self._pool.fetch_one(
            query("feedback.put"),
            chat_id,
            turn_id,
            encode_text(by.identity),
            encode_text(by.name),
            is_good,
            None if comment is None else encode_text(comment[:COMMENT_MAX]),
        )
        return row is not None

    async def counts(
        self,
        by: FeedbackBy,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[FeedbackCount, ...]:
        """How many found replies good or bad, from `since` on and before `until`, in groups."""
        rows = await self._pool.fetch(
            query("feedback.counts"), organization_id, by.value, since, until, ROWS_MAX
        )
        return tuple(
            FeedbackCount(key=decode_optional_text(row["key"]), good=row["good"], bad=row["bad"])
            for row in rows
        )

    async def newest(
        self,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        since: datetime | None = None,
        until: datetime | None = None,
        only_bad: bool = False,
        limit: int = 100,
    ) -> tuple[Rating, ...]:
        """The last ratings, the newest first."""
        rows = await self._pool.fetch(
            query("feedback.newest"), organization_id, since, until, only_bad, limit
        )
        return tuple(
            Rating(
                chat_id=row["chat_id"],
                turn_id=row["turn_id"],
                identity=decode_text(row["identity"]),
                name=decode_text(row["name"]),
                is_good=row["is_good"],
                comment=decode_text(row["comment"]),
                bot=row["bot"],
                model=row["model"],
                channel=decode_optional_text(row["channel"]),
                rated_at=row["updated_at"],
            )
            for row in rows
        )
