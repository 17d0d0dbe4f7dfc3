"""A slow database and model servers of every bad kind: turns end, promises hold, nothing waits for ever."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from config.settings import WorkerSettings
from engine.agent.brain import Brain
from engine.chat.commands import Interrupt
from engine.chat.content import text_of
from engine.chat.errors import ErrorKind
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.provider import ProviderConfig
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.benchmarks.load import rss_kib
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.replica import TestReplica, brains_of, soon, unanswered
from tests.fakes.slow_postgres import slow_postgres

STATEMENT_SECONDS = 0.2
PATIENT = WorkerSettings(lease_seconds=4.0, heartbeat_seconds=1.0, poll_seconds=0.5)
GIGABYTE = 1024**3
PIECE = (
    b"data: "
    + json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * 60_000}}]}).encode()
    + b"\n\n"
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


def deploy_tool(runs: list[str]) -> LocalTool:
    """A tool with side effects that are counted."""

    async def deploy(_args: Mapping[str, Any], context: ToolContext) -> Any:
        runs.append(context.tool_call_id)
        return "deployed"

    return LocalTool(definition=ToolDefinition(name="deploy", description=""), run=deploy)


async def test_a_database_that_takes_its_time_only_costs_time(
    database_url: str, model: FakeModel
) -> None:
    """E57: 200 ms a statement: leases hold, tools run once, an interrupt is obeyed."""
    runs: list[str] = []
    async with (
        slow_postgres(database_url, seconds=STATEMENT_SECONDS) as url,
        TestReplica.start(url, model.url, worker=PATIENT, tools=(deploy_tool(runs),)) as first,
        TestReplica.start(url, model.url, worker=PATIENT, tools=(deploy_tool(runs),)) as second,
    ):
        model.call("deploy", id="d1")
        chat_id = await first.chat("one")
        await first.until(chat_id, ShownStatus.WAITING)
        assert runs == ["d1"]
        assert unanswered(await first.messages(chat_id)) == []
        assert len(model.requests) == 2

        model.script([Say("Half"), Gate("mid"), Say(" and half.")])
        await first.send(chat_id, "two")
        await soon(model.reached("mid"))
        await second.do(chat_id, Interrupt())
        await second.until(chat_id, ShownStatus.WAITING)
        assert (await second.history(chat_id))[-1] == ("assistant", "Half")
    assert len(model.requests) == 3


@asynccontextmanager
async def bad_model(serve: Serve) -> AsyncIterator[str]:
    """A server that reads a request's head and then does as it likes; its address."""
    tasks: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await reader.readuntil(b"\r\n\r\n")
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


@asynccontextmanager
async def replica_of(database_url: str, model_url: str) -> AsyncIterator[TestReplica]:
    """A replica whose patience with a model is short, and which asks twice."""
    async with model_session() as session:
        provider = ProviderConfig(
            name="bad",
            display_name="Bad Provider",
            base_url=model_url,
            first_token_timeout_seconds=1.0,
            silence_timeout_seconds=1.0,
        )
        brain = Brain(model=HttpModel(session, provider), model_name="m", system="You are Wren.")
        worker = WorkerSettings(
            lease_seconds=4.0, heartbeat_seconds=0.5, poll_seconds=0.1, retry_attempts_max=2
        )
        async with TestReplica.start(
            database_url, worker=worker, brains=brains_of(brain)
        ) as replica:
            yield replica


async def hangs(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Says nothing, ever."""
    await reader.read(-1)


async def hangs_after_its_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Promises a stream and sends none."""
    writer.write(HEAD)
    await reader.read(-1)


async def drips(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One byte at a time, of an event that never ends."""
    writer.write(HEAD + b"data: ")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def resets(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Cuts the connection."""
    transport = writer.transport
    transport.abort()


@pytest.mark.parametrize(
    ("serve", "kind"),
    [
        (hangs, ErrorKind.STARTUP_TIMEOUT),
        (hangs_after_its_head, ErrorKind.STARTUP_TIMEOUT),
        (drips, ErrorKind.STARTUP_TIMEOUT),
        (resets, ErrorKind.TIMEOUT),
    ],
)
async def test_a_model_that_does_not_answer_is_given_up_and_said_so(
    database_url: str, serve: Serve, kind: ErrorKind
) -> None:
    """E55"""
    async with bad_model(serve) as url, replica_of(database_url, url) as replica:
        chat_id = await replica.chat("one")
        view = await replica.until(chat_id, ShownStatus.ERROR)

        assert view.last_error is not None
        assert view.last_error.kind is kind
        assert "Bad Provider" in view.last_error.message
        stored = await replica.stored(chat_id)
        assert stored.runner_id is None


async def test_a_model_that_sends_a_gigabyte_is_given_up_in_time(database_url: str) -> None:
    """What is kept of it is bounded, in memory and in the history."""
    sent = 0

    async def floods(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        while sent < GIGABYTE:
            writer.write(PIECE)
            sent += len(PIECE)
            await writer.drain()

    before = rss_kib()
    async with bad_model(floods) as url, replica_of(database_url, url) as replica:
        chat_id = await replica.chat("one")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.GENERIC
        assert not view.last_error.retryable
        (_, answer) = await replica.messages(chat_id)
        assert 0 < len(text_of(answer.content)) < 8_000_000
    assert sent < GIGABYTE // 4
    assert rss_kib() - before < 400_000
