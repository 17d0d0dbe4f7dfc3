"""Asking a database again that is out of reach for a moment."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from engine.api import StoreUnavailable

RETRY_SECONDS = 0.5
Answer = TypeVar("Answer")


async def patiently(call: Callable[[], Awaitable[Answer]], *, seconds: float) -> Answer:
    """The call's answer, asked again while the database is out of reach, for so long at most.

    Raises StoreUnavailable after that. The call must be one that may be made twice.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await call()
        except StoreUnavailable:
            if loop.time() + RETRY_SECONDS > deadline:
                raise
        await asyncio.sleep(RETRY_SECONDS)
