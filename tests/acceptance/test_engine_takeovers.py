"""Replicas that die, close, fall over or come too late: every chat goes on, once."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

import pytest

from engine.agent.brain import Brain, BrainRequest
from engine.agent.recovery import OUTCOME_UNKNOWN
from engine.chat.errors import ErrorKind
from engine.chat.ids import RunnerId
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import FakeModel, Gate, Hang, Say
from tests.fakes.replica import (
    FAST,
    ONLY_WAKES,
    TestReplica,
    eventually,
    provider_at,
    soon,
    unanswered,
)


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def sql(replica: TestReplica, statement: str, *args: object) -> list[Any]:
    """Do what no code of ours does."""
    async with replica.replica.pool.session() as connection:
        rows: list[Any] = await connection.fetch(statement, *args)
        return rows


async def silence(replica: TestReplica) -> None:
    """Let every heartbeat be an old one, as of workers that died an hour ago."""
    await sql(replica, "UPDATE chat_heartbeats SET heartbeat_at = now() - lease - interval '1 s'")


class Deploy:
    """A tool with side effects that counts its runs and ends when it is told to."""

    def __init__(self) -> None:
        self.runs = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    @property
    def tool(self) -> LocalTool:
        return LocalTool(definition=ToolDefinition(name="deploy", description=""), run=self._run)

    async def _run(self, _args: Mapping[str, Any], _context: ToolContext) -> Any:
        self.runs += 1
        self.began.set()
        await self.may_end.wait()
        return "deployed"


async def test_a_heartbeat_renews_only_what_is_held(database_url: str) -> None:
    """E6: the wrong worker or a lost fence renews nothing and says so; the right one does."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        first = await replica.hold(chat_id)
        leases = replica.engine.leases
        await silence(replica)
        second = await replica.hold(chat_id)
        beats = await sql(replica, "SELECT * FROM chat_heartbeats")
        for wrong in (RunnerId(uuid4()), first.runner_id):
            assert await leases.renew_chats([(chat_id, wrong)], 30) == ()
            assert await sql(replica, "SELECT * FROM chat_heartbeats") == beats
        (renewed,) = await leases.renew_chats(
            [(chat_id, first.runner_id), (chat_id, second.runner_id)], 30
        )
        assert (renewed.chat_id, renewed.status) == (chat_id, "running")
        assert await sql(replica, "SELECT * FROM chat_heartbeats") != beats


async def test_an_orphan_is_taken_over_in_time(database_url: str, model: FakeModel) -> None:
    """E18: a chat orphaned after start-up is taken over within stale + stale/5, without a restart."""
    model.script([Gate("first"), Hang()], [Gate("second"), Say("Here I am.")])
    async with (
        TestReplica.start(database_url, model.url) as a,
        TestReplica.start(database_url, model.url) as b,
    ):
        chat_id = await a.chat("one")
        await soon(model.reached("first"))
        assert a.replica.worker is not None
        dead, alive = (a, b) if a.replica.worker.running_count else (b, a)
        await dead.kill()
        started = time.monotonic()
        await soon(model.reached("second"))
        seconds = time.monotonic() - started
        # Half a second for a busy machine.
        assert seconds < FAST.lease_seconds * 1.2 + 0.5
        model.release("second")
        await alive.until(chat_id, ShownStatus.WAITING)
        assert await alive.history(chat_id) == [("user", "one"), ("assistant", "Here I am.")]


