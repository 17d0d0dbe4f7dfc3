"""Token buckets as values: what is left of a permission to call somebody, and when there is more (pure).

A gate says how much is allowed, a bucket what is left of it. Times are seconds of any one clock that only
grows. The script of `redis_budget` does the same sums in Redis; one set of tests holds both to this.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a call has to pass: `capacity` calls at once, at least one, and `per_second` after."""

    key: str
    capacity: float
    per_second: float

    def share(self, holders: int) -> "Gate":
        """The part of one of so many holders that cannot ask each other."""
        capacity = max(1.0, self.capacity / holders)
        return replace(self, capacity=capacity, per_second=self.per_second / holders)

    def kept_back(self, keep_share: float) -> float:
        """What a call that may wait leaves to those that may not. A full bucket always lets one pass."""
        return max(0.0, min(self.capacity * keep_share, self.capacity - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """`tokens` were left at time `at`. An `at` in the future is a pause."""

    tokens: float
    at: float

    def wait(self, gate: Gate, *, keep_share: float, now: float) -> float:
        """How many seconds until a call may pass; 0 for now."""
        lacking = 1 + gate.kept_back(keep_share) - self._filled(gate, now)
        return max(self.at - now, 0.0) + max(lacking / gate.per_second, 0.0)

    def take(self, gate: Gate, *, now: float) -> "Bucket":
        """The bucket after a call has passed."""
        return Bucket(tokens=self._filled(gate, now) - 1, at=max(now, self.at))

    def pause(self, *, until: float) -> "Bucket":
        """Let nothing pass before then, and then one by one. A shorter pause ends no longer one."""
        return Bucket(tokens=min(self.tokens, 1.0), at=max(self.at, until))

    def is_untouched(self, gate: Gate, *, now: float) -> bool:
        """Whether it is as good as one that nobody has used."""
        return self.at <= now and self._filled(gate, now) >= gate.capacity

    def _filled(self, gate: Gate, now: float) -> float:
        gained = max(0.0, now - self.at) * gate.per_second
        return min(gate.capacity, self.tokens + gained)


def full(gate: Gate, *, now: float) -> Bucket:
    """A bucket that nobody has used."""
    return Bucket(tokens=gate.capacity, at=now)


def paused(*, until: float) -> Bucket:
    """A bucket of which nothing is known but that nothing may pass before then."""
    return Bucket(tokens=1.0, at=until)


def may_pass(waits: Sequence[float]) -> bool:
    """Whether no gate makes the call wait."""
    return not any(waits)


def shared_key(owner: str, *names: str) -> str:
    """The key of a gate. All gates of a call have the same owner, whose keys are kept together."""
    return ":".join(("{" + owner.replace("}", "") + "}", *names))


def owner_of(key: str) -> str:
    """The part of a key that all keys of its owner begin with."""
    return key.partition("}")[0] + "}"
