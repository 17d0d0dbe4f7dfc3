"""Stopping: interrupts, archiving, stops during tools and retries, all of what was streamed kept."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from engine.chat.commands import (
    Archive,
    BusyBehavior,
    FinishInterruption,
    FinishTurn,
    Interrupt,
    Unarchive,
)
from engine.chat.content import Finish, NewMessage, ReasoningPart, Role, plain, text_of
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.synthetic import INTERRUPTED_IN_RUN
from engine.chat.view import ShownStatus
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, Drop, FakeModel, Gate, Hang, Refuse, Say, Think
from tests.fakes.replica import ONLY_WAKES, TestReplica, soon, unanswered


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@pytest.fixture(params=["no bus", "redis"])
def bus(request: pytest.FixtureRequest) -> str | None:
    """The URL of what ties replicas together, or nothing."""
    if request.param == "no bus":
        return None
    url: str = request.getfixturevalue("redis_url")
    return url


def partial(text: str) -> NewMessage:
    """What had been streamed when the turn was stopped."""
    return NewMessage(role=Role.ASSISTANT, content=plain(text), finish=Finish.INTERRUPTED)


class Tools:
    """A quick tool that is done at once and a slow one that never ends by itself."""

    def __init__(self) -> None:
        self.slow_began = asyncio.Event()
        self.slow_ended = asyncio.Event()
        self.quick_done = asyncio.Event()

    @property
    def all(self) -> tuple[LocalTool, ...]:
        return (
            LocalTool(definition=ToolDefinition(name="quick", description=""), run=self._quick),
            LocalTool(definition=ToolDefinition(name="slow", description=""), run=self._slow),
        )

    async def _quick(self, _args: Mapping[str, Any], _context: ToolContext) -> Any:
        self.quick_done.set()
        return "done"

    async def _slow(self, _args: Mapping[str, Any], _context: ToolContext) -> Any:
        self.slow_began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.slow_ended.set()


async def test_an_interrupt_reaches_a_subscriber_of_another_replica(
    database_url: str, bus: str | None
) -> None:
    """E1: A interrupts; B sees `interrupting`, and `waiting` once the partial answer is stored."""
    async with (
        TestReplica.start(database_url, redis_url=bus, works=False) as a,
        TestReplica.start(database_url, redis_url=bus, works=False) as b,
    ):
        chat_id = await a.chat("one")
        holder = await a.hold(chat_id)
        async with b.watch(chat_id) as seen:
            await seen.until_status(ShownStatus.RUNNING)
            await a.do(chat_id, Interrupt())
            await seen.until_status(ShownStatus.INTERRUPTING)
            await holder.report(
                FinishInterruption(fence=holder.fence(), messages=(partial("Half an"),))
            )
            await seen.until_status(ShownStatus.WAITING)
            assert seen.said == [("user", "one"), ("assistant", "Half an")]
        assert (await b.stored(chat_id)).runner_id is None


async def test_an_interrupt_from_another_replica_stops_the_model(
    database_url: str, model: FakeModel, bus: str | None
) -> None:
    """E1, D13: stop takes effect from any replica, at the latest with the next heartbeat."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with (
        TestReplica.start(database_url, model.url, redis_url=bus) as a,
        TestReplica.start(database_url, redis_url=bus, works=False) as b,
    ):
        chat_id = await a.chat("one")
        await soon(model.reached("mid"))
        model.release("mid")
        await b.do(chat_id, Interrupt())
        await soon(model.requests[0].left.wait())
        await b.until(chat_id, ShownStatus.WAITING)
        assert await b.history(chat_id) == [("user", "one"), ("assistant", "Half an")]


