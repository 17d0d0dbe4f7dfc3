"""Following chats: `follow` gives a subscriber its events, `run` repairs the hints that were lost."""

import asyncio
import logging
from itertools import islice

from engine.chat.ids import ChatId, MessageId
from engine.store.errors import StoreUnavailable
from engine.stream.follower import ChatFollower
from engine.stream.relay import Relay
from engine.stream.shared_reads import Reader, SharedReads
from engine.stream.sync import FROM_THE_START

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How long a change of another replica may go unseen where no bus tells of it."""
POLL_SECONDS_WITH_BUS = 5.0
"""How long a hint that the bus lost may go unseen."""
POLL_CHATS_MAX = 1000
"""Chats asked for in one statement."""


class StreamLoop:
    """All followers of one replica. `run` must run for as long as they do."""

    def __init__(
        self,
        *,
        reader: Reader,
        relay: Relay,
        poll_seconds: float = POLL_SECONDS,
        poll_seconds_with_bus: float = POLL_SECONDS_WITH_BUS,
        with_reasoning: bool = True,
    ) -> None:
        self._reader = reader
        self._reads = SharedReads(reader)
        self._relay = relay
        self._with_reasoning = with_reasoning
        self._poll_seconds = poll_seconds
        self._poll_seconds_with_bus = poll_seconds_with_bus
        self._followers: dict[ChatId, set[ChatFollower]] = {}
        self._gap = asyncio.Event()

    @property
    def follower_count(self) -> int:
        """Subscribers at present."""
        return sum(len(followers) for followers in self._followers.values())

    def follow(self, chat_id: ChatId, after_id: MessageId = FROM_THE_START) -> ChatFollower:
        """Follow a chat from now on, given the messages up to `after_id`. The caller closes it.

        Nothing is read before the first take, which raises ChatMissing for no such chat.
        """
        follower = ChatFollower(
            chat_id,
            after_id=after_id,
            relay=self._relay,
            reads=self._reads,
            on_close=self._forget,
            with_reasoning=self._with_reasoning,
        )
        self._followers.setdefault(chat_id, set()).add(follower)
        return follower

    async def run(self) -> None:
        """Compare versions with the database at intervals, and at once after a gap. Never returns."""
        remove = self._relay.subscribe_gaps(self._gap.set)
        failed = False
        try:
            while True:
                await self._wait_for_turn()
                try:
                    await self.poll()
                except Exception as error:
                    if not failed:
                        # A database that is away is nobody's defect here, so it brings no trace.
                        away = isinstance(error, StoreUnavailable)
                        level = logging.WARNING if away else logging.ERROR
                        extra = {"action": "stream_poll_failed"}
                        logger.log(level, "stream poll failed", extra=extra, exc_info=not away)
                    failed = True
                else:
                    failed = False
        finally:
            remove()

    async def poll(self) -> None:
        """Tell each follower where its chat stands."""
        chat_ids = iter(tuple(self._followers))
        while some := list(islice(chat_ids, POLL_CHATS_MAX)):
            missing = set(some)
            for change in await self._reader.versions_of(some):
                missing.discard(change.chat_id)
                for follower in tuple(self._followers.get(change.chat_id, ())):
                    follower.tell_versions(change)
            for chat_id in missing:
                for follower in tuple(self._followers.get(chat_id, ())):
                    follower.tell_missing()

    async def _wait_for_turn(self) -> None:
        spans = self._relay.spans_replicas
        try:
            async with asyncio.timeout(
                self._poll_seconds_with_bus if spans else self._poll_seconds
            ):
                await self._gap.wait()
        except TimeoutError:
            return
        self._gap.clear()

    def _forget(self, follower: ChatFollower) -> None:
        followers = self._followers.get(follower.chat_id)
        if followers is None:
            return
        followers.discard(follower)
        if not followers:
            del self._followers[follower.chat_id]
