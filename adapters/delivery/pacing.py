"""Owns when a message is edited and when a call may go out. Pure: every decision is given `now`.

Times are seconds of one monotonic clock.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class EditNow:
    """Send the wanted text now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Ask again after `seconds`, with whatever is wanted then."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """The message shows what is wanted."""


Pace = EditNow | Wait | Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPacer:
    """The pace of one message: the first text at once, then the latest one at most once per interval.

    The final text waits for no interval, only for a pause that the platform asked for. `shown` names
    what the platform is known to show (a hash, or the text); None: nothing, or nobody knows.
    """

    interval_ms_min: int
    shown: str | None = None
    edited_at: float | None = None
    paused_until: float = 0.0

    def decide(self, *, now: float, wanted: str, final: bool) -> Pace:
        """What to do about the text that is wanted now. Asking again changes nothing."""
        if wanted == self.shown:
            return Nothing()
        due = self.paused_until
        if self.edited_at is not None and not final:
            due = max(due, self.edited_at + self.interval_ms_min / 1000)
        return EditNow() if now >= due else Wait(seconds=due - now)

    def edited(self, *, now: float, shown: str) -> "EditPacer":
        """The pacer after the platform accepted an edit."""
        return replace(self, shown=shown, edited_at=now)

    def failed(self, *, now: float) -> "EditPacer":
        """The pacer after an edit whose outcome is unknown: it is paced, and sent again."""
        return replace(self, shown=None, edited_at=now)

    def paused(self, *, until: float) -> "EditPacer":
        """The pacer after a Retry-After. A shorter pause never ends a longer one."""
        return replace(self, paused_until=max(self.paused_until, until))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A token bucket as a value: `capacity` calls at once, `per_second` after.

    `tokens` were left at time `at`; below zero they are promised to callers that wait. An `at` in the
    future is a pause.
    """

    capacity: float
    per_second: float
    tokens: float
    at: float

    @classmethod
    def full(cls, *, capacity: float, per_second: float, now: float) -> "Bucket":
        """A bucket that nobody has used."""
        return cls(capacity=capacity, per_second=per_second, tokens=capacity, at=now)

    def take(self, now: float) -> tuple["Bucket", float]:
        """Reserve one call: the bucket after it, and how many seconds to wait before it.

        Callers are served in the order in which they reserve.
        """
        filled = self._filled(now)
        tokens = filled.tokens - 1
        wait = max(filled.at - now, 0.0) + max(-tokens, 0.0) / self.per_second
        return replace(filled, tokens=tokens), wait

    def pause_until(self, until: float, *, now: float) -> "Bucket":
        """No call before `until`, and then one by one. A shorter pause never ends a longer one."""
        filled = self._filled(now)
        if until <= filled.at:
            return filled
        return replace(filled, tokens=min(filled.tokens, 1.0), at=until)

    def _filled(self, now: float) -> "Bucket":
        if now <= self.at:
            return self
        tokens = min(self.capacity, self.tokens + (now - self.at) * self.per_second)
        return replace(self, tokens=tokens, at=now)
