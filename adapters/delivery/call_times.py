"""When the next call may be made: pauses that the platform asked for, and the least time between edits (pure).

A pause holds for one method in one channel, so other channels are never slowed. Times are seconds of
any one clock that only grows.
"""

from enum import StrEnum

FOREVER_AGO = float("-inf")


class Method(StrEnum):
    """What a platform counts separately."""

    POST = "post"
    EDIT = "edit"
    DELETE = "delete"
    FIND = "find"


class Pauses:
    """What the platform asked us to wait for, for all deliveries of a process."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[tuple[Method, str], float] = {}

    def pause(self, method: Method, channel: str, *, until: float) -> None:
        """Make no such call in this channel before then. A longer pause stands."""
        key = (method, channel)
        self._until[key] = max(until, self._until.get(key, FOREVER_AGO))

    def ready_at(self, method: Method, channel: str, *, now: float) -> float:
        """When the call may be made; in the past for at once."""
        until = self._until.get((method, channel), FOREVER_AGO)
        if until <= now:
            self._until.pop((method, channel), None)
        return until


class EditTimes:
    """When each message of one thread was last changed."""

    __slots__ = ("_changed_at", "_interval_seconds")

    def __init__(self, *, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._changed_at: dict[str, float] = {}

    def changed(self, message_id: str, *, now: float) -> None:
        """The message was posted or edited."""
        self._changed_at[message_id] = now

    def ready_at(self, message_id: str) -> float:
        """When the message may be edited again for the sake of more text."""
        return self._changed_at.get(message_id, FOREVER_AGO) + self._interval_seconds

    def forget(self, message_id: str) -> None:
        """The message will not change any more."""
        self._changed_at.pop(message_id, None)
