"""The budget of a process that is alone, or that cannot ask the others."""

import time
from collections.abc import Callable, Sequence

from engine.budgets.bucket import Bucket, Gate, full, may_pass, paused

BUCKETS_MAX = 4096
"""Buckets after which those that are as good as new are forgotten."""


class MemoryBudget:
    """Keeps its buckets in memory. See `budget.Budget`."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._gates: dict[str, Gate] = {}
        self._swept_at_size = BUCKETS_MAX

    async def take(
        self,
        gates: Sequence[Gate],
        *,
        keep_share: float = 0.0,
        waiting: int = 1,  # noqa: ARG002 - nobody else is asked
    ) -> tuple[float, ...]:
        """Pass all gates or none."""
        return self.take_nowait(gates, keep_share=keep_share)

    def take_nowait(self, gates: Sequence[Gate], *, keep_share: float = 0.0) -> tuple[float, ...]:
        """Pass all gates or none."""
        now = self._clock()
        buckets = [self._buckets.get(gate.key) or full(gate, now=now) for gate in gates]
        pairs = list(zip(gates, buckets, strict=True))
        waits = tuple(bucket.wait(gate, keep_share=keep_share, now=now) for gate, bucket in pairs)
        if may_pass(waits):
            for gate, bucket in pairs:
                self._buckets[gate.key] = bucket.take(gate, now=now)
                self._gates[gate.key] = gate
            self._sweep(now)
        return waits

    async def pause(self, key: str, seconds: float) -> None:
        """Let nothing pass the gate for so long."""
        self.pause_nowait(key, seconds)

    def pause_nowait(self, key: str, seconds: float) -> None:
        """Let nothing pass the gate for so long."""
        until = self._clock() + seconds
        before = self._buckets.get(key)
        self._buckets[key] = paused(until=until) if before is None else before.pause(until=until)

    def _sweep(self, now: float) -> None:
        if len(self._buckets) <= self._swept_at_size:
            return
        for key, gate in list(self._gates.items()):
            if self._buckets[key].is_untouched(gate, now=now):
                del self._buckets[key], self._gates[key]
        self._swept_at_size = max(BUCKETS_MAX, 2 * len(self._buckets))
