"""Storing in the order of arrival: what came first to this process is stored first, thread by thread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class InOrder:
    """Turns by key. Different keys never wait for each other."""

    def __init__(self) -> None:
        self._last: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Run the block once all earlier ones of the same key are over, however they ended."""
        before = self._last.get(key)
        mine = self._last[key] = asyncio.get_running_loop().create_future()
        mine.add_done_callback(lambda over: self._forget(key, over))
        try:
            if before is not None:
                await asyncio.shield(before)
            yield
        finally:
            if before is None or before.done():
                mine.set_result(None)
            else:
                # Given up while waiting: whoever is next waits for the same as this one did.
                before.add_done_callback(lambda _: mine.set_result(None))

    def _forget(self, key: str, over: asyncio.Future[None]) -> None:
        if self._last.get(key) is over:
            del self._last[key]
