"""The ledger: a call with side effects is started at most once, whoever dies."""

import asyncio

import pytest

from engine.chat.ids import MessageId, ToolCallId
from engine.store.chat_machine import ChatMachine
from engine.store.leases import AcquiredChat
from engine.store.ledger import CallState, Ledger
from engine.store.pool import Pool
from tests.store.story import force_running, new_chat, reserve, result, sql

A, B = ToolCallId("a\x00"), ToolCallId("b")


@pytest.fixture
async def held(machine: ChatMachine, pool: Pool) -> AcquiredChat:
    return await force_running(pool, await new_chat(machine))


@pytest.fixture
async def message_id(machine: ChatMachine, held: AcquiredChat) -> MessageId:
    return (await reserve(machine, held.chat_id, held, A, B)).message_ids[0]


async def test_calls_are_reserved_started_and_finished(
    pool: Pool, held: AcquiredChat, message_id: MessageId
) -> None:
    ledger = Ledger(pool)
    at = (held.chat_id, message_id)
    entries = await ledger.read_ledger(*at)
    assert [(e.tool_call_id, e.state) for e in entries] == [
        (A, CallState.RESERVED),
        (B, CallState.RESERVED),
    ]

    assert await ledger.mark_started(*at, [A], held.runner_id) == {A}
    done = result(A, {"out\x00": "\x00"}, "deploy")
    assert await ledger.mark_finished(*at, done, held.runner_id)

    first, second = await ledger.read_ledger(*at)
    assert (first.state, first.result) == (CallState.FINISHED, done)
    assert (second.state, second.result) == (CallState.RESERVED, None)


async def test_ten_starts_of_one_call_are_one(
    pool: Pool, held: AcquiredChat, message_id: MessageId
) -> None:
    """E57 (store part)"""
    ledger = Ledger(pool)

    started = await asyncio.gather(
        *(ledger.mark_started(held.chat_id, message_id, [A], held.runner_id) for _ in range(10))
    )

    assert sorted(map(len, started)) == [0] * 9 + [1]


async def test_worker_that_was_succeeded_can_write_nothing(
    pool: Pool, held: AcquiredChat, message_id: MessageId
) -> None:
    """E57 (store part)"""
    ledger = Ledger(pool)
    at = (held.chat_id, message_id)
    await ledger.mark_started(*at, [A], held.runner_id)
    await sql(pool, "UPDATE chat_heartbeats SET heartbeat_at = now() - lease")
    heir = await force_running(pool, held.chat_id)

    assert await ledger.mark_started(*at, [B], held.runner_id) == frozenset()
    assert not await ledger.mark_finished(*at, result(A, 1), held.runner_id)
    assert await ledger.mark_unknown(*at, [A], held.runner_id) == 0

    assert await ledger.mark_started(*at, [A, B], heir.runner_id) == {B}
    assert await ledger.mark_unknown(*at, [A], heir.runner_id) == 1
    states = {e.tool_call_id: e.state for e in await ledger.read_ledger(*at)}
    assert states == {A: CallState.UNKNOWN, B: CallState.STARTED}
