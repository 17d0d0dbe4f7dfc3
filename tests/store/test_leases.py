"""Leases: one worker a chat, by the database's clock; the dead are succeeded, the living never."""

import asyncio
from collections import Counter
from dataclasses import replace
from uuid import uuid4

import pytest

from engine.chat.commands import FinishTurn, Interrupt, ReleaseLease
from engine.chat.decision import RefusalReason
from engine.chat.ids import ChatId, RunnerId
from engine.store.chat_machine import ChatMachine
from engine.store.leases import Leases
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.rows import ChatRows
from tests.fakes.postgres import PostgresServer
from tests.store.story import (
    LEASE_SECONDS,
    answer,
    fence_of,
    force_running,
    new_chat,
    reconnect,
    sql,
    submit,
    submit_refused,
    waiting_chat,
)


async def die(pool: Pool, chat_id: ChatId) -> None:
    """Let the lease of whoever holds the chat have run out."""
    statement = "UPDATE chat_heartbeats SET heartbeat_at = now() - lease WHERE chat_id = $1"
    await sql(pool, statement, chat_id)


async def shown(pool: Pool, chat_id: ChatId) -> str:
    view = await ChatRows(pool).read_chat(chat_id)
    assert view is not None
    return view.status


async def test_eight_workers_never_get_the_same_chat(machine: ChatMachine, pool: Pool) -> None:
    chats = {await new_chat(machine) for _ in range(40)}
    leases = Leases(pool)
    acquired: list[ChatId] = []

    async def work() -> None:
        while len(acquired) < len(chats):
            acquired.extend(chat.chat_id for chat in await leases.acquire_chats(3, LEASE_SECONDS))

    async with asyncio.timeout(30):
        await asyncio.gather(*(work() for _ in range(8)))

    assert Counter(acquired) == dict.fromkeys(chats, 1)


async def test_eight_workers_never_succeed_the_same_dead_one_twice(
    machine: ChatMachine, pool: Pool
) -> None:
    chats = {await new_chat(machine) for _ in range(20)}
    leases = Leases(pool)
    await leases.acquire_chats(len(chats), LEASE_SECONDS)
    await sql(pool, "UPDATE chat_heartbeats SET heartbeat_at = now() - lease")
    acquired: list[ChatId] = []

    async def work() -> None:
        while len(acquired) < len(chats):
            acquired.extend(chat.chat_id for chat in await leases.acquire_chats(2, LEASE_SECONDS))

    async with asyncio.timeout(30):
        await asyncio.gather(*(work() for _ in range(8)))

    assert Counter(acquired) == dict.fromkeys(chats, 1)


def hold_up(monkeypatch: pytest.MonkeyPatch, name: str, before: str, pause: str) -> None:
    """Let a query wait in its middle, its snapshot taken, while the test holds advisory lock 7."""
    original = query(name)
    assert before in original.sql
    slow = replace(original, sql=original.sql.replace(before, pause + before, 1))
    monkeypatch.setattr(
        "engine.store.leases.query", lambda asked: slow if asked == name else query(asked)
    )


async def until_held_up(pool: Pool) -> None:
    async with asyncio.timeout(10):
        while not await sql(
            pool, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ):
            pass


