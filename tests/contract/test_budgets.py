"""What every budget keeps to: in memory, over Redis, and over Redis by two replicas."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import cycle

import pytest

from engine.budgets.bucket import Gate, may_pass, shared_key
from engine.budgets.budget import Budget
from engine.budgets.memory_budget import MemoryBudget
from engine.budgets.redis_budget import LOTTERY_SECONDS, RedisBudget
from engine.budgets.shared_budget import SharedBudget
from tests.fakes.redis import RedisServer

EDIT = Gate(key=shared_key("slack:T1", "edit"), capacity=4, per_second=0.1)
CHANNEL = Gate(key=shared_key("slack:T1", "edit", "C1"), capacity=100, per_second=100)
OTHER = Gate(key=shared_key("slack:T2", "edit"), capacity=4, per_second=0.1)


async def shared(stack: AsyncExitStack, url: str, name: str) -> SharedBudget:
    budget = SharedBudget(RedisBudget(url, replica=name), alone_seconds=0.0)
    stack.push_async_callback(budget.close)
    return budget


@pytest.fixture(params=["memory", "redis", "two replicas"])
async def budgets(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[list[Budget]]:
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            yield [MemoryBudget()]
        elif request.param == "redis":
            yield [await shared(stack, redis_url, "one")]
        else:
            yield [await shared(stack, redis_url, name) for name in ("one", "two")]


async def passes(budget: Budget, *gates: Gate, keep_share: float = 0.0) -> bool:
    return may_pass(await budget.take(gates, keep_share=keep_share))


async def test_all_together_pass_no_more_than_the_gate_allows(budgets: list[Budget]) -> None:
    turns = cycle(budgets)
    passed = [await passes(next(turns), EDIT, CHANNEL) for _ in range(8)]
    assert passed == [True] * 4 + [False] * 4


async def test_whoever_must_wait_is_told_for_how_long(budgets: list[Budget]) -> None:
    for _ in range(4):
        await passes(budgets[0], EDIT)
    (wait,) = await budgets[-1].take([EDIT])
    assert 9 < wait <= 10 + LOTTERY_SECONDS


async def test_a_gate_that_stops_a_call_leaves_the_others_as_they_were(
    budgets: list[Budget],
) -> None:
    narrow = Gate(key=shared_key("slack:T1", "edit", "C2"), capacity=1, per_second=0.01)
    assert await passes(budgets[0], EDIT, narrow)
    for _ in range(9):
        whole, channel = await budgets[-1].take([EDIT, narrow])
        assert whole == 0
        assert channel > 90
    assert [await passes(budgets[0], EDIT) for _ in range(4)] == [True, True, True, False]


async def test_calls_that_may_wait_leave_some_to_those_that_may_not(budgets: list[Budget]) -> None:
    """D4"""
    turns = cycle(budgets)
    drafts = [await passes(next(turns), EDIT, keep_share=0.5) for _ in range(4)]
    assert drafts == [True, True, False, False]
    assert [await passes(next(turns), EDIT) for _ in range(3)] == [True, True, False]


async def test_a_pause_holds_for_everybody_at_that_gate_alone(budgets: list[Budget]) -> None:
    """D4"""
    await budgets[0].pause(CHANNEL.key, 60)
    for budget in budgets:
        whole, channel = await budget.take([EDIT, CHANNEL])
        assert whole == 0
        assert 55 < channel <= 60 + LOTTERY_SECONDS
    assert await passes(budgets[-1], EDIT)
    await budgets[0].pause(EDIT.key, 60)
    assert not await passes(budgets[-1], EDIT)
    assert await passes(budgets[-1], OTHER)


async def test_a_shorter_pause_ends_no_longer_one(budgets: list[Budget]) -> None:
    await budgets[0].pause(EDIT.key, 60)
    await budgets[-1].pause(EDIT.key, 1)
    (wait,) = await budgets[0].take([EDIT])
    assert wait > 55


async def test_after_a_pause_calls_pass_one_by_one(budgets: list[Budget]) -> None:
    """D4"""
    await budgets[0].pause(EDIT.key, 0.05)
    async with asyncio.timeout(5):
        while not await passes(budgets[-1], EDIT):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert not await passes(budgets[0], EDIT)


async def test_a_bucket_fills_again(budgets: list[Budget]) -> None:
    quick = Gate(key=shared_key("slack:T1", "post"), capacity=2, per_second=50)
    began = time.monotonic()
    turns, count = cycle(budgets), 0
    async with asyncio.timeout(5):
        while count < 12:
            if await passes(next(turns), quick):
                count += 1
            else:
                await asyncio.sleep(0.005)
    assert time.monotonic() - began > 10 / 50 - 0.01


async def test_many_at_once_pass_no_more_than_the_gate_allows(budgets: list[Budget]) -> None:
    turns = cycle(budgets)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(passes(next(turns), EDIT)) for _ in range(60)]
    assert sum(task.result() for task in tasks) == 4


async def test_without_redis_a_replica_goes_on_with_its_part(
    redis: RedisServer, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Of three replicas that have asked lately, one has a third; a pause that it knows of holds."""
    wide = Gate(key=shared_key("slack:T1", "post"), capacity=9, per_second=0.01)
    async with AsyncExitStack() as stack:
        budgets = [await shared(stack, redis_url, name) for name in ("one", "two", "three")]
        for budget in (*budgets, *budgets):
            await passes(budget, OTHER)
            await passes(budget, CHANNEL)
        await budgets[0].pause(EDIT.key, 60)
        redis.stop()
        for budget in budgets:
            assert [await passes(budget, wide) for _ in range(5)] == [True] * 3 + [False] * 2
            assert not budget.is_shared
        assert not await passes(budgets[0], EDIT)
        redis.start()
        async with asyncio.timeout(5):
            while not budgets[0].is_shared:
                await passes(budgets[0], CHANNEL)
    actions = [getattr(record, "action", "") for record in caplog.records]
    assert actions.count("budget_alone") == 3


async def test_a_replica_that_has_never_reached_redis_takes_half(redis: RedisServer) -> None:
    redis.stop()
    async with AsyncExitStack() as stack:
        budget = await shared(stack, redis.url, "one")
        assert [await passes(budget, EDIT) for _ in range(3)] == [True, True, False]


async def test_of_replicas_the_one_where_many_wait_is_more_often_the_first(redis_url: str) -> None:
    """D4: each call that waits draws a lot, whichever replica it waits at."""
    many, few = (RedisBudget(redis_url, replica=name, draw=lambda: 0.5) for name in ("m", "f"))
    try:
        for budget in (many, few, many, few):
            for _ in range(4):
                await budget.take([EDIT])
        (of_many,) = await many.take([EDIT], waiting=20)
        (of_few,) = await few.take([EDIT], waiting=1)
        assert of_many < of_few
    finally:
        await many.close()
        await few.close()
