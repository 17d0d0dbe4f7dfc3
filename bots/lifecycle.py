"""How a process lives: what runs in the background, how it is told to stop, and how it drains."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""From the keyboard, from an orchestrator, from a terminal that is closed."""
DRAIN_SECONDS = 20.0
"""How long one part may take to drain. Orchestrators send SIGKILL after 30 seconds."""


class Background:
    """Tasks that run until the process stops. One that fails ends the process with its error."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: list[asyncio.Task[Any]] = []
        self._drains: list[tuple[str, Callable[[], Awaitable[None]]]] = []

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> None:
        """Run this from now on."""
        self._tasks.append(self._group.create_task(work, name=name))

    def on_drain(self, name: str, drain: Callable[[], Awaitable[None]]) -> None:
        """Have this done before the end. What was added last drains first."""
        self._drains.append((name, drain))

    async def drain(self) -> None:
        """Let every part put its work away, then end the background tasks."""
        for name, drain in reversed(self._drains):
            try:
                async with asyncio.timeout(DRAIN_SECONDS):
                    await drain()
            except TimeoutError:
                extra = {"action": "drain_timeout", "part": name}
                log.warning("A part did not drain in time.", extra=extra)
        self.cancel()

    def cancel(self) -> None:
        """End the background tasks at once."""
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def background() -> AsyncIterator[Background]:
    """Background tasks for the length of the block; leaving it ends them."""
    async with asyncio.TaskGroup() as group:
        tasks = Background(group)
        try:
            yield tasks
        finally:
            tasks.cancel()


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Event]:
    """An event that SIGINT, SIGTERM or SIGHUP sets. A second signal ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    def on_signal() -> None:
        if stop.is_set() and main is not None:
            main.cancel()
        stop.set()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
