"""E57: kill -9 of a worker's process at every moment of a turn; another replica finishes it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from engine.agent.recovery import OUTCOME_UNKNOWN
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from tests.chaos.engine_process import Orders, deploy_tool, running
from tests.fakes.model_server import Call, FakeModel, Gate, Hang, Say
from tests.fakes.replica import TestReplica, eventually, soon, unanswered


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@dataclass(kw_only=True)
class House:
    """A chat whose worker is a process, and what is seen of it from outside."""

    seer: TestReplica
    chat_id: ChatId
    process: asyncio.subprocess.Process
    database_url: str
    notes: Path

    async def kill(self) -> None:
        """kill -9, and see it dead."""
        self.process.kill()
        await soon(self.process.wait())

    async def began(self, *call_ids: str) -> None:
        """Wait until these calls have had their side effect."""

        async def are_noted() -> bool:
            return set(call_ids) <= set(self.runs)

        await eventually(are_noted)

    @property
    def runs(self) -> Counter[str]:
        """How often each call had its side effect."""
        return Counter(self.notes.read_text().split()) if self.notes.exists() else Counter()

    async def sql(self, statement: str) -> list[Any]:
        async with self.seer.replica.pool.session() as connection:
            rows: list[Any] = await connection.fetch(statement)
            return rows

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Hold the chat's row; the given function waits until the worker waits for it."""
        connection = await asyncpg.connect(self.database_url)

        async def somebody_waits() -> bool:
            waiting = await self.sql(
                "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database()"
            )
            return bool(waiting)

        async def wait() -> None:
            await eventually(somebody_waits)

        try:
            async with connection.transaction():
                await connection.execute(
                    "SELECT FROM chats WHERE id = $1 FOR NO KEY UPDATE", self.chat_id
                )
                yield wait
        finally:
            await connection.close()


async def before_the_request(house: House, _model: FakeModel) -> None:
    """The chat is acquired, the model not asked."""
    await soon(house.process.wait())


async def in_mid_stream(_house: House, model: FakeModel) -> None:
    """Half of the answer has come."""
    await soon(model.reached("mid"))


async def after_a_tool_began(house: House, _model: FakeModel) -> None:
    """The side effect has happened, the tool not ended."""
    await house.began("hangs")


async def while_another_tool_runs(house: House, _model: FakeModel) -> None:
    """One call of a step has ended, another not."""
    await house.began("quick", "hangs")

    async def one_is_finished() -> bool:
        return [row["state"] for row in await house.sql(LEDGER)] == ["finished", "started"]

    await eventually(one_is_finished)


LEDGER = "SELECT state FROM tool_call_ledger ORDER BY state"
NEVER = {"wait_for": "/nowhere"}
SCRIPTS: dict[str, list[Any]] = {
    "before the request": [Say("Never asked.")],
    "in mid-stream": [Say("Half an"), Gate("mid"), Hang()],
    "after a tool began": [Say("Now."), Call("deploy", NEVER, "hangs")],
    "after one tool ended": [Call("deploy", {}, "quick"), Call("deploy", NEVER, "hangs")],
}
MOMENTS = {
    "before the request": before_the_request,
    "in mid-stream": in_mid_stream,
    "after a tool began": after_a_tool_began,
    "after one tool ended": while_another_tool_runs,
}
WITH_BUS = {"in mid-stream", "after one tool ended"}


@asynccontextmanager
async def a_turn(
    database_url: str, model: FakeModel, notes: Path, **orders: Any
) -> AsyncIterator[House]:
    """A chat that a process of its own has begun to answer."""
    redis_url = orders.get("redis_url")
    async with TestReplica.start(database_url, redis_url=redis_url, works=False) as seer:
        chat_id = await seer.chat("Deploy, please")
        asked = Orders(database_url=database_url, model_url=model.url, notes=str(notes), **orders)
        async with running(asked) as process:
            yield House(
                seer=seer,
                chat_id=chat_id,
                process=process,
                database_url=database_url,
                notes=notes,
            )


async def finish_elsewhere(house: House, model: FakeModel, redis_url: str | None = None) -> None:
    """Another replica, whose tool is the same, finishes the chat."""
    async with TestReplica.start(
        house.database_url,
        model.url,
        redis_url=redis_url,
        tools=(deploy_tool(house.notes),),
        dynamic_tools=(),
    ):
        await house.seer.until(house.chat_id, ShownStatus.WAITING)
    messages = await house.seer.messages(house.chat_id)
    assert unanswered(messages) == []
    assert [run for run, count in house.runs.items() if count > 1] == []
    assert (await house.seer.history(house.chat_id))[-1] == ("assistant", "All right.")
    assert model.refusals == []


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_killed_worker_is_replaced(
    database_url: str, model: FakeModel, redis_url: str, tmp_path: Path, moment: str
) -> None:
    """E57: finished by another replica; each call one result; side effects at most once."""
    bus = redis_url if moment in WITH_BUS else None
    dies = moment == "before the request"
    if not dies:
        model.script(SCRIPTS[moment])
    async with a_turn(
        database_url, model, tmp_path / "notes", redis_url=bus, dies_before_request=dies
    ) as house:
        await MOMENTS[moment](house, model)
        if not dies:
            await house.kill()
        await finish_elsewhere(house, model, bus)
        results = {
            str(part.tool_call_id): part.result for part in await house.seer.results(house.chat_id)
        }
        calls = [step.id for step in SCRIPTS[moment] if isinstance(step, Call)]
        assert set(results) == set(calls)
        assert set(house.runs) == set(calls)
        if "quick" in results:
            assert results["quick"] == {"output": "deployed for quick"}
        if "hangs" in results:
            assert results["hangs"] == {"error": OUTCOME_UNKNOWN}
        history = await house.seer.history(house.chat_id)
        assert [text for _, text in history if text.startswith("Half")] == []


async def test_a_worker_killed_before_its_step_is_stored_is_replaced(
    database_url: str, model: FakeModel, tmp_path: Path
) -> None:
    """E57: the answer had come but was not stored: it is asked for again, and stored once."""
    model.script([Say("Now."), Call("deploy", {}, "lost"), Gate("end")])
    async with a_turn(database_url, model, tmp_path / "notes") as house:
        await soon(model.reached("end"))
        async with house.locked() as until_it_waits:
            model.release("end")
            await until_it_waits()
            await house.kill()
        model.script([Say("Again."), Call("deploy", {}, "second")])
        await finish_elsewhere(house, model)
        assert [text for _, text in await house.seer.history(house.chat_id)] == [
            "Deploy, please", "Again.", "All right.",
        ]  # fmt: skip
        assert house.runs == {"second": 1}


async def test_a_worker_killed_after_its_tool_ended_is_replaced(
    database_url: str, model: FakeModel, tmp_path: Path, redis_url: str
) -> None:
    """E57: the tool had ended, its result was not in the history: it is taken from the ledger."""
    may_end = tmp_path / "may end"
    model.script([Say("Now."), Call("deploy", {"wait_for": str(may_end)}, "done")])
    async with a_turn(database_url, model, tmp_path / "notes", redis_url=redis_url) as house:
        await house.began("done")
        async with house.locked() as until_it_waits:
            may_end.touch()
            await until_it_waits()
            assert [row["state"] for row in await house.sql(LEDGER)] == ["finished"]
            await house.kill()
        await finish_elsewhere(house, model, redis_url)
        assert [part.result for part in await house.seer.results(house.chat_id)] == [
            {"output": "deployed for done"}
        ]
        assert house.runs == {"done": 1}
