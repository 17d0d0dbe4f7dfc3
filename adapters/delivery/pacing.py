"""Owns when a message is edited. Pure: every decision is given `now`.

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