async def test_chat_taken_between_the_look_and_the_lock_is_passed_over(
    machine: ChatMachine, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_id = await new_chat(machine)
    async with pool.session() as gate:
        await gate.execute("SELECT pg_advisory_lock(7)")
        with monkeypatch.context() as patch:
            pause = "UNION ALL SELECT NULL, NULL, NULL FROM pg_advisory_xact_lock(7)\n"
            hold_up(patch, "leases.acquire_chats", "), locked AS (", pause)
            slow = asyncio.ensure_future(Leases(pool).acquire_chats(10, LEASE_SECONDS))
            await until_held_up(pool)
        (quick,) = await Leases(pool).acquire_chats(10, LEASE_SECONDS)
        await gate.execute("SELECT pg_advisory_unlock(7)")

    assert await slow == ()
    (now,) = await ChatRows(pool).versions_of([chat_id])
    assert now == quick.change


async def test_heartbeat_that_is_overtaken_by_a_successor_leaves_it_alone(
    machine: ChatMachine, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E6"""
    chat_id = await new_chat(machine)
    dead = await force_running(pool, chat_id)
    await die(pool, chat_id)
    async with pool.session() as gate:
        await gate.execute("SELECT pg_advisory_lock(7)")
        with monkeypatch.context() as patch:
            pause = "CROSS JOIN pg_advisory_xact_lock(7)\n"
            hold_up(patch, "leases.renew_chats", "), renewed AS (", pause)
            pairs = [(chat_id, dead.runner_id)]
            slow = asyncio.ensure_future(Leases(pool).renew_chats(pairs, LEASE_SECONDS))
            await until_held_up(pool)
        heir = await force_running(pool, chat_id)
        await gate.execute("SELECT pg_advisory_unlock(7)")

    assert await slow == ()
    (row,) = await sql(pool, "SELECT runner_id FROM chat_heartbeats WHERE chat_id = $1", chat_id)
    assert row["runner_id"] == heir.runner_id


async def test_longest_waiting_chat_is_first(machine: ChatMachine, pool: Pool) -> None:
    chats = [await new_chat(machine) for _ in range(5)]

    acquired = await Leases(pool).acquire_chats(3, LEASE_SECONDS)

    assert [chat.chat_id for chat in acquired] == chats[:3]


async def test_acquired_chat_is_shown_running_and_begins_an_episode(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    assert await shown(pool, chat_id) == "pending"

    held = await force_running(pool, chat_id)

    assert await shown(pool, chat_id) == "running"
    assert held.change.generation_attempt == 1
    assert (await ChatRows(pool).versions_of([chat_id])) == [held.change]


async def test_only_runnable_chats_are_acquired(machine: ChatMachine, pool: Pool) -> None:
    """E21"""
    await waiting_chat(machine, pool)

    assert await Leases(pool).acquire_chats(10, LEASE_SECONDS) == ()


async def test_chat_of_a_dead_worker_is_taken_over_and_the_dead_is_fenced(
    machine: ChatMachine, pool: Pool
) -> None:
    """E20 (store part)"""
    chat_id = await new_chat(machine)
    dead = await force_running(pool, chat_id)
    assert await Leases(pool).acquire_chats(10, LEASE_SECONDS) == ()
    await die(pool, chat_id)
    assert await shown(pool, chat_id) == "pending"
    assert await Leases(pool).acquire_chats(10, LEASE_SECONDS, with_stale=False) == ()

    heir = await force_running(pool, chat_id)

    assert heir.runner_id != dead.runner_id
    assert heir.change.generation_attempt == 2
    late = FinishTurn(fence=fence_of(dead), messages=(answer("late"),))
    refused = await submit_refused(machine, chat_id, late)
    assert refused.reason is RefusalReason.LEASE_LOST
    await submit(machine, chat_id, FinishTurn(fence=fence_of(heir), messages=(answer("hi"),)))


async def test_interrupting_chat_of_a_dead_worker_is_taken_over(
    machine: ChatMachine, pool: Pool
) -> None:
    """E3 (store part)"""
    chat_id = await new_chat(machine)
    await force_running(pool, chat_id)
    await submit(machine, chat_id, Interrupt())
    await die(pool, chat_id)

    heir = await force_running(pool, chat_id)

    assert heir.change.status == "interrupting"


async def test_heartbeat_of_the_wrong_worker_renews_nothing_and_says_so(
    machine: ChatMachine, pool: Pool
) -> None:
    """E6"""
    leases = Leases(pool)
    mine, other = await new_chat(machine), await new_chat(machine)
    held = {chat_id: await force_running(pool, chat_id) for chat_id in (mine,)}
    pairs = [(mine, held[mine].runner_id), (other, RunnerId(uuid4()))]

    renewed = await leases.renew_chats(pairs, LEASE_SECONDS)

    assert [chat.chat_id for chat in renewed] == [mine]
    assert renewed[0].snapshot_version == held[mine].change.snapshot_version
    assert await leases.renew_chats([(mine, RunnerId(uuid4()))], LEASE_SECONDS) == ()


async def test_heartbeat_of_a_succeeded_worker_leaves_its_heirs_alone(
    machine: ChatMachine, pool: Pool
) -> None:
    """E6"""
    leases = Leases(pool)
    chat_id = await new_chat(machine)
    dead = await force_running(pool, chat_id)
    await die(pool, chat_id)
    heir = await force_running(pool, chat_id)

    assert await leases.renew_chats([(chat_id, dead.runner_id)], LEASE_SECONDS) == ()

    (row,) = await sql(pool, "SELECT runner_id FROM chat_heartbeats WHERE chat_id = $1", chat_id)
    assert row["runner_id"] == heir.runner_id


async def test_late_heartbeat_revives_a_lease_that_nobody_took(
    machine: ChatMachine, pool: Pool
) -> None:
    leases = Leases(pool)
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await die(pool, chat_id)

    assert len(await leases.renew_chats([(chat_id, held.runner_id)], LEASE_SECONDS)) == 1

    assert await shown(pool, chat_id) == "running"
    assert await leases.acquire_chats(10, LEASE_SECONDS) == ()


async def test_heartbeats_return_after_the_database_crashed(
    machine: ChatMachine, pool: Pool, postgres: PostgresServer
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await sql(pool, "CHECKPOINT")

    postgres.restart(crash=True)
    await reconnect(pool)

    assert await sql(pool, "SELECT 1 FROM chat_heartbeats") == []
    renewed = await Leases(pool).renew_chats([(chat_id, held.runner_id)], LEASE_SECONDS)
    assert [chat.chat_id for chat in renewed] == [chat_id]
    assert await shown(pool, chat_id) == "running"


async def test_released_chat_is_pending_and_taken_at_once(machine: ChatMachine, pool: Pool) -> None:
    """E37 (store part)"""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)

    released = await submit(machine, chat_id, ReleaseLease(fence=fence_of(held)))

    assert released.snapshot.last_error is None
    assert await shown(pool, chat_id) == "pending"
    assert len(await Leases(pool).acquire_chats(1, LEASE_SECONDS, with_stale=False)) == 1


async def test_ended_heartbeats_are_forgotten(machine: ChatMachine, pool: Pool) -> None:
    leases = Leases(pool)
    old, young = await new_chat(machine), await new_chat(machine)
    await leases.acquire_chats(2, LEASE_SECONDS)
    ended = (
        "UPDATE chat_heartbeats SET heartbeat_at = now() - interval '2 hours' WHERE chat_id = $1"
    )
    await sql(pool, ended, old)

    assert await leases.forget_heartbeats() == 1

    (row,) = await sql(pool, "SELECT chat_id FROM chat_heartbeats")
    assert row["chat_id"] == young


async def test_a_role_has_one_holder_and_a_greater_fence_for_each(pool: Pool) -> None:
    leases = Leases(pool)
    ada, bo = uuid4(), uuid4()

    assert await leases.hold("gateway", ada, LEASE_SECONDS) == 1
    assert await leases.hold("gateway", ada, LEASE_SECONDS) == 1
    assert await leases.hold("gateway", bo, LEASE_SECONDS) is None
    assert await leases.hold("schedule", bo, LEASE_SECONDS) == 1

    assert not await leases.release("gateway", bo)
    assert await leases.release("gateway", ada)
    assert await leases.hold("gateway", bo, LEASE_SECONDS) == 2

    await sql(pool, "UPDATE leases SET until = now()")
    assert await leases.hold("gateway", bo, LEASE_SECONDS) == 3
    assert await leases.hold("gateway", ada, LEASE_SECONDS) is None


async def test_one_of_ten_takes_a_free_role(pool: Pool) -> None:
    leases = Leases(pool)

    fences = await asyncio.gather(
        *(leases.hold("schedule", uuid4(), LEASE_SECONDS) for _ in range(10))
    )

    assert sorted(fence for fence in fences if fence is not None) == [1]


async def test_survey_tells_of_a_chat_until_somebody_has_it(
    machine: ChatMachine, pool: Pool
) -> None:
    """E49: a poll that finds nothing costs one read, and one that finds something acquires it."""
    leases = Leases(pool)
    await waiting_chat(machine, pool)
    assert not (await leases.survey()).has_runnable
    chat_id = await new_chat(machine)
    assert (await leases.survey()).has_runnable

    held = await force_running(pool, chat_id)
    assert not (await leases.survey()).has_runnable

    await submit(machine, chat_id, ReleaseLease(fence=fence_of(held)))
    assert (await leases.survey()).has_runnable


async def test_survey_tells_whether_any_organization_has_a_cap(pool: Pool) -> None:
    leases = Leases(pool)
    assert not (await leases.survey()).has_caps

    await sql(pool, "UPDATE organizations SET chats_max = 1")

    assert (await leases.survey()).has_caps
