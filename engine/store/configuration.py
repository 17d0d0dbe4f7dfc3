"""The version of what replicas keep in memory of the database: providers, models, spend policies.

Every change of such a thing raises one number, so that one small read tells whether anything changed.
Whoever keeps something in memory compares the version with the one it loaded at, and loads again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from engine.store.pool import Pool
from engine.store.queries import query

CHECK_SECONDS: Final = 2.0
"""A change is seen by every replica within this time, plus a round trip."""


class ConfigurationVersion:
    """Reads the version at most once in `seconds`, however many ask. One for all of a process."""

    def __init__(
        self,
        pool: Pool,
        *,
        seconds: float = CHECK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._seconds = seconds
        self._clock = clock
        self._version = 0
        self._read_at: float | None = None
        self._times_forgotten = 0
        self._reading = asyncio.Lock()

    async def current(self) -> int:
        """The version, `seconds` old at most. What is loaded after this is at least as new.

        Raises StoreUnavailable when the database is out of reach and the time is over.
        """
        if not self._is_fresh():
            async with self._reading:
                if not self._is_fresh():
                    await self._read()
        return self._version

    def forget(self) -> None:
        """Read it again when it is next asked for: this process has changed something itself."""
        self._read_at = None
        self._times_forgotten += 1

    def _is_fresh(self) -> bool:
        return self._read_at is not None and self._clock() - self._read_at < self._seconds

    async def _read(self) -> None:
        asked_at, times_forgotten = self._clock(), self._times_forgotten
        row = await self._pool.fetch_one(query("configuration.version"))
        self._version = 0 if row is None else row["version"]
        # What was forgotten meanwhile may be newer than what was read.
        self._read_at = asked_at if times_forgotten == self._times_forgotten else None
