"""Noticing a cancellation that a library has swallowed.

Python 3.11's `asyncio.wait_for`, which redis-py sends with, returns instead of raising when what it
waited for ends in the moment of the cancellation. A loop around it must look for itself.
"""

import asyncio


def is_cancelled() -> bool:
    """Whether the running task was told to stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
