"""What must not be torn is finished first, and a cancellation then goes on."""

import asyncio
import gc
from typing import Any

import pytest

from engine.store.commit import uncancelled


async def test_failure_of_work_whose_caller_was_cancelled_is_seen() -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, said: complaints.append(said))
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        raise OSError("the connection broke")

    caller = asyncio.ensure_future(uncancelled(work()))
    await begun.wait()
    caller.cancel()
    await asyncio.sleep(0)
    caller.cancel()
    may_end.set()

    with pytest.raises(asyncio.CancelledError):
        await caller
    del caller
    gc.collect()
    assert complaints == []
