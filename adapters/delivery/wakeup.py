"""Waiting for a time or for somebody to call, whichever comes first, without a task for it."""

import asyncio


class Wakeup:
    """One waiter's bell. A ring while nobody waits is kept for the next wait."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake the waiter, now or as soon as it waits."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def is_rung(self) -> bool:
        """Whether somebody rang since the last wait."""
        return self._rung

    def clear(self) -> None:
        """Forget that somebody rang."""
        self._rung = False

    async def wait(self, seconds: float | None) -> bool:
        """Return once rung, or after so many seconds. Whether it was rung."""
        if not self._rung:
            loop = asyncio.get_running_loop()
            waiter = self._waiter = loop.create_future()
            timer = (
                None if seconds is None else loop.call_later(max(0.0, seconds), _release, waiter)
            )
            try:
                await waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        rung, self._rung = self._rung, False
        return rung


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
