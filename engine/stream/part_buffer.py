"""The live episodes of one process: the newest per chat, kept for as long as it may be asked for.

Runners write through an EpisodeWriter, readers watch a chat and pull. Nobody waits for anybody.
"""

import asyncio
from collections.abc import Callable, Iterable

from engine.chat.changes import Episode
from engine.chat.ids import ChatId
from engine.stream.episode import EPISODE_SIZE_MAX, EpisodeBuffer
from engine.stream.events import LivePart

KEEP_SECONDS = 5.0
"""How long an ended episode is kept, for those who join before its messages can be read."""


class ChatParts:
    """What is live in one chat: its newest episode, and whom to tell of new parts."""

    __slots__ = ("buffer", "chat_id", "is_local", "on_parts")

    def __init__(self, chat_id: ChatId) -> None:
        self.chat_id = chat_id
        self.buffer: EpisodeBuffer | None = None
        self.is_local = False
        # Invariant: replaced, never changed, so that a callback may add or remove one.
        self.on_parts: tuple[Callable[[], None], ...] = ()

    def tell(self) -> None:
        """Say that there is something new to read."""
        for tell in self.on_parts:
            tell()


class EpisodeWriter:
    """A runner's hand on the episode it streams. Appending never waits and never fails.

    A writer whose episode was overtaken by a newer one of the chat goes on into the void.
    """

    __slots__ = ("_chat", "_forget", "buffer", "on_append", "on_close")

    def __init__(
        self, chat: ChatParts, buffer: EpisodeBuffer, *, forget: Callable[[], None]
    ) -> None:
        self._chat = chat
        self._forget = forget
        self.buffer = buffer
        self.on_append: Callable[[], None] | None = None
        self.on_close: Callable[[], None] | None = None

    @property
    def chat_id(self) -> ChatId:
        """The chat that is written to."""
        return self._chat.chat_id

    @property
    def episode(self) -> Episode:
        """The episode that is written."""
        return self.buffer.episode

    def append(self, parts: Iterable[LivePart]) -> None:
        """Give the parts to all who read the chat, in order. Adjacent deltas may arrive joined."""
        self.buffer.append(parts)
        for tell in self._chat.on_parts:
            tell()
        if self.on_append is not None:
            self.on_append()

    def close(self) -> None:
        """End the episode; what it held is kept a little longer. Closing twice is closing once."""
        self._forget()
        if self.on_close is not None:
            self.on_close()
            self.on_close = None


class PartBuffer:
    """All live episodes of this process. Its size is bounded by the chats that run or are watched."""

    def __init__(
        self, *, size_max: int = EPISODE_SIZE_MAX, keep_seconds: float = KEEP_SECONDS
    ) -> None:
        self._size_max = size_max
        self._keep_seconds = keep_seconds
        self._chats: dict[ChatId, ChatParts] = {}
        self._timers: dict[EpisodeBuffer, asyncio.TimerHandle] = {}

    def open(self, chat_id: ChatId, episode: Episode) -> EpisodeWriter:
        """Begin an episode, or go on with it. It replaces an older one of the chat at once."""
        chat = self._chat(chat_id)
        buffer = self.place(chat, episode)
        chat.is_local = chat.buffer is buffer
        return EpisodeWriter(chat, buffer, forget=lambda: self._forget_later(chat, buffer))

    def watch(self, chat_id: ChatId, on_parts: Callable[[], None]) -> ChatParts:
        """Be told of new parts in a chat. Undone by `unwatch` with the same arguments."""
        chat = self._chat(chat_id)
        chat.on_parts = (*chat.on_parts, on_parts)
        return chat

    def unwatch(self, chat_id: ChatId, on_parts: Callable[[], None]) -> None:
        """Stop telling this reader."""
        chat = self._chats.get(chat_id)
        if chat is None:
            return
        chat.on_parts = tuple(tell for tell in chat.on_parts if tell != on_parts)
        self._forget_if_idle(chat)

    def place(self, chat: ChatParts, episode: Episode, *, anew: bool = False) -> EpisodeBuffer:
        """The chat's buffer of an episode; of an overtaken one, a buffer that nobody reads.

        `anew`: an empty one in place of what is held, for an episode that comes again from its start.
        """
        held = chat.buffer
        if held is not None and held.episode == episode and not anew:
            if (timer := self._timers.pop(held, None)) is not None:
                timer.cancel()
            return held
        buffer = EpisodeBuffer(episode, size_max=self._size_max)
        if held is None or held.episode <= episode:
            if held is not None and (timer := self._timers.pop(held, None)) is not None:
                timer.cancel()
            chat.buffer, chat.is_local = buffer, False
        return buffer

    def chat(self, chat_id: ChatId) -> ChatParts | None:
        """What is live in a chat that runs here or is watched here."""
        return self._chats.get(chat_id)

    def close(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _chat(self, chat_id: ChatId) -> ChatParts:
        chat = self._chats.get(chat_id)
        if chat is None:
            chat = self._chats[chat_id] = ChatParts(chat_id)
        return chat

    def _forget_later(self, chat: ChatParts, buffer: EpisodeBuffer) -> None:
        if chat.buffer is buffer and buffer not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[buffer] = loop.call_later(self._keep_seconds, self._forget, chat, buffer)

    def _forget(self, chat: ChatParts, buffer: EpisodeBuffer) -> None:
        self._timers.pop(buffer, None)
        if chat.buffer is buffer:
            chat.buffer, chat.is_local = None, False
            self._forget_if_idle(chat)

    def _forget_if_idle(self, chat: ChatParts) -> None:
        if not chat.on_parts and (chat.buffer is None or not chat.is_local):
            self._chats.pop(chat.chat_id, None)
