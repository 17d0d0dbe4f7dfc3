"""Turns are taken in the order in which they were asked for, key by key."""

import asyncio

import pytest

from adapters.slack.in_order import InOrder


async def test_a_later_turn_waits_for_an_earlier_one_of_its_key_alone() -> None:
    """D12"""
    order, done = InOrder(), list[str]()
    gate = asyncio.Event()

    async def take(key: str, name: str, *, waits: bool = False) -> None:
        async with order.turn(key):
            if waits:
                await gate.wait()
            done.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(take("a", "a1", waits=True))
        tasks.create_task(take("a", "a2"))
        tasks.create_task(take("a", "a3"))
        await tasks.create_task(take("b", "b1"))
        assert done == ["b1"]
        gate.set()
    assert done == ["b1", "a1", "a2", "a3"]
    await asyncio.sleep(0)
    assert order._last == {}


async def test_a_turn_that_fails_or_is_given_up_keeps_the_order() -> None:
    """D12"""
    order, done = InOrder(), list[str]()
    gate = asyncio.Event()

    async def hold() -> None:
        async with order.turn("a"):
            await gate.wait()
            done.append("held")
            raise ConnectionError

    async def follow() -> None:
        async with order.turn("a"):
            done.append("followed")

    holding = asyncio.create_task(hold())
    impatient, patient = asyncio.create_task(follow()), asyncio.create_task(follow())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait([impatient])
    assert done == []
    gate.set()
    with pytest.raises(ConnectionError):
        await holding
    await patient
    assert done == ["held", "followed"]
    await asyncio.sleep(0)
    assert order._last == {}
