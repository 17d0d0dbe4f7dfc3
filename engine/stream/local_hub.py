"""Fan-out inside one process: the whole of the in-memory relay, and the near half of the Redis one."""

from collections.abc import Callable

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId
from engine.stream.relay import OnChange, OnNews, OnWake, Wake


class LocalHub:
    """Who in this process wants to hear of what. Telling is a plain call, in order of subscription."""

    def __init__(self) -> None:
        # Invariant: tuples are replaced, never changed, so that a callback may add or remove one.
        self._chats: dict[ChatId, tuple[OnChange, ...]] = {}
        self._wakes: tuple[OnWake, ...] = ()
        self._gaps: tuple[OnNews, ...] = ()

    @property
    def wants_wakes(self) -> bool:
        """Whether a worker lives here."""
        return bool(self._wakes)

    @property
    def chat_ids(self) -> tuple[ChatId, ...]:
        """The chats that somebody here watches."""
        return tuple(self._chats)

    def add(self, chat_id: ChatId, on_change: OnChange) -> bool:
        """Add a watcher. True for the chat's first."""
        held = self._chats.get(chat_id, ())
        self._chats[chat_id] = (*held, on_change)
        return not held

    def remove(self, chat_id: ChatId, on_change: OnChange) -> bool:
        """Remove a watcher. True for the chat's last."""
        rest = list(self._chats.get(chat_id, ()))
        if on_change in rest:
            rest.remove(on_change)
        if rest:
            self._chats[chat_id] = tuple(rest)
            return False
        return self._chats.pop(chat_id, None) is not None

    def tell_change(self, change: ChatChange) -> None:
        """Tell those who watch the chat."""
        for tell in self._chats.get(change.chat_id, ()):
            tell(change)

    def tell_own(self, change: ChatChange) -> None:
        """Tell of a change that this replica made: watchers, then workers where it concerns them."""
        self.tell_change(change)
        if change.wake or change.taken:
            self.tell_wake(Wake(change, is_from_elsewhere=False))

    def tell_wake(self, wake: Wake) -> None:
        """Tell workers."""
        for tell in self._wakes:
            tell(wake)

    def tell_gap(self) -> None:
        """Tell all who rely on hints that some may be missing."""
        for tell in self._gaps:
            tell()

    def add_wake(self, on_wake: OnWake) -> Callable[[], None]:
        """Add a worker; the returned function removes it."""
        self._wakes = (*self._wakes, on_wake)

        def remove() -> None:
            self._wakes = tuple(tell for tell in self._wakes if tell != on_wake)

        return remove

    def add_gap(self, on_gap: OnNews) -> Callable[[], None]:
        """Add one who must know of gaps; the returned function removes it."""
        self._gaps = (*self._gaps, on_gap)

        def remove() -> None:
            self._gaps = tuple(tell for tell in self._gaps if tell != on_gap)

        return remove
