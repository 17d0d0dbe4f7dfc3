"""When the next call of a kind may be made, for all deliveries of a process (pure).

A pause that the platform asked for holds for one method in one channel, so other channels are never
slowed. Edits for the sake of more text share a budget; those that end a reply draw on it but never wait
for it, so that a busy workspace gets fewer glimpses rather than late answers. Times are seconds of any
one clock that only grows.
"""

from enum import StrEnum

from adapters.delivery.pacing import Bucket

FOREVER_AGO = float("-inf")


class Method(StrEnum):
    """What a platform counts separately."""

    POST = "post"
    EDIT = "edit"
    DELETE = "delete"
    FIND = "find"


class CallTimes:
    """What the platform asked us to wait for, and what is left of the budget for edits."""

    __slots__ = ("_edits", "_paused_until")

    def __init__(self, *, edits_per_minute: float, now: float) -> None:
        self._paused_until: dict[tuple[Method, str], float] = {}
        self._edits = Bucket.full(
            capacity=edits_per_minute, per_second=edits_per_minute / 60, now=now
        )

    def pause(self, method: Method, channel: str, *, until: float) -> None:
        """Make no such call in this channel before then. A longer pause stands."""
        key = (method, channel)
        self._paused_until[key] = max(until, self._paused_until.get(key, FOREVER_AGO))

    def ready_at(self, method: Method, channel: str, *, now: float) -> float:
        """When the call may be made; in the past for at once."""
        until = self._paused_until.get((method, channel), FOREVER_AGO)
        if until <= now:
            self._paused_until.pop((method, channel), None)
        return until

    def draft_ready_at(self, *, now: float) -> float:
        """When the budget allows an edit that is not final. Asking takes nothing from it."""
        _, wait = self._edits.take(now)
        return now + wait

    def edited(self, *, now: float) -> None:
        """An edit is made, whatever for."""
        self._edits, _ = self._edits.take(now)