async def test_a_chat_of_a_dead_replica_is_finished_by_a_new_one(
    database_url: str, model: FakeModel
) -> None:
    """E20: a chat left running by a dead replica is taken over by a new one and finished."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with TestReplica.start(database_url, model.url) as dead:
        chat_id = await dead.chat("one")
        await soon(model.reached("mid"))
        await dead.kill()
        await soon(model.requests[0].left.wait())
    model.say("The whole answer.")
    async with TestReplica.start(database_url, model.url) as alive:
        await alive.until(chat_id, ShownStatus.WAITING)
        assert await alive.history(chat_id) == [
            ("user", "one"), ("assistant", "The whole answer."),
        ]  # fmt: skip
    assert len(model.requests) == 2


async def test_a_waiting_chat_is_never_touched_by_recovery(
    database_url: str, model: FakeModel
) -> None:
    """E21: while orphans are taken over, a chat that waits stays as it is, to the version."""
    async with TestReplica.start(database_url, model.url) as replica:
        waits = await replica.chat("one")
        await replica.until(waits, ShownStatus.WAITING)
    async with TestReplica.start(database_url, works=False) as other:
        before = await other.stored(waits)
        orphan = await other.chat("two")
        await other.hold(orphan)
        await silence(other)
        async with TestReplica.start(database_url, model.url):
            await other.until(orphan, ShownStatus.WAITING)
        assert await other.stored(waits) == before
    assert len(model.requests) == 2


@pytest.mark.parametrize("with_bus", [False, True])
async def test_a_closing_replica_gives_its_chats_back(
    database_url: str, model: FakeModel, redis_url: str, *, with_bus: bool
) -> None:
    """E37: closing A in mid-stream leaves the chat pending without error; B finishes it."""
    bus = redis_url if with_bus else None
    model.script([Say("Half an"), Gate("mid"), Hang()])
    model.say("The whole answer.")
    async with (
        TestReplica.start(database_url, works=False, redis_url=bus) as seer,
        TestReplica.start(database_url, model.url, redis_url=bus) as a,
    ):
        chat_id = await a.chat("one")
        await soon(model.reached("mid"))
        await a.close()
        await soon(model.requests[0].left.wait())
        view = await seer.view(chat_id)
        assert (view.status, view.last_error) == (ShownStatus.PENDING, None)
        assert (await seer.stored(chat_id)).runner_id is None
        assert await seer.history(chat_id) == [("user", "one")]
        async with TestReplica.start(database_url, model.url, redis_url=bus) as b:
            await b.until(chat_id, ShownStatus.WAITING)
            assert await b.history(chat_id) == [
                ("user", "one"), ("assistant", "The whole answer."),
            ]  # fmt: skip
    assert len(model.requests) == 2


async def test_a_chat_that_is_given_back_goes_on_elsewhere_at_once(
    database_url: str, model: FakeModel, redis_url: str
) -> None:
    """E37: where there is a bus, the other replica is woken; nobody waits for a poll."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with TestReplica.start(
        database_url, model.url, redis_url=redis_url, worker=ONLY_WAKES
    ) as a:
        chat_id = await a.chat("one")
        await soon(model.reached("mid"))
        async with TestReplica.start(
            database_url, model.url, redis_url=redis_url, worker=ONLY_WAKES
        ) as b:
            await a.close()
            await b.until(chat_id, ShownStatus.WAITING, seconds=5)


async def test_a_closing_replica_lets_tools_finish(database_url: str, model: FakeModel) -> None:
    """E37: a tool that runs while its replica closes is not cut off, nor run again elsewhere."""
    deploy = Deploy()
    model.call("deploy", id="d1")
    async with TestReplica.start(database_url, works=False) as seer:
        async with TestReplica.start(
            database_url, model.url, worker=ONLY_WAKES, tools=(deploy.tool,)
        ) as a:
            chat_id = await a.chat("Deploy")
            await soon(deploy.began.wait())
            closing = asyncio.create_task(a.close())
            await eventually(lambda: is_draining(a))
            deploy.may_end.set()
            await soon(closing)
        assert (await seer.view(chat_id)).status is ShownStatus.PENDING
        assert [part.result for part in await seer.results(chat_id)] == [{"output": "deployed"}]
        async with TestReplica.start(database_url, model.url, tools=(deploy.tool,)):
            await seer.until(chat_id, ShownStatus.WAITING)
        assert unanswered(await seer.messages(chat_id)) == []
    assert deploy.runs == 1
    assert len(model.requests) == 2


