"""One deliverer's view of its chat: followed from the last settled turn on, or from the start if need be."""

import asyncio
from contextlib import suppress
from math import isinf

from adapters.delivery.chat_mirror import NO_MESSAGE, ChatMirror
from adapters.delivery.patience import patiently
from adapters.delivery.reply_view import ReplyView, view_of
from engine.api import ChatFollower, Delivery, Engine
from engine.chat.ids import MessageId
from engine.stream.events import PartEvent


class ChatWatch:
    """Follows a chat and keeps its mirror. An answer of the database is waited for, within reason."""

    __slots__ = (
        "_chat_id",
        "_engine",
        "_follower",
        "_is_closed",
        "_known_from",
        "_patience_seconds",
        "_settled_id",
        "mirror",
    )

    def __init__(self, engine: Engine, delivery: Delivery, *, patience_seconds: float) -> None:
        self._engine = engine
        self._chat_id = delivery.chat_id
        self._settled_id = delivery.settled_message_id
        self._known_from = delivery.settled_message_id
        self._patience_seconds = patience_seconds
        self._follower: ChatFollower | None = None
        self._is_closed = False
        self.mirror = ChatMirror()

    @property
    def known_from(self) -> MessageId:
        """The mirror knows all turns from this one on; 0 for the whole chat."""
        return self._known_from

    def view(self) -> ReplyView:
        """What the thread should show of the chat as it was last seen."""
        return view_of(
            self.mirror,
            after_turn=self._settled_id,
            is_whole=self._known_from == NO_MESSAGE,
        )

    async def begin(self) -> None:
        """Take in the chat as it is."""
        settled = self._settled_id
        await self._follow(MessageId(settled - 1) if settled else NO_MESSAGE)
        if settled and settled not in self.mirror.messages:
            # What was settled has been taken back, and with it everything after it.
            self._known_from = NO_MESSAGE
            self.mirror = ChatMirror()
            await self._follow(NO_MESSAGE)
        await self._read_actions()

    async def take(self) -> bool:
        """Take in what is new; whether more than live text is."""
        follower = self._follower
        if follower is None or self._is_closed:
            return False
        events = await patiently(follower.take, seconds=self._patience_seconds)
        self.mirror.apply(events)
        if self.mirror.was_reset:
            self.mirror.was_reset = False
            if self._settled_id not in self.mirror.messages:
                self._known_from = NO_MESSAGE
        if self.mirror.needs_actions:
            await self._read_actions()
        return any(not isinstance(event, PartEvent) for event in events)

    async def wait_for_news(self, *, seconds: float) -> None:
        """Return when there is probably something to take, when closed, or after so long."""
        if self._follower is not None and not self._is_closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if isinf(seconds) else max(seconds, 0)):
                    await self._follower.wait_for_news()

    def close(self) -> None:
        """Follow no more; whoever waits is woken. Closing twice is closing once."""
        self._is_closed = True
        if self._follower is not None:
            self._follower.close()

    async def _follow(self, after_id: MessageId) -> None:
        if self._follower is not None:
            self._follower.close()
        if not self._is_closed:
            self._follower = self._engine.follow(self._chat_id, after_id=after_id)
            await self.take()

    async def _read_actions(self) -> None:
        actions = await patiently(
            lambda: self._engine.read_actions(self._chat_id, only_open=False),
            seconds=self._patience_seconds,
        )
        self.mirror.put_actions(actions)
