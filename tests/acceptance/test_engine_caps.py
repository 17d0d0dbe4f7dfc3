"""An organization may have only so many chats running at the same time; the others take turns."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from engine.chat.commands import Interrupt
from engine.chat.ids import ChatId, OrganizationId
from engine.chat.view import ShownStatus
from engine.store.pool import Pool
from engine.store.queries import query
from tests.fakes.model_server import FakeModel, Gate, Say, SeenRequest, Step
from tests.fakes.replica import TestReplica, eventually, said, soon
from tests.store.story import sql

CAP = 2


@pytest.fixture
async def capped(pool: Pool) -> OrganizationId:
    """An organization with room for two."""
    organization = OrganizationId(uuid4())
    statement = "INSERT INTO organizations (id, name, chats_max) VALUES ($1, 'capped', $2)"
    await sql(pool, statement, organization, CAP)
    return organization


@pytest.fixture
async def replicas(
    database_url: str, redis_url: str, model: FakeModel
) -> AsyncIterator[Sequence[TestReplica]]:
    """Two replicas on one database; every answer waits at a gate that has the question's name."""

    def answer(seen: SeenRequest) -> list[Step]:
        question = seen.last_text.removeprefix("Ada: ")
        return [Say("re "), Gate(question), Say(question)]

    model.answer(answer)
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                TestReplica.start(database_url, model.url, redis_url=redis_url)
            )
            for _ in range(2)
        ]


def asked(model: FakeModel) -> list[str]:
    """The questions that the model was asked, in order."""
    return [seen.last_text.removeprefix("Ada: ") for seen in model.requests]


async def running(replica: TestReplica, chats: Sequence[ChatId]) -> int:
    """How many of them somebody works on."""
    views = [await replica.view(chat) for chat in chats]
    return sum(view.status is ShownStatus.RUNNING for view in views)


async def test_no_more_run_than_there_is_room_for_on_all_replicas_together(
    replicas: Sequence[TestReplica], model: FakeModel, capped: OrganizationId
) -> None:
    chats = [
        await replicas[number % 2].chat(f"{number}", organization_id=capped) for number in range(6)
    ]
    for done in range(len(chats)):
        expected = min(done + CAP, len(chats))
        await soon(model.wait_for_requests(expected))
        assert await running(replicas[0], chats) <= CAP
        assert len(model.requests) == expected
        model.release(asked(model)[done])
    for number, chat in enumerate(chats):
        await replicas[0].until(chat, ShownStatus.WAITING)
        assert said(await replicas[0].messages(chat))[-1] == ("assistant", f"re {number}")


async def test_other_organizations_are_not_held_up(
    replicas: Sequence[TestReplica], model: FakeModel, capped: OrganizationId
) -> None:
    for number in range(4):
        await replicas[0].chat(f"{number}", organization_id=capped)
    free = await replicas[1].chat("free")
    model.release("free")

    await replicas[1].until(free, ShownStatus.WAITING)


async def test_who_waits_longest_is_next_and_a_queue_does_not_hold_its_place(
    replicas: Sequence[TestReplica], model: FakeModel, capped: OrganizationId
) -> None:
    talker = await replicas[0].chat("talk", organization_id=capped)
    other = await replicas[0].chat("other", organization_id=capped)
    await soon(model.wait_for_requests(2))
    await replicas[0].send(talker, "talk on")
    patient = await replicas[1].chat("patient", organization_id=capped)
    model.release("talk")
    await soon(model.wait_for_requests(3))

    assert asked(model)[2] == "patient"
    for name in ("other", "patient", "talk on"):
        model.release(name)
    for chat in (talker, other, patient):
        await replicas[0].until(chat, ShownStatus.WAITING)
    assert [text for role, text in said(await replicas[0].messages(talker)) if role == "assistant"] == [
        "re talk",
        "re talk on",
    ]  # fmt: skip


async def test_a_chat_that_waits_for_room_can_be_stopped(
    replicas: Sequence[TestReplica], model: FakeModel, capped: OrganizationId
) -> None:
    for number in range(CAP):
        await replicas[0].chat(f"{number}", organization_id=capped)
    await soon(model.wait_for_requests(CAP))
    waiting = await replicas[0].chat("never", organization_id=capped)
    assert (await replicas[0].view(waiting)).status is ShownStatus.PENDING

    await replicas[1].do(waiting, Interrupt())

    await replicas[1].until(waiting, ShownStatus.WAITING)
    assert "never" not in asked(model)


async def test_a_cap_that_is_raised_takes_effect_by_itself(
    replicas: Sequence[TestReplica], model: FakeModel, capped: OrganizationId, pool: Pool
) -> None:
    for number in range(CAP + 1):
        await replicas[0].chat(f"{number}", organization_id=capped)
    await soon(model.wait_for_requests(CAP))

    await sql(pool, "UPDATE organizations SET chats_max = 3 WHERE id = $1", capped)

    await soon(model.wait_for_requests(CAP + 1))


async def test_the_places_of_the_dead_are_free_again(
    database_url: str, model: FakeModel, capped: OrganizationId, pool: Pool
) -> None:
    model.answer(lambda seen: [Say(seen.last_text)])
    async with TestReplica.start(database_url, model.url, works=False) as idle:
        held = [await idle.chat(f"{number}", organization_id=capped) for number in range(CAP)]
        late = await idle.chat("late", organization_id=capped)
        gone = await idle.engine.leases.acquire_capped(10, 3600.0)
        assert {chat.chat_id for chat in gone} == set(held)
        async with TestReplica.start(database_url, model.url) as worker:
            assert await worker.engine.leases.acquire_capped(10, 3600.0) == ()
            await sql(pool, "UPDATE chat_heartbeats SET heartbeat_at = now() - lease")
            for chat in (*held, late):
                await worker.until(chat, ShownStatus.WAITING)


async def test_workers_that_ask_at_once_do_not_take_more_than_there_is_room_for(
    database_url: str, capped: OrganizationId
) -> None:
    async with TestReplica.start(database_url, works=False) as idle:
        for number in range(24):
            await idle.chat(f"{number}", organization_id=capped)
        leases = idle.engine.leases
        taken = await asyncio.gather(*(leases.acquire_capped(1, 3600.0) for _ in range(16)))

    assert sum(len(chats) for chats in taken) == CAP


async def test_a_worker_counts_only_when_no_other_is_counting(
    database_url: str, capped: OrganizationId, pool: Pool
) -> None:
    async with TestReplica.start(database_url, works=False) as idle:
        await idle.chat("one", organization_id=capped)
        async with pool.session() as connection, connection.transaction():
            await connection.execute(query("leases.lock_caps").sql)
            second = asyncio.create_task(idle.engine.leases.acquire_capped(1, 3600.0))
            await eventually(lambda: _waits_for_a_lock(pool))
        assert len(await soon(second)) == 1


async def _waits_for_a_lock(pool: Pool) -> bool:
    statement = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    async with pool.session() as connection:
        return bool(await connection.fetchval(statement))
