"""Copies of the episodes that other replicas stream, for the chats that somebody follows here.

Frames that are published carry an episode on; whatever came before them, or was missed, is read from
its stream. Part numbers tell what is a duplicate, what follows and what is missing.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from engine.chat.changes import ChatChange, Episode
from engine.chat.ids import ChatId
from engine.stream.cancellation import raise_if_cancelled
from engine.stream.frames import ENTRY_FIELD, FrameInvalid, PartsBody, decode, episode_key
from engine.stream.part_buffer import ChatParts, PartBuffer

PAGE_ENTRIES = 500
"""Entries of a stream read in one round trip."""


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    episode: Episode


class RedisMirror:
    """Keeps copies whole, as far as Redis has them. `run` fetches what is missing."""

    def __init__(self, client: Redis, parts: PartBuffer, *, prefix: str) -> None:
        self._client = client
        self._parts = parts
        self._prefix = prefix
        self._sought: dict[ChatId, Episode] = {}
        # Each request is an object of its own, so that one made during a fetch is not lost.
        self._missing: dict[ChatId, _Request] = {}
        self._has_missing = asyncio.Event()
        self._waiters: dict[ChatId, asyncio.Future[None]] = {}

    def seek(self, chat_id: ChatId, episode: Episode) -> None:
        """Fetch an episode, unless it runs here or a newer one is known."""
        self._sought[chat_id] = episode
        chat = self._parts.chat(chat_id)
        held = chat.buffer if chat is not None else None
        if held is None or held.episode < episode:
            self._fetch_soon(chat_id, episode)

    def forget(self, chat_id: ChatId) -> None:
        """Nobody follows the chat here any more."""
        self._sought.pop(chat_id, None)
        self._missing.pop(chat_id, None)
        self._settle(chat_id)

    def fetch_all(self) -> None:
        """Fetch what may have been missed while the bus was away."""
        for chat_id, episode in self._sought.items():
            chat = self._parts.chat(chat_id)
            if chat is not None and not chat.is_local:
                held = chat.buffer
                self._fetch_soon(chat_id, max(held.episode, episode) if held else episode)

    def give_up(self) -> None:
        """Let nobody wait for what cannot be had soon."""
        for chat_id in tuple(self._waiters):
            self._settle(chat_id)

    async def wait_until_fetched(self, chat_id: ChatId) -> None:
        """Return once a fetch that was asked for is over, well or not."""
        if chat_id not in self._missing:
            return
        waiter = self._waiters.get(chat_id)
        if waiter is None:
            waiter = self._waiters[chat_id] = asyncio.get_running_loop().create_future()
        await asyncio.shield(waiter)

    def take_published(self, chat_id: ChatId, body: PartsBody) -> None:
        """Add parts that another replica has just published."""
        chat = self._parts.chat(chat_id)
        if chat is not None and chat.on_parts and not _add(self._parts, chat, body, complete=False):
            self._fetch_soon(chat_id, body.episode)

    async def run(self) -> None:
        """Fetch. Never returns; a failure of Redis ends only the fetch, which is asked for again."""
        while True:
            raise_if_cancelled()
            await self._has_missing.wait()
            if not self._missing:
                self._has_missing.clear()
                continue
            chat_id, request = next(iter(self._missing.items()))
            # When the bus is back, `fetch_all` asks for everything again.
            with suppress(RedisError, OSError):
                await self._fetch(chat_id, request.episode)
            if self._missing.get(chat_id) is request:
                del self._missing[chat_id]
                self._settle(chat_id)

    async def _fetch(self, chat_id: ChatId, episode: Episode) -> None:
        key, after = episode_key(self._prefix, chat_id, episode), "-"
        while True:
            entries: Any = await self._client.xrange(key, min=after, count=PAGE_ENTRIES)
            chat = self._parts.chat(chat_id)
            if not entries or chat is None or not chat.on_parts:
                return
            for _entry_id, fields in entries:
                body = _body_of(fields)
                if body is not None:
                    _add(self._parts, chat, body, complete=True)
            after = "(" + entries[-1][0].decode()

    def _fetch_soon(self, chat_id: ChatId, episode: Episode) -> None:
        self._missing[chat_id] = _Request(episode)
        self._has_missing.set()

    def _settle(self, chat_id: ChatId) -> None:
        waiter = self._waiters.pop(chat_id, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _body_of(fields: dict[bytes, bytes]) -> PartsBody | None:
    try:
        body = decode(fields.get(ENTRY_FIELD, b""))
    except FrameInvalid:
        return None
    return None if isinstance(body, ChatChange) else body


def _add(parts: PartBuffer, chat: ChatParts, body: PartsBody, *, complete: bool) -> bool:
    """Add parts to the chat's copy. False: parts before these are missing, so nothing was added.

    `complete`: what is missing before these cannot be had.
    """
    held = chat.buffer
    if held is not None and (
        held.episode > body.episode or (held.episode == body.episode and chat.is_local)
    ):
        return True
    buffer = parts.place(chat, body.episode)
    if body.last_seq <= buffer.last_seq:
        return True
    follows = body.first_seq == buffer.last_seq + 1
    if not follows and body.first_seq > 1 and not complete:
        return False
    if body.first_seq <= buffer.last_seq:
        # Sent again, joined in other places: only a new copy can take it.
        buffer = parts.place(chat, body.episode, anew=True)
    if body.first_seq > buffer.last_seq + 1:
        buffer.lose_until(body.first_seq - 1)
    for seq, part in body.parts:
        buffer.put(seq, part)
    chat.tell()
    return True
