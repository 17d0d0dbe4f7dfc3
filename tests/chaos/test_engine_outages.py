"""Postgres or Redis goes away in the middle of a turn: the turn ends complete and single."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from config.settings import WorkerSettings
from engine.chat.commands import BusyBehavior, Interrupt
from engine.chat.view import ShownStatus
from engine.store.errors import StoreUnavailable
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import FakeModel, Gate, Hang, Say
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer
from tests.fakes.replica import TestReplica, Watcher, eventually, soon, unanswered

STEADY = WorkerSettings(lease_seconds=20.0, heartbeat_seconds=0.2, poll_seconds=0.1)
"""Leases that outlive the outages of these tests."""
WHOLE = [("user", "one"), ("assistant", "Half and half.")]


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def tries(caplog: pytest.LogCaptureFixture, count: int) -> None:
    """Wait until a run has found the database away so often."""

    async def are_made() -> bool:
        made = [record for record in caplog.records if record.name.endswith("patient_store")]
        return len(made) >= count

    await eventually(are_made)


@pytest.mark.parametrize("crash", [False, True])
async def test_a_restart_of_the_database_in_mid_stream(
    database_url: str, model: FakeModel, postgres: PostgresServer, *, crash: bool
) -> None:
    """Postgres restarted in mid-stream, in order or by a crash: one request, one whole answer."""
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with TestReplica.start(database_url, model.url, worker=STEADY) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_text("Half")
            # A database copied without a log is on disk from its first checkpoint only.
            postgres.sql("CHECKPOINT")
            postgres.restart(crash=crash)
            model.release("mid")
            await seen.until_status(ShownStatus.WAITING)
            assert seen.said == WHOLE
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == WHOLE
    assert len(model.requests) == 1


async def test_the_database_is_away_when_the_answer_is_stored(
    database_url: str,
    model: FakeModel,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Postgres away during the commit: the answer waits for it, and is stored once."""
    caplog.set_level(logging.WARNING)
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with TestReplica.start(database_url, model.url, worker=STEADY) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        postgres.stop()
        model.release("mid")
        # Six tries with doubling pauses: about three seconds.
        await tries(caplog, 6)
        postgres.start()
        await eventually(lambda: can_read(replica))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == WHOLE
    assert len(model.requests) == 1


async def can_read(replica: TestReplica) -> bool:
    """Whether the database answers again."""
    try:
        await replica.engine.list_chats()
    except Exception:  # noqa: BLE001 - any failure says no
        return False
    return True


async def test_the_database_is_away_while_a_tool_runs(
    database_url: str,
    model: FakeModel,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A tool that ends while Postgres is away ran once, and its result is stored when it is back."""
    caplog.set_level(logging.WARNING)
    began, may_end, runs = asyncio.Event(), asyncio.Event(), []

    async def deploy(_args: Mapping[str, Any], context: ToolContext) -> Any:
        runs.append(context.tool_call_id)
        began.set()
        await may_end.wait()
        return "deployed"

    tool = LocalTool(definition=ToolDefinition(name="deploy", description=""), run=deploy)
    model.call("deploy", id="d1")
    async with TestReplica.start(database_url, model.url, worker=STEADY, tools=(tool,)) as replica:
        chat_id = await replica.chat("one")
        await soon(began.wait())
        postgres.stop()
        may_end.set()
        await tries(caplog, 3)
        postgres.start()
        await eventually(lambda: can_read(replica))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [part.result for part in await replica.results(chat_id)] == [{"output": "deployed"}]
        assert unanswered(await replica.messages(chat_id)) == []
    assert runs == ["d1"]
    assert len(model.requests) == 2


async def test_a_lost_answer_to_a_commit_stores_nothing_twice(
    database_url: str, model: FakeModel
) -> None:
    """A commit whose connection breaks is tried again: its messages are there exactly once."""
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with TestReplica.start(database_url, model.url, worker=STEADY) as replica:
        machine, submit = replica.engine.machine, replica.engine.machine.submit
        lost: list[str] = []

        async def lose_first_answer(chat_id: Any, command: Any) -> Any:
            outcome = await submit(chat_id, command)
            if type(command).__name__ not in lost:
                lost.append(type(command).__name__)
                raise StoreUnavailable("the connection broke after the commit")
            return outcome

        machine.submit = lose_first_answer  # type: ignore[method-assign]
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        model.release("mid")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == WHOLE
        assert "FinishTurn" in lost
    assert len(model.requests) == 1


def answered_three_times(seen: Watcher) -> bool:
    """Whether three messages and their answers are shown, and nothing more is to come."""
    return len(seen.said) == 6 and seen.chat.status is ShownStatus.WAITING


async def test_redis_goes_away_in_mid_stream(
    database_url: str, model: FakeModel, redis: RedisServer
) -> None:
    """Redis away during a turn: both replicas still see the whole answer, once; later ones too."""
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with (
        TestReplica.start(database_url, model.url, redis_url=redis.url) as a,
        TestReplica.start(database_url, redis_url=redis.url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        async with a.watch(chat_id) as near, b.watch(chat_id) as far:
            for seen in (near, far):
                await seen.until_text("Half")
            redis.stop()
            model.release("mid")
            for seen in (near, far):
                await seen.until_status(ShownStatus.WAITING)
                assert seen.said == WHOLE
            model.script([Say("Still"), Gate("second"), Hang()])
            await b.send(chat_id, "two")
            await soon(model.reached("second"))
            redis.start()
            await b.send(chat_id, "three", busy=BusyBehavior.INTERRUPT)
            for seen in (near, far):
                await seen.until(answered_three_times)
                assert seen.said[2:] == [
                    ("user", "two"), ("assistant", "Still"),
                    ("user", "three"), ("assistant", "All right."),
                ]  # fmt: skip


async def test_an_interrupt_is_obeyed_without_redis(
    database_url: str, model: FakeModel, redis: RedisServer
) -> None:
    """With Redis away an interrupt from another replica takes effect with the next heartbeat."""
    model.script([Say("Half"), Gate("mid"), Hang()])
    async with (
        TestReplica.start(database_url, model.url, redis_url=redis.url) as a,
        TestReplica.start(database_url, redis_url=redis.url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        await soon(model.reached("mid"))
        redis.stop()
        await b.do(chat_id, Interrupt())
        await b.until(chat_id, ShownStatus.WAITING)
        assert await b.history(chat_id) == [("user", "one"), ("assistant", "Half")]
