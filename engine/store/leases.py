"""Who works on which chat, and who holds which singleton role. Always by the database's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.chat.changes import ChatChange
from engine.chat.content import Author
from engine.chat.ids import ChatId, OrganizationId, RunnerId
from engine.chat.snapshot import ChatStatus, OpenCall
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import (
    decode_json,
    decode_optional,
    decode_optional_text,
    decode_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquiredChat:
    """A chat that is now ours to work on, with what a run needs of its row.

    `change.runner_id` is the fence; `change` is the hint to publish. `is_capped`: others of its
    organization may be waiting for its place. `runnable_since`: when it began to need a worker; an
    earlier worker may have had it since.
    """

    chat_id: ChatId
    organization_id: OrganizationId
    runner_id: RunnerId
    change: ChatChange
    bot: str
    title: str | None
    has_human_title: bool
    model: str | None
    system_prompt: str | None
    labels: dict[str, str]
    dynamic_tools: tuple[dict[str, Any], ...]
    owner: Author | None
    open_calls: tuple[OpenCall, ...]
    compaction_requested: bool
    records_calls: bool = False
    runnable_since: datetime
    is_capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """A chat that is still held, and where it stands."""

    chat_id: ChatId
    status: ChatStatus
    snapshot_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What there may be to do. `has_runnable`: chats that nobody has; `has_caps`: of any organization.

    `has_overdue`: chats whose actions are past their deadline.
    """

    has_runnable: bool
    has_caps: bool
    has_overdue: bool


class Leases:
    """Takes and keeps leases. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def acquire_chats(
        self, limit: int, lease_seconds: float, *, with_stale: bool = True
    ) -> tuple[AcquiredChat, ...]:
        """Take over up to `limit` runnable chats, longest waiting first. Nobody else gets the same.

        `with_stale`: also those whose holder is dead; not needed when answering a wake.
        """
        rows = await self._pool.fetch(
            query("leases.acquire_chats"), limit, lease_seconds, with_stale
        )
        return tuple(_acquired_of(row) for row in rows)

    async def acquire_capped(
        self, limit: int, lease_seconds: float, *, with_stale: bool = True
    ) -> tuple[AcquiredChat, ...]:
        """The same for organizations that may have only so many chats running at the same time.

        Never takes more than there is room for, however many workers ask at once.
        """
        async with self._pool.transaction() as transaction:
            await transaction.fetch(query("leases.lock_caps"))
            rows = await transaction.fetch(
                query("leases.acquire_capped"), limit, lease_seconds, with_stale
            )
        return tuple(_acquired_of(row, is_capped=True) for row in rows)

    async def survey(self) -> Survey:
        """See what there may be to do; changes nothing."""
        (row,) = await self._pool.fetch(query("leases.survey"))
        return Survey(
            has_runnable=row["has_runnable"],
            has_caps=row["has_caps"],
            has_overdue=row["has_overdue"],
        )

    async def overdue_chats(self, limit: int) -> tuple[ChatId, ...]:
        """Chats whose actions are past their deadline, longest past first."""
        rows = await self._pool.fetch(query("leases.overdue_chats"), limit)
        return tuple(row["id"] for row in rows)

    async def renew_chats(
        self, held: Sequence[tuple[ChatId, RunnerId]], lease_seconds: float
    ) -> tuple[Renewed, ...]:
        """Keep the leases of these chats. A chat that is missing in the answer is lost."""
        rows = await self._pool.fetch(
            query("leases.renew_chats"),
            [chat_id for chat_id, _ in held],
            [runner_id for _, runner_id in held],
            lease_seconds,
        )
        return tuple(
            Renewed(
                chat_id=row["id"],
                status=ChatStatus(row["status"]),
                snapshot_version=row["snapshot_version"],
            )
            for row in rows
        )

    async def forget_heartbeats(self, older_than_seconds: float = 3600.0) -> int:
        """Remove heartbeats that ended that long ago; how many."""
        return await self._pool.execute(query("leases.forget_heartbeats"), older_than_seconds)

    async def hold(self, name: str, owner: UUID, seconds: float) -> int | None:
        """Hold a singleton role for so long, or hold on to it; its fence. None: another holds it.

        The fence grows whenever the role changes hands or had lapsed.
        """
        row = await self._pool.fetch_one(query("leases.hold"), name, owner, seconds)
        return None if row is None else row["fence"]

    async def release(self, name: str, owner: UUID) -> bool:
        """Let a role go before its time. False: it was not held by `owner`."""
        return await self._pool.execute(query("leases.release"), name, owner) == 1


def _acquired_of(row: Row, *, is_capped: bool = False) -> AcquiredChat:
    return AcquiredChat(
        chat_id=row["id"],
        organization_id=row["organization_id"],
        runner_id=row["runner_id"],
        change=ChatChange(
            chat_id=row["id"],
            snapshot_version=row["snapshot_version"],
            history_version=row["history_version"],
            queue_version=row["queue_version"],
            retry_version=row["retry_version"],
            generation_attempt=row["generation_attempt"],
            status=ChatStatus(row["status"]),
            archived=row["archived"],
            runner_id=row["runner_id"],
            lease_live=True,
        ),
        bot=decode_text(row["bot"]),
        title=decode_optional_text(row["title"]),
        has_human_title=row["title_source"] == "human",
        model=decode_optional_text(row["model"]),
        system_prompt=decode_optional_text(row["system_prompt"]),
        labels=decode_json(row["labels"], dict[str, str]),
        dynamic_tools=decode_json(row["dynamic_tools"], tuple[dict[str, Any], ...]),
        owner=decode_optional(row["owner"], Author),
        open_calls=decode_json(row["open_calls"], tuple[OpenCall, ...]),
        compaction_requested=row["compaction_requested"],
        records_calls=row["records_calls"],
        runnable_since=row["runnable_since"],
        is_capped=is_capped,
    )
