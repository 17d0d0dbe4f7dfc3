"""Organizations: who shares one installation without sharing chats, limits or room to run."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from engine.chat.ids import OrganizationId
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import decode_text, encode_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    """`chats_max`: chats that may run at the same time; None for any number. `running`: that do."""

    id: OrganizationId
    name: str
    chats_max: int | None
    running: int
    created_at: datetime


class Organizations:
    """Makes, lists and limits organizations. Methods raise StoreUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, name: str) -> OrganizationId | None:
        """A new organization; None: the name is taken."""
        row = await self._pool.fetch_one(
            query("organizations.create"), OrganizationId(uuid4()), encode_text(name)
        )
        return None if row is None else OrganizationId(row["id"])

    async def list(self) -> tuple[Organization, ...]:
        """All of them, oldest first."""
        rows = await self._pool.fetch(query("organizations.list"))
        return tuple(_organization_of(row) for row in rows)

    async def set_chats_max(self, name: str, chats_max: int | None) -> bool:
        """Cap the chats that run at the same time, or not any more. False: no such name."""
        changed = await self._pool.execute(
            query("organizations.set_chats_max"), encode_text(name), chats_max
        )
        return changed == 1


def _organization_of(row: Row) -> Organization:
    return Organization(
        id=row["id"],
        name=decode_text(row["name"]),
        chats_max=row["chats_max"],
        running=row["running"],
        created_at=row["created_at"],
    )
