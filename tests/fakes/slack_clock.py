"""Owns the fake Slack's time: real time plus whatever a test advances; every timer of the fake obeys it."""

from __future__ import annotations

import asyncio
import time


class SlackClock:
    """Time in seconds since the epoch. A frozen clock moves only when a test advances it.

    An accelerated one passes `speed` seconds in a second: a minute of limits need not be waited for.
    """

    def __init__(
        self, *, frozen: bool = False, start: float | None = None, speed: float = 1.0
    ) -> None:
        self._base = time.time() if start is None else start
        self._offset = 0.0
        self._frozen = frozen
        self._speed = speed
        self._began = time.monotonic()
        self._moved = asyncio.Event()

    def now(self) -> float:
        elapsed = 0.0 if self._frozen else time.monotonic() - self._began
        return self._base + self._offset + elapsed * self._speed

    def advance(self, seconds: float) -> None:
        """Move time forward and wake every sleeper, which then looks whether its time has come."""
        self._offset += seconds
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def sleep(self, seconds: float) -> None:
        """Return once this clock, not the wall's, has moved on by `seconds`."""
        await self.sleep_until(self.now() + seconds)

    async def sleep_until(self, deadline: float) -> None:
        """Return once it is `deadline`; one long advance may pass several deadlines in turn."""
        while (remaining := deadline - self.now()) > 0:
            try:
                async with asyncio.timeout(None if self._frozen else remaining / self._speed):
                    await self._moved.wait()
            except TimeoutError:
                continue