async def test_an_orphaned_interruption_is_finished(database_url: str, model: FakeModel) -> None:
    """E3: after an interrupt of a chat whose worker is gone, another worker finishes it."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        holder = await replica.hold(chat_id)
        await replica.do(chat_id, Interrupt())
        await silence(replica)
        async with TestReplica.start(database_url, model.url):
            await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.stored(chat_id)).runner_id is None
        late = FinishInterruption(fence=holder.fence(), messages=(partial("too late"),))
        assert isinstance(await holder.report(late), Refusal)
        assert await replica.history(chat_id) == [("user", "one")]
    assert model.requests == []


async def silence(replica: TestReplica) -> None:
    """Let every heartbeat be an old one, as of workers that died an hour ago."""
    async with replica.replica.pool.session() as connection:
        await connection.execute(
            "UPDATE chat_heartbeats SET heartbeat_at = now() - lease - interval '1 second'"
        )


async def test_a_stop_after_the_worker_died_keeps_what_people_had_seen(
    database_url: str, redis_url: str, model: FakeModel
) -> None:
    """E3, E41: another replica finds the streamed text where followers read it."""
    model.script([Think("Hm."), Say("The light "), Say("turns"), Gate("never")])
    async with TestReplica.start(
        database_url, model.url, redis_url=redis_url, works=False
    ) as watching:
        async with TestReplica.start(database_url, model.url, redis_url=redis_url) as dying:
            chat_id = await dying.chat("one")
            async with watching.watch(chat_id) as seen:
                await seen.until_text("The light turns")
                await dying.kill()
            await watching.do(chat_id, Interrupt())
        async with TestReplica.start(database_url, model.url, redis_url=redis_url) as heir:
            await heir.until(chat_id, ShownStatus.WAITING)
            assert await heir.history(chat_id) == [
                ("user", "one"),
                ("assistant", "The light turns"),
            ]
            (_, answer) = await heir.messages(chat_id)
            assert answer.finish is Finish.INTERRUPTED
            assert ReasoningPart(text="Hm.") in answer.content
    assert len(model.requests) == 1


async def test_a_pending_chat_is_put_away_at_once(database_url: str) -> None:
    """E4: archiving a pending chat leaves it archived, waiting, no lease, unpinned."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        await replica.do(chat_id, Archive())
        view = await replica.view(chat_id)
        assert (view.status, view.archived, view.pinned) == (ShownStatus.WAITING, True, False)
        assert (await replica.stored(chat_id)).runner_id is None


async def test_archiving_a_streaming_chat_stops_it_and_keeps_its_queue(
    database_url: str, model: FakeModel
) -> None:
    """E5: the model request is cancelled, subscribers see waiting, the queue still holds one."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        model.release("mid")
        await replica.send(chat_id, "two")
        async with replica.watch(chat_id) as seen:
            await seen.until_text("Half an")
            await replica.do(chat_id, Archive())
            await seen.until_status(ShownStatus.WAITING)
            assert seen.chat.archived
            assert [text_of(queued.content) for queued in seen.chat.queue] == ["two"]
            assert seen.said == [("user", "one"), ("assistant", "Half an")]
        await soon(model.requests[0].left.wait())
        assert await replica.queue(chat_id) == ["two"]
        await replica.do(chat_id, Unarchive())
        assert (await replica.view(chat_id)).status is ShownStatus.WAITING
    assert len(model.requests) == 1


async def test_an_interrupting_message_comes_after_the_partial_answer(database_url: str) -> None:
    """E9: forced running; send(interrupt): queued, `interrupting`; then partial, then the message."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        holder = await replica.hold(chat_id)
        sent = await replica.send(chat_id, "two", busy=BusyBehavior.INTERRUPT)
        assert sent.effect is Effect.QUEUED
        assert (await replica.view(chat_id)).status is ShownStatus.INTERRUPTING
        assert await replica.history(chat_id) == [("user", "one")]
        assert await replica.queue(chat_id) == ["two"]
        late = FinishTurn(fence=holder.fence(), messages=(partial("Half"),))
        refusal = await holder.report(late)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is RefusalReason.STATUS_CHANGED
        await holder.report(FinishInterruption(fence=holder.fence(), messages=(partial("Half"),)))
        assert await replica.history(chat_id) == [
            ("user", "one"), ("assistant", "Half"), ("user", "two"),
        ]  # fmt: skip
        assert await replica.queue(chat_id) == []


async def test_every_streamed_character_is_kept(database_url: str, model: FakeModel) -> None:
    """E41: after an interrupt the stored assistant message contains every streamed character."""
    text = "Zwölf Boots-führer 🛶 " * 200 + "\\u0000\n\n  and so"
    model.script([Think("Let me see."), Say(text), Gate("mid"), Hang()])
    model.script([Say("Better.")])
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        model.release("mid")
        async with replica.watch(chat_id) as seen:
            await seen.until_text(text)
            await replica.send(chat_id, "Shorter!", busy=BusyBehavior.INTERRUPT)
            await seen.until(lambda seen: seen.chat.status is ShownStatus.WAITING)
        messages = await replica.messages(chat_id)
        assert await replica.history(chat_id) == [
            ("user", "one"), ("assistant", text), ("user", "Shorter!"), ("assistant", "Better."),
        ]  # fmt: skip
        assert messages[1].finish is Finish.INTERRUPTED
        assert seen.chat.messages == tuple(messages)
    assert text in str(model.requests[1].messages[2]["content"])


