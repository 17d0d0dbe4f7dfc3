"""The model client against a provider that speaks Anthropic's wire: answers, failures, cancels."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from config.secret import Secret
from engine.chat.content import (
    FilePart,
    Finish,
    NewMessage,
    ProviderPart,
    ReasoningPart,
    Role,
    ToolResultPart,
    plain,
)
from engine.chat.errors import ErrorKind
from engine.chat.ids import FileId
from engine.models.attachments import FileData
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelFailure, ModelPrompt, ToolOffer
from engine.models.parts import StreamPart, StreamResult, TextDelta
from engine.models.provider import ProviderConfig, Wire
from tests.fakes.model_server import (
    Call,
    Drop,
    End,
    FakeModel,
    Gate,
    Hang,
    Own,
    Raw,
    Reset,
    Say,
    Stop,
    Think,
)

KEY = "sk-ant-canary-0123456789abcdef"
HI = NewMessage(role=Role.USER, content=plain("Hi"))
LOOK = ToolOffer(name="look", description="Look.", input_schema={"type": "object"})
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


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
    provider = ProviderConfig(name="harbour", base_url=url, wire=Wire.ANTHROPIC, **options)
    return HttpModel(session, provider)


def prompt(*messages: NewMessage, **fields: Any) -> ModelPrompt:
    return ModelPrompt(model="test-model", messages=messages or (HI,), **fields)


def answer_row(result: StreamResult) -> NewMessage:
    return NewMessage(role=Role.ASSISTANT, content=result.content, finish=result.finish)


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


def error_event(kind: str, message: str) -> Raw:
    event = {"type": "error", "error": {"type": kind, "message": message}}
    return Raw(f"event: error\ndata: {json.dumps(event)}\n\n".encode())


async def test_answer_streams_and_ends_with_its_usage(client: HttpModel, model: FakeModel) -> None:
    usage = {"input_tokens": 21, "output_tokens": 9, "cache_read_input_tokens": 4}
    model.script([Think("Let me see. "), Say("The sea is calm."), End(usage=usage)])
    parts, result = await collect(client)
    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == "The sea is calm."
    assert (result.text, result.reasoning) == ("The sea is calm.", "Let me see. ")
    assert result.finish is Finish.STOP
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.cache_read_tokens) == (21, 4)


async def test_request_carries_prompt_tools_and_key(client: HttpModel, model: FakeModel) -> None:
    await collect(client, prompt(system="Be brief.", tools=(LOOK,), max_output_tokens=9))
    seen = model.requests[0]
    assert model.refusals == []
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in seen.headers
    assert (seen.system, seen.last_text, seen.tool_names) == ("Be brief.", "Hi", ["look"])
    assert seen.body["max_tokens"] == 9


async def test_bearer_token_is_sent_where_the_headers_say_so(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    headers = {"Authorization": "Bearer gateway", "x-api-key": KEY}
    await collect(make(session, model.url, api_key=None, headers=headers))
    assert model.requests[0].headers["Authorization"] == "Bearer gateway"


async def test_base_address_without_its_version_works_too(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    await collect(make(session, model.url.removesuffix("/v1")))
    assert model.requests[0].path == "/v1/messages"


async def test_call_with_thinking_goes_on_after_its_result(
    client: HttpModel, model: FakeModel
) -> None:
    """The provider finds its own thinking, signed and unchanged, before the call it led to."""
    model.script([Think("Look first. "), Say("Looking."), Call("look", {"at": "sea"}, "toolu_9")])
    _, first = await collect(client, prompt(tools=(LOOK,), options=THINKING))
    assert first.runnable
    (call,) = first.tool_calls
    assert (call.tool_call_id, call.tool_name, call.args) == ("toolu_9", "look", '{"at": "sea"}')
    answered = ToolResultPart(tool_call_id=call.tool_call_id, tool_name="look", result={"wind": 3})
    row = NewMessage(role=Role.TOOL, content=(answered,))
    asked = prompt(HI, answer_row(first), row, tools=(LOOK,), options=THINKING)
    _, second = await collect(client, asked)
    assert second.finish is Finish.STOP
    assert model.refusals == []
    kinds = [block["type"] for block in model.requests[1].messages[1]["content"]]
    assert kinds == ["thinking", "text", "tool_use"]
    assert model.requests[1].body["thinking"] == THINKING["thinking"]
    assert model.requests[1].tool_result("toolu_9") == {"wind": 3}


async def test_paused_turn_goes_on_with_what_it_has_said(
    client: HttpModel, model: FakeModel
) -> None:
    model.script([Think("Search. "), Say("Searching… "), Own(SEARCH), End("pause_turn")])
    model.script([Own(FOUND), Say("Done.")])
    _, first = await collect(client)
    assert first.finish is Finish.CONTINUE
    assert [type(part) for part in first.content][-1] is ProviderPart
    _, second = await collect(client, prompt(HI, answer_row(first)))
    assert second.text == "Done."
    assert model.requests[1].messages[-1]["role"] == "assistant"
    thanks = NewMessage(role=Role.USER, content=plain("Thanks"))
    await collect(client, prompt(HI, answer_row(first), answer_row(second), thanks))
    assert model.requests[2].messages[1]["content"][2:4] == [SEARCH, FOUND]
    assert model.refusals == []


async def test_pictures_of_a_few_megabytes_are_sent(client: HttpModel, model: FakeModel) -> None:
    files = {
        FileId(UUID(int=n)): FileData(
            media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + b"p" * 3_000_000
        )
        for n in range(2)
    }
    parts = tuple(FilePart(name="tide.png", media_type="image/png", file_id=i) for i in files)
    row = NewMessage(role=Role.USER, content=parts)
    await collect(client, prompt(row, files=files, accepts=frozenset({"image"})))
    kinds = [block["type"] for block in model.requests[0].messages[0]["content"]]
    assert kinds == ["text", "image", "image"]
    assert model.refusals == []


async def test_changed_thinking_is_refused_for_its_shape(
    client: HttpModel, model: FakeModel
) -> None:
    """The provider of these tests checks signatures, as the real one does."""
    model.script([Think("Hm. "), Say("Hello.")])
    _, first = await collect(client)
    changed = tuple(
        ReasoningPart(text="Ha.", provider=part.provider, signature=part.signature)
        if isinstance(part, ReasoningPart)
        else part
        for part in first.content
    )
    row = NewMessage(role=Role.ASSISTANT, content=changed)
    with pytest.raises(ModelFailure):
        await collect(client, prompt(HI, row, HI))


async def test_answer_that_is_not_streamed_is_the_same(client: HttpModel, model: FakeModel) -> None:
    model.aside_script([Think("Hm. "), Say("A calm sea"), Call("look", {"at": "sea"})])
    result = await client.complete(prompt(tools=(LOOK,)))
    assert (result.text, result.reasoning, result.runnable) == ("A calm sea", "Hm. ", True)
    assert model.requests[0].body["stream"] is False


async def test_parts_come_while_the_model_still_writes(client: HttpModel, model: FakeModel) -> None:
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with client.stream(prompt()) as answer:
        assert await anext(answer) == [TextDelta("Half")]
        assert answer.result().finish is Finish.INCOMPLETE
        model.release("mid")
        async for _ in answer:
            pass
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


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (429, ErrorKind.RATE_LIMIT, True),
        (529, ErrorKind.OVERLOADED, True),
        (500, ErrorKind.GENERIC, True),
        (401, ErrorKind.AUTH, False),
        (403, ErrorKind.AUTH, False),
        (400, ErrorKind.CONFIG, False),
        (413, ErrorKind.CONFIG, False),
    ],
)
async def test_refusal_is_classified_by_its_status(
    client: HttpModel,
    model: FakeModel,
    status: int,
    kind: ErrorKind,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """E55: overload and limits may be retried; a wrong request or key never."""
    model.refuse(status, "the lighthouse is dark")
    error = (await fail(client)).error
    assert (error.kind, error.retryable, error.status_code) == (kind, retryable, status)


async def test_retry_after_is_handed_on(client: HttpModel, model: FakeModel) -> None:
    """E55: as long as the provider asks for."""
    model.refuse(429, headers={"retry-after": "7"})
    model.refuse(529, headers={"retry-after": "3"})
    assert [(await fail(client)).retry_after_seconds for _ in range(2)] == [7.0, 3.0]


async def test_wrong_key_is_an_error_of_the_key(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    error = (await fail(make(session, model.url, api_key=Secret("sk-wrong")))).error
    assert (error.kind, error.retryable) == (ErrorKind.AUTH, False)


@pytest.mark.parametrize(
    ("name", "kind", "retryable"),
    [
        ("overloaded_error", ErrorKind.OVERLOADED, True),
        ("rate_limit_error", ErrorKind.RATE_LIMIT, True),
        ("api_error", ErrorKind.GENERIC, True),
        ("authentication_error", ErrorKind.AUTH, False),
        ("invalid_request_error", ErrorKind.CONFIG, False),
    ],
)
async def test_error_inside_a_stream_keeps_the_text_before_it(
    client: HttpModel,
    model: FakeModel,
    name: str,
    kind: ErrorKind,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """E55: a provider that is overloaded says so after it has begun."""
    model.script([Say("Half an"), error_event(name, "no"), Stop()])
    failure = await fail(client)
    assert (failure.error.kind, failure.error.retryable) == (kind, retryable)
    assert (failure.partial.text, failure.partial.finish) == ("Half an", Finish.ERROR)


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
    assert (failure.partial.text, failure.partial.finish) == ("Half an", Finish.INCOMPLETE)


async def test_call_of_a_broken_stream_is_not_runnable(client: HttpModel, model: FakeModel) -> None:
    model.script([Call("launch", {"what": "boat"}), Stop()])
    failure = await fail(client)
    assert failure.partial.tool_calls
    assert not failure.partial.runnable
