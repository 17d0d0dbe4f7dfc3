"""What work beside the turns keeps: titles that were asked for, and what its model calls cost."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from engine.chat.content import Usage
from engine.chat.ids import ChatId
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.side_chat import SideChat, side_chat_of
from engine.store.stored_json import encode_text


class SideCall(StrEnum):
    """What a model was asked for, as usage records say it."""

    TITLE = "title"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSurvey:
    """What nobody works on: titles that were asked for, and notifications without words."""

    has_title_requests: bool
    has_notifications: bool


class SideWorkRows:
    """Stores and reads it. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def survey(self) -> SideSurvey:
        """See what there may be to do; changes nothing."""
        (row,) = await self._pool.fetch(query("side_work.survey"))
        return SideSurvey(
            has_title_requests=row["has_title_requests"], has_notifications=row["has_notifications"]
        )

    async def record_call(
        self,
        chat_id: ChatId,
        kind: SideCall,
        *,
        model: str,
        usage: Usage | None,
        cost_micros: int | None,
        runtime_ms: int,
    ) -> None:
        """Enter a model call that was paid for."""
        used = usage or Usage()
        await self._pool.execute(
            query("side_work.record_call"),
            chat_id,
            kind,
            encode_text(model),
            used.input_tokens,
            used.output_tokens,
            used.reasoning_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
            cost_micros,
            runtime_ms,
        )

    async def request_title(self, chat_id: ChatId) -> bool | None:
        """Have a title made. False: the chat is archived; None: there is no such chat."""
        row = await self._pool.fetch_one(query("side_work.request_title"), chat_id)
        return None if row is None else not row["archived"]

    async def claim_title_requests(
        self, claim: UUID, limit: int, seconds: float
    ) -> tuple[SideChat, ...]:
        """Take up to `limit` chats whose titles were asked for, for so long."""
        rows = await self._pool.fetch(
            query("side_work.claim_title_requests"), claim, limit, seconds
        )
        return tuple(side_chat_of(row) for row in rows)

    async def finish_title_request(self, chat_id: ChatId, claim: UUID) -> bool:
        """The title was made, or could not be. False: somebody else has taken it over."""
        changed = await self._pool.execute(query("side_work.finish_title_request"), chat_id, claim)
        return changed == 1