async def is_draining(replica: TestReplica) -> bool:
    worker = replica.replica.worker
    return worker is not None and worker._draining


async def test_a_tool_that_had_to_be_cut_off_has_an_unknown_outcome(
    database_url: str, model: FakeModel
) -> None:
    """E37, E57: past a drain's patience the call ends as unknown; it is not started again."""
    deploy = Deploy()
    model.call("deploy", id="d1")
    async with TestReplica.start(database_url, works=False) as seer:
        async with TestReplica.start(
            database_url, model.url, worker=ONLY_WAKES, tools=(deploy.tool,)
        ) as a:
            chat_id = await a.chat("Deploy")
            await soon(deploy.began.wait())
            assert a.replica.worker is not None
            await a.replica.worker.drain(tools_seconds=0)
        async with TestReplica.start(database_url, model.url, tools=(deploy.tool,)):
            await seer.until(chat_id, ShownStatus.WAITING)
        (answer,) = await seer.results(chat_id)
        assert answer.result == {"error": OUTCOME_UNKNOWN}
    assert deploy.runs == 1
    assert model.refusals == []


async def test_an_exception_while_storing_ends_in_the_chat(
    database_url: str, model: FakeModel
) -> None:
    """E44: error "chat processing failed: ..." with the reason; the next message works."""
    model.say("This is poison.")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        await sql(
            replica,
            """
            CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NEW.content::text LIKE '%poison%' THEN
                    RAISE 'the cargo hold is on fire';
                END IF;
                RETURN NEW;
            END $$
            """,
        )
        await sql(
            replica,
            "CREATE TRIGGER poison BEFORE INSERT ON chat_messages "
            "FOR EACH ROW EXECUTE FUNCTION refuse_poison()",
        )
        chat_id = await replica.chat("one")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.INTERNAL
        assert view.last_error.message.startswith("chat processing failed: ")
        assert "the cargo hold is on fire" in view.last_error.message
        assert (await replica.stored(chat_id)).runner_id is None
        assert await replica.history(chat_id) == [("user", "one")]
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-1] == ("assistant", "All right.")


async def test_a_bot_that_cannot_be_built_harms_only_its_chats(
    database_url: str, model: FakeModel
) -> None:
    """An exception before a turn has begun ends in its chat; the worker and other chats go on."""
    async with model_session() as session:
        brain = Brain(
            model=HttpModel(session, provider_at(model.url)),
            model_name="test-model",
            system="You are Wren.",
        )

        async def brains(request: BrainRequest) -> Brain:
            if request.bot == "gone":
                raise LookupError("no bot of that name")
            return brain

        async with TestReplica.start(database_url, worker=ONLY_WAKES, brains=brains) as replica:
            gone = await replica.chat("one", bot="gone")
            view = await replica.until(gone, ShownStatus.ERROR)
            assert view.last_error is not None
            assert "no bot of that name" in view.last_error.message
            fine = await replica.chat("two")
            await replica.until(fine, ShownStatus.WAITING)


async def test_a_step_that_loses_every_worker_is_given_up(
    database_url: str, model: FakeModel
) -> None:
    """A chat that ends whatever process works on it must not go round for ever."""
    async with TestReplica.start(database_url, model.url, works=False) as idle:
        chat_id = await idle.chat()
        await sql(idle, "UPDATE chats SET generation_attempt = 1000 WHERE id = $1", chat_id)
        async with TestReplica.start(database_url, model.url) as replica:
            view = await replica.until(chat_id, ShownStatus.ERROR)
            assert view.last_error is not None
            assert "every worker that took it up was lost" in view.last_error.message
            assert model.streamed == []
            model.say("Here again.")
            await replica.send(chat_id, "Hello?")
            await replica.until(chat_id, ShownStatus.WAITING)
