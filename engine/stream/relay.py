"""What carries hints and live parts from those who change chats to those who follow them.

A relay promises little, so that it can be anything: a hint may be lost, and parts may be. It never
blocks a publisher, never fails one, and says when something may have been lost, so that followers
read the database instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.chat.changes import ChatChange, Episode
from engine.chat.ids import ChatId
from engine.stream.episode import EpisodeBuffer
from engine.stream.part_buffer import EpisodeWriter

OnChange = Callable[[ChatChange], None]
OnNews = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Wake:
    """What workers are told of a chat: that it needs one, or that one has taken it.

    `is_from_elsewhere`: it was another replica that changed the chat.
    """

    change: ChatChange
    is_from_elsewhere: bool


OnWake = Callable[[Wake], None]


class Subscription(Protocol):
    """One reader's tie to one chat. Callbacks run in the event loop and must neither wait nor raise."""

    @property
    def buffer(self) -> EpisodeBuffer | None:
        """The newest episode known here. Another object for the same episode: it starts again."""
        ...

    def seek(self, episode: Episode) -> None:
        """Say which episode is current, so that its parts are fetched if another replica has them."""
        ...

    async def wait_until_ready(self) -> None:
        """Return when hints arrive and what was sought is here, or cannot be had soon."""
        ...

    def close(self) -> None:
        """End it. Closing twice is closing once."""
        ...


class Relay(Protocol):
    """The bus of one replica."""

    @property
    def healthy(self) -> bool:
        """Whether it works as well as it ever will."""
        ...

    @property
    def spans_replicas(self) -> bool:
        """Whether hints of other replicas arrive here at present."""
        ...

    def publish_change(self, change: ChatChange) -> None:
        """Hint that a chat changed, after the commit. With `wake` or `taken`, workers are told too."""
        ...

    def subscribe(
        self, chat_id: ChatId, *, on_change: OnChange, on_parts: OnNews | None = None
    ) -> Subscription:
        """Be told of a chat's changes, and of new parts where `on_parts` is given."""
        ...

    def subscribe_wakes(self, on_wake: OnWake) -> Callable[[], None]:
        """Be told of chats that need a worker, and that have one, until what is returned is called."""
        ...

    def subscribe_gaps(self, on_gap: OnNews) -> Callable[[], None]:
        """Be told when hints may have been lost, until the returned function is called."""
        ...

    def open_episode(self, chat_id: ChatId, episode: Episode) -> EpisodeWriter:
        """Begin to stream an episode. Its versions must be those of a committed snapshot."""
        ...