async def test_a_second_interrupt_during_the_first_is_obeyed(
    database_url: str, model: FakeModel
) -> None:
    """Messages that interrupt one another are all answered or kept, in order, and each stops."""
    for number in range(4):
        model.script([Say(f"part {number}"), Gate(f"{number}"), Hang()])
        model.release(f"{number}")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("0")
        for number in range(1, 4):
            await soon(model.reached(f"{number - 1}"))
            await replica.send(chat_id, f"{number}", busy=BusyBehavior.INTERRUPT)
        await soon(model.reached("3"))
        await replica.do(chat_id, Interrupt())
        await replica.until(chat_id, ShownStatus.WAITING)
        history = await replica.history(chat_id)
        assert [text for role, text in history if role == "user"] == ["0", "1", "2", "3"]
        assert len(model.requests) == 4


async def test_an_interrupt_before_the_first_part_leaves_no_empty_message(
    database_url: str, model: FakeModel
) -> None:
    """A turn that is stopped before anything came stores nothing; the next message is answered."""
    model.script([Gate("before"), Hang()])
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("before"))
        await replica.do(chat_id, Interrupt())
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [message.role for message in await replica.messages(chat_id)] == [Role.USER]
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [
            ("user", "one"), ("user", "two"), ("assistant", "All right."),
        ]  # fmt: skip


async def test_a_stop_during_tools_keeps_what_is_finished(
    database_url: str, model: FakeModel
) -> None:
    """E41: the results of finished calls are kept, the others are answered as interrupted."""
    tools = Tools()
    model.script([Say("Let me look."), Call("quick", id="q"), Call("slow", id="s")])
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=tools.all
    ) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await soon(tools.slow_began.wait())
            await seen.until(lambda seen: "ToolResultPart" in str(seen.chat.preview.content))
            await replica.do(chat_id, Interrupt())
            await soon(tools.slow_ended.wait())
            await replica.until(chat_id, ShownStatus.WAITING)
        quick, slow = await replica.results(chat_id)
        assert (quick.tool_call_id, quick.result) == ("q", {"output": "done"})
        assert (slow.tool_call_id, slow.result) == ("s", {"error": INTERRUPTED_IN_RUN})
        assert unanswered(await replica.messages(chat_id)) == []
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
    assert model.requests[1].tool_result("q") == {"output": "done"}
    assert model.refusals == []


async def test_a_stop_during_a_retry_wait_is_obeyed_at_once(
    database_url: str, model: FakeModel
) -> None:
    """A turn that waits an hour to ask again stops when told to, and the next message is answered."""
    model.script([Refuse(429, "slow down", {"Retry-After": "3600"})])
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until(lambda seen: seen.chat.retry is not None)
            await replica.do(chat_id, Interrupt())
            await seen.until_status(ShownStatus.WAITING)
            assert seen.chat.retry is None
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-1] == ("assistant", "All right.")


async def test_a_stop_and_a_broken_connection_at_once_keep_what_was_streamed(
    database_url: str, model: FakeModel
) -> None:
    """E41: an attempt that fails when it has been stopped already is not taken back."""
    model.script([Say("Half an"), Gate("mid"), Drop()])
    async with (
        TestReplica.start(database_url, works=False) as other,
        TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica,
    ):
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_text("Half an")
        # Said elsewhere, so that the running replica has not heard of it.
        await other.do(chat_id, Interrupt())
        model.release("mid")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [("user", "one"), ("assistant", "Half an")]
    assert len(model.requests) == 1


async def test_a_drain_of_an_interrupted_chat_keeps_the_partial_answer(
    database_url: str, model: FakeModel
) -> None:
    """E41, E37: an interrupt and a shutdown at the same moment lose no character."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with (
        TestReplica.start(database_url, works=False) as other,
        TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica,
    ):
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_text("Half an")
        # Said elsewhere, so that the draining replica has not heard of it.
        await other.send(chat_id, "two", busy=BusyBehavior.INTERRUPT)
        await replica.close()
        assert await other.history(chat_id) == [
            ("user", "one"), ("assistant", "Half an"), ("user", "two"),
        ]  # fmt: skip
        assert (await other.view(chat_id)).status is ShownStatus.PENDING
        model.release("mid")


async def test_nothing_to_stop_is_said(database_url: str, model: FakeModel) -> None:
    """An interrupt of a chat that waits is refused and changes nothing."""
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await replica.until(chat_id, ShownStatus.WAITING)
        before = await replica.stored(chat_id)
        assert await replica.refused(chat_id, Interrupt()) is RefusalReason.NOT_RUNNING
        assert await replica.stored(chat_id) == before
