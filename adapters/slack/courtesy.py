"""Small things that are done beside the work and never hold it up: a reaction, an opened form."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

logger = logging.getLogger(__name__)

COURTESIES_MAX = 200
"""Under way at a time. What is more is left out: nobody waits for it."""

Courtesy = Coroutine[Any, Any, None]
Spawn = Callable[[Courtesy], None]


class Courtesies:
    """Runs courtesies until closed. One that fails is logged and harms nobody."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, courtesy: Courtesy) -> None:
        """Begin it now, or leave it out where too many are under way."""
        if len(self._tasks) >= COURTESIES_MAX:
            courtesy.close()
            return
        task = asyncio.get_running_loop().create_task(self._run(courtesy))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End those under way."""
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _run(self, courtesy: Courtesy) -> None:
        try:
            await courtesy
        except Exception:
            logger.exception("courtesy failed", extra={"action": "slack_courtesy_failed"})
