"""Calls that are no part of a reply draw on the same budget as replies, and are told about alike.

A limit that one of them runs into is published, so that nobody else runs into it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.delivery.call_line import OWN_BUDGET, permission
from adapters.delivery.call_times import CallTimes
from adapters.errors import RateLimited

PATIENCE_SECONDS = 10.0
"""How long such a call waits for its turn before it counts as refused."""


class Pace:
    """The pace of one installation."""

    def __init__(self, times: CallTimes, installation: str) -> None:
        self._times = times
        self._installation = installation

    @asynccontextmanager
    async def call(
        self,
        method: str,
        channel: str,
        *,
        seconds_max: float = PATIENCE_SECONDS,
        is_urgent: bool = True,
    ) -> AsyncIterator[None]:
        """Make one call within the block, when its turn has come. Raises RateLimited if it does not."""
        await permission(
            self._times,
            self._installation,
            channel,
            method,
            seconds_max=seconds_max,
            is_urgent=is_urgent,
        )
        try:
            yield
        except RateLimited as error:
            if error.code != OWN_BUDGET:
                await self._times.pause(
                    self._installation, channel, method, error.retry_after_seconds
                )
            raise
