"""Lists of chats: pinned first, filtered, searched, with what their reader has not read yet.

Theory of operation. A page begins behind a cursor, which is a place in one of two sections: the pinned
chats by their rank, then the others by creation, which never changes. So pages neither skip nor repeat a
chat whatever is pinned or said meanwhile, but one that changes its section. A search knows no pins: its
chats come newest first, each with the passage that fits best. Whatever needs more than a look at an
index is given a few seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import asyncpg

from engine.chat.chat_query import ChatFilter
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, OrganizationId
from engine.chat.snippet import SnippetPiece, snippet_of, words_of
from engine.chat.view import ChatView
from engine.store.errors import StoreUnavailable
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import (
    decode_json,
    decode_text,
    encode_json,
    encode_optional_text,
    encode_text,
)

PAGE_MAX: Final = 1000
SECONDS_MAX: Final = 5.0
"""How long a filter may look; nobody waits longer for a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCursor:
    """Where a list goes on: after this chat. `pin_rank`: it was among the pinned ones."""

    created_at: datetime
    chat_id: ChatId
    pin_rank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChat:
    """A chat as one reader sees it in a list. `snippet`: the passage for which it was found."""

    chat: ChatView
    has_unread: bool
    cursor: ChatCursor
    snippet: tuple[SnippetPiece, ...] = ()


class ListTooSlow(Exception):
    """The filter fits too much to be looked through in time."""


class ChatLists:
    """Reads lists. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read_listed(self, chat_id: ChatId, identity: str) -> ListedChat | None:
        """One chat as this reader would see it in a list."""
        row = await self._pool.fetch_one(query("chat_list.one"), chat_id, _known(identity))
        return None if row is None else _listed_of(row)

    async def list_chats(
        self,
        wanted: ChatFilter,
        *,
        identity: str,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        after: ChatCursor | None = None,
        limit: int = 50,
        seconds_max: float = SECONDS_MAX,
    ) -> tuple[ListedChat, ...]:
        """The chats that are wanted, beyond `after`. `identity` reads them. Raises ListTooSlow."""
        arguments = (
            organization_id,
            _known(identity),
            wanted.archived,
            encode_json(dict(wanted.labels)),
            encode_optional_text(wanted.title),
            encode_optional_text(wanted.bot),
            encode_optional_text(wanted.channel),
            list(wanted.statuses) or None,
            wanted.has_unread,
            after.created_at if after else None,
            after.chat_id if after else None,
            min(limit, PAGE_MAX),
        )
        if wanted.search is not None:
            words = words_of(wanted.search)
            search = encode_text(wanted.search)
            rows = await self._within(seconds_max, "search", *arguments, search, words)
            return tuple(_listed_of(row, words) for row in rows)
        rank = after.pin_rank if after else None
        is_past_pins = after is not None and rank is None
        rows = await self._within(seconds_max, "page", *arguments, rank, is_past_pins)
        return tuple(_listed_of(row) for row in rows)

    async def _within(self, seconds: float, name: str, *arguments: object) -> Sequence[Row]:
        try:
            async with self._pool.transaction() as transaction:
                await transaction.fetch_one(
                    query("chat_list.limit_time"), f"{max(1, round(seconds * 1000))}ms"
                )
                return await transaction.fetch(query(f"chat_list.{name}"), *arguments)
        except StoreUnavailable as error:
            if isinstance(error.__cause__, asyncpg.QueryCanceledError):
                raise ListTooSlow from error
            raise


def _known(identity: str) -> str | None:
    return encode_optional_text(identity)


def _listed_of(row: Row, words: Sequence[str] = ()) -> ListedChat:
    chat = decode_json(row["chat"], ChatView)
    rank = row["pin_rank"] if chat.pinned else None
    snippet: tuple[SnippetPiece, ...] = ()
    if words:
        snippet = snippet_of(
            decode_text(row["snippet"]),
            words,
            is_begun=row["is_begun"],
            is_ended=row["is_ended"],
        )
    return ListedChat(
        chat=chat,
        has_unread=row["has_unread"],
        cursor=ChatCursor(created_at=chat.created_at, chat_id=chat.id, pin_rank=rank),
        snippet=snippet,
    )
