"""Chats as a platform looks for them: those of a person in its threads, and the channels that have any."""

from dataclasses import dataclass
from datetime import datetime

from engine.chat.ids import ChatId
from engine.chat.view import ChatView
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_json, encode_optional_text, encode_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadChat:
    """A chat and the thread that shows it."""

    chat: ChatView
    channel: str
    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadChatCursor:
    """Where a list goes on: behind this chat."""

    created_at: datetime
    chat_id: ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelChats:
    """A channel with how many chats it has. `open_chats`: those at work, or waiting for an answer."""

    channel: str
    chats: int
    open_chats: int


class ThreadChats:
    """Reads chats by thread. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of_owner(
        self,
        platform: str,
        installation: str,
        identity: str,
        *,
        channel: str | None = None,
        after: ThreadChatCursor | None = None,
        limit: int = 10,
    ) -> tuple[ThreadChat, ...]:
        """What this person has begun there and nobody has put away, newest first."""
        rows = await self._pool.fetch(
            query("thread_chats.of_owner"),
            platform,
            installation,
            encode_text(identity),
            encode_optional_text(channel),
            after.created_at if after else None,
            after.chat_id if after else None,
            limit,
        )
        return tuple(
            ThreadChat(
                chat=decode_json(row["chat"], ChatView), channel=row["place"], thread=row["thread"]
            )
            for row in rows
        )

    async def channels(
        self, platform: str, installation: str, *, limit: int = 50
    ) -> tuple[ChannelChats, ...]:
        """The channels in which there are chats, those where something was said last first."""
        rows = await self._pool.fetch(query("thread_chats.channels"), platform, installation, limit)
        return tuple(
            ChannelChats(channel=row["place"], chats=row["chats"], open_chats=row["open_chats"])
            for row in rows
        )
