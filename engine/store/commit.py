"""Finishing what must not be torn: a cancellation waits until it is done, then goes on."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which runs to its end even when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancellation:
            cancelled = cancellation
    if cancelled is not None:
        # A failure counts for less than the cancellation, but it must not be reported as unseen.
        fault = None if task.cancelled() else task.exception()
        raise cancelled from fault
    return task.result()
