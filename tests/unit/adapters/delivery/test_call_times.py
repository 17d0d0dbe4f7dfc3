"""When calls may be made: permissions, turns and pauses of one process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from adapters.contract import CallRate
from adapters.delivery.call_gates import EDIT, POST
from adapters.delivery.call_line import AT_ONCE, LATER, OWN_BUDGET, CallLine, permission
from adapters.delivery.call_times import OWN_CHANNELS_PAUSED_MAX, CallTimes
from adapters.errors import RateLimited
from engine.budgets.memory_budget import MemoryBudget

# Bursts of ten, of which drafts leave five, and fifty a second after.
RATES = {EDIT: CallRate(per_minute=50), POST: CallRate(per_channel_per_second=20)}


class Thread:
    """A thread that asks, and remembers when it was woken."""

    def __init__(self, times: CallTimes, channel: str = "C1", installation: str = "T1") -> None:
        self.woken = asyncio.Event()
        self.line = CallLine(times, installation, channel, wake=self.woken.set)

    async def asks(self, method: str = EDIT, *, urgent: bool = False) -> float:
        return (await self.line.ask({method: urgent}))[method]

    async def waits(self, method: str = EDIT, *, urgent: bool = False) -> None:
        """Return once the call may be made, and make it."""
        async with asyncio.timeout(5):
            while await self.asks(method, urgent=urgent) == LATER:
                await self.woken.wait()
                self.woken.clear()
        self.line.spend(method)


@asynccontextmanager
async def served(rates: dict[str, CallRate] = RATES) -> AsyncIterator[CallTimes]:
    times = CallTimes(MemoryBudget(), platform="slack", rates=rates)
    task = asyncio.get_running_loop().create_task(times.run())
    try:
        yield times
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_call_is_permitted_at_once_and_only_once() -> None:
    async with served({POST: CallRate(per_channel_per_second=0.001)}) as times:
        thread = Thread(times)
        assert await thread.asks(POST) == AT_ONCE
        assert await thread.asks(POST) == AT_ONCE
        thread.line.spend(POST)
        assert await thread.asks(POST) == LATER


async def test_whoever_waits_is_woken() -> None:
    async with served() as times:
        first, second = Thread(times), Thread(times)
        await first.waits(POST)
        await second.waits(POST)
        assert await first.asks(POST) == LATER


async def test_drafts_leave_calls_for_finals() -> None:
    """D4"""
    async with served() as times:
        drafts = 0
        while await Thread(times).asks() == AT_ONCE:
            drafts += 1
        assert drafts == 5
        finals = 0
        while await Thread(times).asks(urgent=True) == AT_ONCE:
            finals += 1
        assert finals == 5


async def test_of_those_that_wait_finals_come_first_and_drafts_in_turn() -> None:
    """D4"""
    async with served({EDIT: CallRate(per_channel_per_second=50)}) as times:
        order: list[str] = []
        await Thread(times).waits()

        async def run(name: str, *, urgent: bool, often: int) -> None:
            thread = Thread(times)
            for _ in range(often):
                await thread.waits(urgent=urgent)
                order.append(name)

        async with asyncio.TaskGroup() as group:
            for name in ("a", "b", "c"):
                group.create_task(run(name, urgent=False, often=2))
            await asyncio.sleep(0)
            group.create_task(run("final", urgent=True, often=1))
        assert order[0] == "final"
        assert sorted(order[1:4]) == sorted(order[4:7]) == ["a", "b", "c"]


async def test_a_pause_holds_for_one_method_in_one_channel() -> None:
    """D4"""
    async with served() as times:
        thread = Thread(times)
        await thread.line.pause(EDIT, 60)
        assert await thread.asks(urgent=True) == LATER
        assert await thread.asks(POST) == AT_ONCE
        assert await Thread(times, "C2").asks() == AT_ONCE
        assert await Thread(times, installation="T2").asks() == AT_ONCE


async def test_a_second_channel_that_is_told_to_wait_shows_that_the_workspace_must() -> None:
    """D4"""
    async with served() as times:
        for channel in ("C1", "C2"):
            await Thread(times, channel).line.pause(EDIT, 60)
        assert await Thread(times, "C3").asks(urgent=True) == LATER
        assert await Thread(times, "C3").asks(POST) == AT_ONCE
        assert await Thread(times, "C3", "T2").asks() == AT_ONCE


async def test_where_channels_have_a_limit_of_their_own_it_is_taken_for_that_one_first() -> None:
    """D4"""
    async with served() as times:
        for number in range(OWN_CHANNELS_PAUSED_MAX):
            await Thread(times, f"C{number}").line.pause(POST, 60)
        assert await Thread(times, "other").asks(POST) == AT_ONCE
        await Thread(times, "C9").line.pause(POST, 60)
        assert await Thread(times, "yet another").asks(POST) == LATER


async def test_the_same_channel_twice_says_nothing_of_the_workspace() -> None:
    """D4"""
    async with served() as times:
        for _ in range(2):
            await Thread(times).line.pause(EDIT, 60)
        assert await Thread(times, "C2").asks() == AT_ONCE


async def test_after_a_pause_whoever_waited_is_woken() -> None:
    """D4"""
    async with served() as times:
        thread = Thread(times)
        await thread.line.pause(EDIT, 0.05)
        assert await thread.asks() == LATER
        await thread.waits()


async def test_what_is_no_longer_wanted_takes_no_turn() -> None:
    async with served({POST: CallRate(per_channel_per_second=0.5)}) as times:
        first, gone, left = Thread(times), Thread(times), Thread(times)
        await first.waits(POST)
        assert await gone.asks(POST) == LATER
        assert await left.asks(POST) == LATER
        await gone.line.ask({})
        await left.waits(POST)
        assert not gone.woken.is_set()
        left.line.close()


async def test_a_thread_holds_itself_back_and_nobody_else() -> None:
    async with served() as times:
        thread = Thread(times)
        until = times.clock() + 60
        thread.line.hold(EDIT, until=until)
        assert await thread.asks(urgent=True) == until
        assert await Thread(times).asks() == AT_ONCE


async def test_a_permission_that_does_not_come_in_time_is_a_limit() -> None:
    async with served({POST: CallRate(per_channel_per_second=0.001)}) as times:
        await permission(times, "T1", "C1", POST, seconds_max=5)
        with pytest.raises(RateLimited) as caught:
            await permission(times, "T1", "C1", POST, seconds_max=0.01)
        assert caught.value.code == OWN_BUDGET
        assert caught.value.retry_after_seconds == 0.01
