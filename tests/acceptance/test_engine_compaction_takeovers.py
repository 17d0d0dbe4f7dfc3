"""Replicas that die while they summarise: one summary, no lost message, no doubled answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine.chat.commands import CommitStep, RequestCompaction
from engine.chat.content import Finish, NewMessage, Role, Usage, plain
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from tests.acceptance.compaction_house import (
    FULL,
    LITTLE,
    SUMMARY,
    calls,
    house,
    notes,
    says,
    summaries,
    summarises,
    told,
)
from tests.fakes.model_server import FakeModel, Gate, Hang
from tests.fakes.replica import TestReplica, eventually, soon, unanswered

SILENCE = "UPDATE chat_heartbeats SET heartbeat_at = now() - lease - interval '1 s'"


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
        assert fake.refusals == []


@asynccontextmanager
async def held(replica: TestReplica, chat_id: ChatId) -> AsyncIterator[None]:
    """Let nobody commit anything to a chat for as long as the block takes."""
    async with replica.replica.pool.session() as connection, connection.transaction():
        await connection.execute("SELECT FROM chats WHERE id = $1 FOR UPDATE", chat_id)
        yield


async def is_well(replica: TestReplica, chat_id: ChatId, *answers: str) -> None:
    """One summary, its note, the message of a person, and these answers."""
    assert [text.endswith(SUMMARY) for text in await summaries(replica, chat_id)] == [True]
    assert len(await notes(replica, chat_id)) == 1
    assert await replica.history(chat_id) == [
        ("user", "Where is the keeper?"), *(("assistant", answer) for answer in answers),
    ]  # fmt: skip
    assert unanswered(await replica.messages(chat_id)) == []


@pytest.mark.parametrize("at_end", [False, True])
async def test_a_replica_that_dies_while_the_summary_is_made_is_replaced(
    database_url: str, model: FakeModel, *, at_end: bool
) -> None:
    """E54, E57: the other replica asks for the summary again; what is stored is not done again."""
    model.script(says("He is ill.", FULL) if at_end else calls(), says("A grey sail."))
    model.aside_script([Gate("first"), Hang()])
    model.aside_script(summarises())
    async with house(database_url, model) as a, house(database_url, model) as b:
        chat_id = await a.chat("Where is the keeper?")
        await soon(model.reached("first"))
        dead, alive = by_work(a, b)
        await dead.kill()
        await alive.until(chat_id, ShownStatus.WAITING)
        await is_well(alive, chat_id, "He is ill." if at_end else "A grey sail.")
        assert (len(model.streamed), len(model.asides)) == (1 if at_end else 2, 2)


@pytest.mark.parametrize("at_end", [False, True])
async def test_a_replica_that_dies_before_it_stores_the_summary_is_replaced(
    database_url: str, model: FakeModel, *, at_end: bool
) -> None:
    model.script(says("He is ill.", FULL) if at_end else calls(), says("A grey sail."))
    model.aside_script(summarises(at="first"))
    model.aside_script(summarises())
    async with (
        house(database_url, model, works=False) as seer,
        house(database_url, model) as a,
        house(database_url, model) as b,
    ):
        chat_id = await seer.chat("Where is the keeper?")
        await soon(model.reached("first"))
        dead, alive = by_work(a, b)
        async with held(seer, chat_id):
            model.release("first")
            await soon(model.asides[0].ended.wait())
            await eventually(lambda: waits_for_lock(seer))
            await dead.kill()
        await alive.until(chat_id, ShownStatus.WAITING)
        await is_well(alive, chat_id, "He is ill." if at_end else "A grey sail.")
        assert len(model.streamed) == (1 if at_end else 2)


async def test_a_replica_that_dies_after_the_summary_goes_on_with_it(
    database_url: str, model: FakeModel
) -> None:
    model.script(calls(), [Gate("second"), Hang()], says("A grey sail."))
    model.aside_script(summarises())
    async with house(database_url, model) as a, house(database_url, model) as b:
        chat_id = await a.chat("Where is the keeper?")
        await soon(model.reached("second"))
        dead, alive = by_work(a, b)
        await dead.kill()
        await alive.until(chat_id, ShownStatus.WAITING)
        await is_well(alive, chat_id, "A grey sail.")
        assert len(model.asides) == 1


@pytest.mark.parametrize(("usage", "is_due"), [(FULL, True), (LITTLE, False)])
async def test_a_stored_answer_is_not_given_again(
    database_url: str, model: FakeModel, usage: dict[str, int], *, is_due: bool
) -> None:
    """E57: a worker died between storing the answer and summarising: nobody is answered twice."""
    model.aside_script(summarises())
    async with house(database_url, model, works=False) as seer:
        chat_id = await seer.chat("Where is the keeper?")
        worker = await seer.hold(chat_id)
        version = (await seer.stored(chat_id)).history_version
        answer = NewMessage(
            role=Role.ASSISTANT,
            content=plain("He is ill."),
            finish=Finish.STOP,
            usage=Usage(input_tokens=usage["prompt_tokens"]),
        )
        await worker.report(CommitStep(fence=worker.fence(version), messages=(answer,)))
        await seer.send(chat_id, "And his wife?")
        async with seer.replica.pool.session() as connection:
            await connection.execute(SILENCE)
        model.script(says("In Hamburg."))
        async with house(database_url, model):
            await seer.until(chat_id, ShownStatus.WAITING)
        assert await seer.history(chat_id) == [
            ("user", "Where is the keeper?"),
            ("assistant", "He is ill."),
            ("user", "And his wife?"),
            ("assistant", "In Hamburg."),
        ]
        assert len(await summaries(seer, chat_id)) == is_due
        assert len(model.asides) == is_due


async def test_a_request_survives_the_replica_that_served_it(
    database_url: str, model: FakeModel
) -> None:
    model.aside_script([Gate("first"), Hang()])
    model.aside_script(summarises())
    async with house(database_url, model) as a, house(database_url, model) as b:
        chat_id = await a.chat("Where is the keeper?")
        await a.until(chat_id, ShownStatus.WAITING)
        await a.do(chat_id, RequestCompaction())
        await soon(model.reached("first"))
        dead, alive = by_work(a, b)
        await dead.kill()
        await alive.until(chat_id, ShownStatus.WAITING)
        await is_well(alive, chat_id, "All right.")
        assert len(await told(alive, chat_id)) == 1


async def test_a_closing_replica_gives_a_summary_up_at_once(
    database_url: str, model: FakeModel
) -> None:
    """E37: nothing of it is stored; the next replica makes it."""
    model.script(says("He is ill.", FULL))
    model.aside_script([Gate("first"), Hang()])
    model.aside_script(summarises())
    async with house(database_url, model, works=False) as seer:
        async with house(database_url, model) as a:
            chat_id = await a.chat("Where is the keeper?")
            await soon(model.reached("first"))
            await soon(a.close())
        assert await summaries(seer, chat_id) == []
        assert (await seer.view(chat_id)).status is ShownStatus.PENDING
        async with house(database_url, model):
            await seer.until(chat_id, ShownStatus.WAITING)
        await is_well(seer, chat_id, "He is ill.")


def by_work(a: TestReplica, b: TestReplica) -> tuple[TestReplica, TestReplica]:
    """The replica that works, then the other."""
    assert a.replica.worker is not None
    return (a, b) if a.replica.worker.running_count else (b, a)


async def waits_for_lock(replica: TestReplica) -> bool:
    """Whether some commit waits for the chat's row."""
    await asyncio.sleep(0)
    async with replica.replica.pool.session() as connection:
        waiting = await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(waiting)
