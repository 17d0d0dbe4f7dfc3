"""The relay of an installation of one process: nothing is lost in it, and nothing leaves it."""

from collections.abc import Callable

from engine.chat.changes import ChatChange, Episode
from engine.chat.ids import ChatId
from engine.stream.episode import EpisodeBuffer
from engine.stream.local_hub import LocalHub
from engine.stream.part_buffer import EpisodeWriter, PartBuffer
from engine.stream.relay import OnChange, OnNews, OnWake


class MemoryRelay:
    """Hints arrive before `publish_change` returns. Other replicas, if any, hear nothing."""

    healthy = True
    spans_replicas = False

    def __init__(self, parts: PartBuffer | None = None) -> None:
        self._hub = LocalHub()
        self._parts = parts or PartBuffer()

    def publish_change(self, change: ChatChange) -> None:
        """Tell watchers, then workers."""
        self._hub.tell_own(change)

    def subscribe(
        self, chat_id: ChatId, *, on_change: OnChange, on_parts: OnNews | None = None
    ) -> "MemorySubscription":
        """Watch a chat."""
        return MemorySubscription(self._hub, self._parts, chat_id, on_change, on_parts)

    def subscribe_wakes(self, on_wake: OnWake) -> Callable[[], None]:
        """Be told of chats that need a worker, and that have one."""
        return self._hub.add_wake(on_wake)

    def subscribe_gaps(self, on_gap: OnNews) -> Callable[[], None]:
        """Be told of lost hints, which there are none of."""
        return self._hub.add_gap(on_gap)

    def open_episode(self, chat_id: ChatId, episode: Episode) -> EpisodeWriter:
        """Begin to stream an episode."""
        return self._parts.open(chat_id, episode)

    def close(self) -> None:
        """Cancel what is pending in the loop."""
        self._parts.close()


class MemorySubscription:
    """A watcher in the same process."""

    def __init__(
        self,
        hub: LocalHub,
        parts: PartBuffer,
        chat_id: ChatId,
        on_change: OnChange,
        on_parts: OnNews | None,
    ) -> None:
        self._hub = hub
        self._parts = parts
        self._chat_id = chat_id
        self._on_change = on_change
        self._on_parts = on_parts
        self._chat = parts.watch(chat_id, on_parts) if on_parts is not None else None
        hub.add(chat_id, on_change)

    @property
    def buffer(self) -> EpisodeBuffer | None:
        """The newest episode."""
        return self._chat.buffer if self._chat is not None else None

    def seek(self, episode: Episode) -> None:
        """Nothing is elsewhere."""

    async def wait_until_ready(self) -> None:
        """It always is."""

    def close(self) -> None:
        """Stop watching."""
        self._hub.remove(self._chat_id, self._on_change)
        if self._on_parts is not None:
            self._parts.unwatch(self._chat_id, self._on_parts)
