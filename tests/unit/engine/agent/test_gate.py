"""A gate stops a run where it waits, never where it commits, and tells our stop from others'."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from engine.agent.gate import Gate, Stopped, StopReason


async def wait_inside(gate: Gate, inside: asyncio.Event) -> None:
    with gate:
        inside.set()
        await asyncio.Event().wait()


async def started(work: Callable[[asyncio.Event], Awaitable[None]]) -> asyncio.Task[None]:
    """The task, once it is inside."""
    inside = asyncio.Event()

    async def run() -> None:
        await work(inside)

    task = asyncio.create_task(run())
    await inside.wait()
    return task


async def test_a_stop_reaches_a_run_inside_at_once() -> None:
    gate = Gate()
    task = await started(lambda inside: wait_inside(gate, inside))
    gate.stop(StopReason.INTERRUPT)
    with pytest.raises(Stopped) as stopped:
        await task
    assert stopped.value.reason is StopReason.INTERRUPT
    assert task.cancelling() == 0


async def test_a_stop_outside_waits_for_the_next_gate() -> None:
    gate = Gate()
    gate.stop(StopReason.RELEASE)
    await asyncio.sleep(0)
    with pytest.raises(Stopped), gate:
        pytest.fail("the gate is closed")
    with pytest.raises(Stopped):
        gate.check()


async def test_the_graver_reason_wins_in_any_order() -> None:
    for order in (
        (StopReason.INTERRUPT, StopReason.ABANDON),
        (StopReason.ABANDON, StopReason.INTERRUPT),
    ):
        gate = Gate()
        task = await started(lambda inside, gate=gate: wait_inside(gate, inside))  # type: ignore[misc]
        for reason in order:
            gate.stop(reason)
        with pytest.raises(Stopped) as stopped:
            await task
        assert stopped.value.reason is StopReason.ABANDON


async def test_a_cancellation_by_somebody_else_passes_through() -> None:
    gate = Gate()
    task = await started(lambda inside: wait_inside(gate, inside))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_beside_our_stop_is_not_swallowed() -> None:
    gate = Gate()
    task = await started(lambda inside: wait_inside(gate, inside))
    gate.stop(StopReason.INTERRUPT)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_interrupt_can_be_forgotten_but_no_release() -> None:
    gate = Gate()
    gate.stop(StopReason.INTERRUPT)
    gate.reset()
    with gate:
        pass
    gate.stop(StopReason.RELEASE)
    gate.reset()
    assert gate.reason is StopReason.RELEASE


async def test_a_spared_reason_waits_until_the_run_has_left() -> None:
    gate, end, inside = Gate(), asyncio.Event(), asyncio.Event()
    done = []

    async def run() -> None:
        with gate.sparing(StopReason.RELEASE):
            inside.set()
            await end.wait()
        done.append("tools")
        with gate:
            done.append("never")

    task = asyncio.create_task(run())
    await inside.wait()
    gate.stop(StopReason.RELEASE)
    end.set()
    with pytest.raises(Stopped):
        await task
    assert done == ["tools"]


@pytest.mark.parametrize("reason", [StopReason.INTERRUPT, StopReason.RELEASE_AT_ONCE])
async def test_other_reasons_stop_what_spares_one(reason: StopReason) -> None:
    gate = Gate()

    async def run(inside: asyncio.Event) -> None:
        with gate.sparing(StopReason.RELEASE):
            inside.set()
            await asyncio.Event().wait()

    task = await started(run)
    gate.stop(StopReason.RELEASE)
    gate.stop(reason)
    with pytest.raises(Stopped):
        await task


async def test_a_failure_at_the_moment_of_a_stop_leaves_no_cancellation_behind() -> None:
    """What the run does next, as a commit, is not torn by a cancellation that came too late."""
    gate, inside = Gate(), asyncio.Event()

    async def fail() -> None:
        inside.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError

    async def run() -> str:
        with pytest.raises(LookupError), gate:
            await fail()
        async with asyncio.timeout(1):
            await asyncio.sleep(0)
        return "committed"

    task = asyncio.create_task(run())
    await inside.wait()
    gate.stop(StopReason.INTERRUPT)
    assert await task == "committed"
    assert gate.reason is StopReason.INTERRUPT
