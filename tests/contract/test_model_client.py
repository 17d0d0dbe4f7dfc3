"""The model client against a provider that speaks the wire protocol: answers, failures, cancels."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from config.secret import Secret
from engine.chat.content import Finish, NewMessage, Role, plain
from engine.chat.errors import ErrorKind
from engine.models import client as client_module
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelFailure, ModelPrompt, ToolOffer
from engine.models.parts import StreamPart, StreamResult, TextDelta
from engine.models.provider import ProviderConfig
from tests.fakes.model_server import (
    Call,
    Drop,
    End,
    FakeModel,
    Gate,
    Hang,
    Raw,
    Refuse,
    Reset,
    Say,
    Stop,
    Think,
)

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start(api_key=KEY) as fake:
        yield fake


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with model_session() as shared:
        yield shared


@pytest.fixture
def client(session: aiohttp.ClientSession, model: FakeModel) -> HttpModel:
    return make(session, model.url)


def make(session: aiohttp.ClientSession, url: str, **options: Any) -> HttpModel:
    options = {"api_key": Secret(KEY), "display_name": "Harbour AI"} | options
    provider = ProviderConfig(name="harbour", base_url=url, **options)
    return HttpModel(session, provider, clock=lambda: datetime(2026, 1, 1, 12, 0, tzinfo=UTC))


def prompt(text: str = "Hello", **fields: Any) -> ModelPrompt:
    messages = (NewMessage(role=Role.USER, content=plain(text)),)
    return ModelPrompt(model="test-model", messages=messages, **fields)


async def collect(
    client: HttpModel, asked: ModelPrompt | None = None
) -> tuple[list[StreamPart], StreamResult]:
    async with client.stream(asked or prompt()) as answer:
        parts = [part async for batch in answer for part in batch]
    return parts, answer.result()


async def fail(client: HttpModel) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await asyncio.wait_for(collect(client), 10)
    return caught.value


async def test_answer_streams_and_ends_with_its_usage(client: HttpModel, model: FakeModel) -> None:
    model.script([Think("Let me see. "), Say("The sea is calm."), End()])
    parts, result = await collect(client)
    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == "The sea is calm."
    assert (result.text, result.reasoning) == ("The sea is calm.", "Let me see. ")
    assert result.finish is Finish.STOP
    assert result.usage is not None
    assert result.usage.input_tokens == 20


async def test_request_carries_prompt_tools_and_key(client: HttpModel, model: FakeModel) -> None:
    tool = ToolOffer(name="look", input_schema={"properties": None, "required": None})
    await collect(client, prompt("Hi", system="Be brief.", tools=(tool,), max_output_tokens=9))
    seen = model.requests[0]
    assert model.refusals == []
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert (seen.system, seen.last_text, seen.tool_names) == ("Be brief.", "Hi", ["look"])
    assert seen.body["max_tokens"] == 9
    assert seen.body["stream_options"] == {"include_usage": True}


async def test_tool_call_is_runnable(client: HttpModel, model: FakeModel) -> None:
    model.script([Say("Looking."), Call("look", {"at": "sea"}, "call_9"), Call("hear")])
    _, result = await collect(client)
    assert [(c.tool_call_id, c.tool_name, c.args) for c in result.tool_calls] == [
        ("call_9", "look", '{"at": "sea"}'),
        ("call_1_2", "hear", "{}"),
    ]
    assert result.runnable


async def test_parts_come_while_the_model_still_writes(client: HttpModel, model: FakeModel) -> None:
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with client.stream(prompt()) as answer:
        assert await anext(answer) == [TextDelta("Half")]
        assert answer.result().text == "Half"
        assert answer.result().finish is Finish.INCOMPLETE
        model.release("mid")
        rest = [part async for batch in answer for part in batch]
    assert rest
    assert answer.result().text == "Half and half."


async def test_connection_is_used_again_after_a_whole_answer(
    client: HttpModel, session: aiohttp.ClientSession
) -> None:
    created = []
    config = aiohttp.TraceConfig()

    async def on_create(*_: object) -> None:
        created.append(1)

    config.on_connection_create_end.append(on_create)
    config.freeze()
    session.trace_configs.append(config)
    for _ in range(3):
        await collect(client)
    assert len(created) == 1


# -- leaving -------------------------------------------------------------------------------------


async def test_cancelled_stream_closes_the_connection_and_keeps_every_character(
    client: HttpModel, model: FakeModel
) -> None:
    """E41: the provider sees the client go, and nothing that was streamed is lost."""
    model.script([Say("Half an"), Hang()])
    answer = client.stream(prompt())
    came = asyncio.Event()

    async def read() -> None:
        async for _ in answer:
            if answer.result().text == "Half an":
                came.set()

    reader = asyncio.create_task(read())
    await came.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.wait_for(model.requests[0].left.wait(), 5)
    assert answer.result().text == "Half an"


async def test_leaving_the_stream_early_closes_the_connection(
    client: HttpModel, model: FakeModel
) -> None:
    model.script([Say("One two three"), Hang()])
    async with aclosing(client.stream(prompt())) as answer:
        await anext(answer)
    await asyncio.wait_for(model.requests[0].left.wait(), 5)


async def test_cancel_before_the_first_byte_closes_the_connection(
    session: aiohttp.ClientSession,
) -> None:
    gone = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        started.set()
        await reader.read()
        gone.set()
        writer.close()

    started = asyncio.Event()
    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        reader = asyncio.create_task(collect(make(session, url)))
        await started.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await asyncio.wait_for(gone.wait(), 5)


# -- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (429, ErrorKind.RATE_LIMIT, True),
        (503, ErrorKind.TIMEOUT, True),
        (529, ErrorKind.OVERLOADED, True),
        (500, ErrorKind.GENERIC, True),
        (401, ErrorKind.AUTH, False),
        (403, ErrorKind.AUTH, False),
        (400, ErrorKind.CONFIG, False),
        (404, ErrorKind.CONFIG, False),
    ],
)
async def test_refusal_is_classified_by_its_status(
    client: HttpModel,
    model: FakeModel,
    status: int,
    kind: ErrorKind,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """E55: 429 and 5xx may be retried; 400, 401 and 403 never."""
    model.refuse(status, "the lighthouse is dark")
    error = (await fail(client)).error
    assert (error.kind, error.retryable, error.status_code) == (kind, retryable, status)
    is_auth = kind is ErrorKind.AUTH
    assert error.detail == (f"HTTP {status}" if is_auth else "the lighthouse is dark")
    assert error.provider == "Harbour AI"


async def test_retry_after_is_handed_on(client: HttpModel, model: FakeModel) -> None:
    """E55: seconds, milliseconds and a date alike."""
    model.refuse(429, headers={"Retry-After": "7"})
    model.refuse(503, headers={"Retry-After-Ms": "1500", "Retry-After": "9"})
    model.refuse(429, headers={"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"})
    waits = [(await fail(client)).retry_after_seconds for _ in range(3)]
    assert waits == [7.0, 1.5, 30.0]


async def test_own_key_never_appears_in_the_error(client: HttpModel, model: FakeModel) -> None:
    """B25: a provider that quotes the key, in words or in an address."""
    words = f"bad key {KEY} at https://ada:pw1234@api.test/v1?key={KEY} for Bearer abcdef123456"
    model.refuse(401, words)
    assert (await fail(client)).error.detail == "HTTP 401"
    model.refuse(400, words)
    detail = (await fail(client)).error.detail
    assert detail == "bad key *** at https://***@api.test/v1?*** for Bearer ***"


@pytest.mark.parametrize("cut", [Stop(), Drop(), Reset()])
async def test_stream_that_breaks_off_fails_and_keeps_its_text(
    client: HttpModel, model: FakeModel, cut: Stop | Drop | Reset
) -> None:
    """E55: never a silent success, whether the body ends, the connection or the peer."""
    model.script([Say("Half an"), Gate("read"), cut])
    answer = client.stream(prompt())
    while answer.result().text != "Half an":
        await anext(answer)
    model.release("read")
    with pytest.raises(ModelFailure) as caught:
        await anext(answer)
    failure = caught.value
    assert (failure.error.kind, failure.error.retryable) == (ErrorKind.TIMEOUT, True)
    assert failure.error.message == "Harbour AI is temporarily unavailable."
    assert failure.partial.text == "Half an"
    assert failure.partial.finish is Finish.INCOMPLETE


async def test_call_of_a_broken_stream_is_not_runnable(client: HttpModel, model: FakeModel) -> None:
    model.script([Call("launch", {"what": "boat"}), Stop()])
    failure = await fail(client)
    assert failure.partial.tool_calls
    assert not failure.partial.runnable


async def test_connection_that_breaks_after_the_end_is_a_whole_answer(
    client: HttpModel, model: FakeModel
) -> None:
    end = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    model.script([Raw(end), Drop()])
    _, result = await collect(client)
    assert (result.text, result.finish) == ("Hi", Finish.STOP)


async def test_server_that_never_closes_after_the_end_does_not_hold_the_answer(
    client: HttpModel, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "FINISH_GRACE_SECONDS", 0.05)
    end = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    model.script([Raw(end), Hang()], [Raw(end + b"data: [DONE]\n\n"), Hang()])
    for _ in range(2):
        _, result = await collect(client)
        assert (result.text, result.finish) == ("Hi", Finish.STOP)
    await asyncio.wait_for(model.requests[1].left.wait(), 5)


async def test_stream_that_stalls_times_out_and_keeps_its_text(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    """E55: a stalled stream is retried."""
    model.script([Say("Half an"), Hang()])
    failure = await fail(make(session, model.url, silence_timeout_seconds=0.1))
    assert (failure.error.kind, failure.error.retryable) == (ErrorKind.TIMEOUT, True)
    assert failure.error.message == "The request timed out before it completed."
    assert failure.partial.text == "Half an"
    await asyncio.wait_for(model.requests[0].left.wait(), 5)


async def test_keep_alive_comments_are_not_a_first_part(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    model.script([Raw(b": ping\n\n"), Hang()])
    failure = await fail(make(session, model.url, first_token_timeout_seconds=0.1))
    assert failure.error.kind is ErrorKind.STARTUP_TIMEOUT
    assert failure.error.message == "Harbour AI did not start responding in time."


async def test_server_that_does_not_answer_at_all_times_out(
    session: aiohttp.ClientSession,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        failure = await fail(make(session, url, first_token_timeout_seconds=0.1))
    assert (failure.error.kind, failure.error.retryable) == (ErrorKind.STARTUP_TIMEOUT, True)


async def test_silence_of_zero_means_no_limit(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    model.script([Say("Half"), Gate("mid"), Say(" more.")])
    client = make(session, model.url, silence_timeout_seconds=0, first_token_timeout_seconds=0.2)
    async with client.stream(prompt()) as answer:
        await anext(answer)
        loop = asyncio.get_running_loop()
        passed = asyncio.Event()
        loop.call_later(0.3, passed.set)
        await passed.wait()
        model.release("mid")
        async for _ in answer:
            pass
    assert answer.result().text == "Half more."


async def test_nobody_listening_is_a_failure_worth_retrying(
    session: aiohttp.ClientSession,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    error = (await fail(make(session, f"http://127.0.0.1:{port}/v1"))).error
    assert (error.kind, error.retryable) == (ErrorKind.TIMEOUT, True)


@pytest.mark.parametrize("url", ["http://", "ftp://harbour", "http://[::1"])
async def test_impossible_address_is_a_configuration_error(
    session: aiohttp.ClientSession, url: str
) -> None:
    error = (await fail(make(session, url))).error
    assert (error.kind, error.retryable) == (ErrorKind.CONFIG, False)


async def test_redirect_is_refused_with_its_target(client: HttpModel, model: FakeModel) -> None:
    model.script([Refuse(308, headers={"Location": "https://harbour.test/v2?token=abcdef"})])
    error = (await fail(client)).error
    assert error.kind is ErrorKind.CONFIG
    assert error.detail == "the address redirects to https://harbour.test/v2?***"


async def test_missing_key_fails_before_any_request(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    """E43: zero model requests."""
    error = (await fail(make(session, model.url, api_key=None, needs_key=True))).error
    assert error.kind is ErrorKind.MISSING_KEY
    assert model.requests == []


async def test_reply_beyond_all_bounds_is_given_up(
    client: HttpModel, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "ANSWER_BYTES_MAX", 4000)
    model.script([Say("word " * 1000)])
    error = (await fail(client)).error
    assert (error.kind, error.retryable) == (ErrorKind.GENERIC, False)
