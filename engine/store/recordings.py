"""Model calls as they were made and answered, of the chats that record them."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from engine.chat.errors import ChatError
from engine.chat.ids import ChatId, OrganizationId
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import (
    decode_json,
    decode_optional,
    decode_text,
    encode_json,
    encode_optional,
    encode_text,
)

_DAY_SECONDS = 86_400.0
INTERRUPTED_AFTER_SECONDS = 86_400.0
"""A call that has no end after so long never gets one: its process died."""


class CallKind(StrEnum):
    """What a model was asked for."""

    STEP = "step"
    COMPACTION = "compaction"
    TITLE = "title"
    SUMMARY = "summary"


class CallStatus(StrEnum):
    """How far a call came."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class Recording(Struct, frozen=True, kw_only=True):
    """One call. `request` and `response` are as they were recorded: redacted and bounded."""

    id: int
    chat_id: ChatId
    kind: CallKind
    model: str
    status: CallStatus
    request: Any
    response: Any
    error: ChatError | None
    started_at: datetime
    finished_at: datetime | None


class Recordings:
    """Keeps recordings. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(
        self,
        chat_id: ChatId,
        organization_id: OrganizationId,
        *,
        kind: CallKind,
        model: str,
        request: Any,
    ) -> int | None:
        """Note that a call is being made; its number. None: the chat is gone."""
        row = await self._pool.fetch_one(
            query("recordings.begin"),
            chat_id,
            organization_id,
            kind,
            encode_text(model),
            encode_json(request),
        )
        return None if row is None else int(row["id"])

    async def finish(
        self, recording_id: int, status: CallStatus, *, response: Any, error: ChatError | None
    ) -> bool:
        """Note how a call ended. False: the recording is gone."""
        changed = await self._pool.execute(
            query("recordings.finish"),
            recording_id,
            status,
            encode_optional(response),
            encode_optional(error),
        )
        return changed == 1

    async def list_recordings(
        self, chat_id: ChatId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[Recording]:
        """A chat's calls, newest first, without what was said in them."""
        rows = await self._pool.fetch(query("recordings.of_chat"), chat_id, before, limit)
        return [_recording_of(row) for row in rows]

    async def read_recording(self, chat_id: ChatId, recording_id: int) -> Recording | None:
        """One call of a chat, whole."""
        row = await self._pool.fetch_one(query("recordings.read"), chat_id, recording_id)
        return None if row is None else _recording_of(row)

    async def purge(self, days: float, *, limit: int = 1000) -> int:
        """Remove up to `limit` recordings older than that; how many."""
        return await self._pool.execute(query("recordings.purge"), days * _DAY_SECONDS, limit)

    async def give_up_unfinished(self) -> int:
        """Call interrupted what was begun long ago and never ended; how many."""
        return await self._pool.execute(
            query("recordings.give_up_unfinished"), INTERRUPTED_AFTER_SECONDS
        )


def _recording_of(row: Row) -> Recording:
    return Recording(
        id=row["id"],
        chat_id=row["chat_id"],
        kind=CallKind(row["kind"]),
        model=decode_text(row["model"]),
        status=CallStatus(row["status"]),
        request=decode_optional(row["request"]),
        response=decode_optional(row["response"]),
        error=None if row["error"] is None else decode_json(row["error"], ChatError),
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
