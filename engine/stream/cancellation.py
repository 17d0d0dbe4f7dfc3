"""Noticing a cancellation that a library has swallowed.

Python 3.11's `asyncio.wait_for`, which redis-py sends with, returns instead of raising when what it
waited for ends in the moment of the cancellation. A loop around it must look for itself.
"""

import asyncio


def raise_if_cancelled() -> None:
    """Raise CancelledError if the running task was told to stop."""
    task = asyncio.current_task()
    if task is not None and task.cancelling() > 0:
        raise asyncio.CancelledError
