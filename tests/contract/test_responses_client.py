"""The Responses wire over real HTTP: answers, calls, failures, cancels, and a whole turn replayed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from engine.chat.content import (
    Content,
    Finish,
    NewMessage,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain,
)
from engine.chat.errors import ErrorKind
from engine.models.client import HttpModel, model_session
from engine.models.errors import is_context_error
from engine.models.model import ModelFailure, ModelPrompt, ToolOffer
from engine.models.parts import TextDelta
from engine.models.provider import Wire
from tests.contract.test_model_client import KEY, collect, fail, make, prompt
from tests.fakes.model_server import (
    Call,
    Drop,
    End,
    FakeModel,
    Gate,
    Hang,
    Own,
    Raw,
    Refuse,
    Reset,
    Say,
    Step,
    Stop,
    Think,
)
from tests.unit.engine.models import recordings

REASONING = {"reasoning": {"effort": "low", "summary": "auto"}}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "tides"},
}


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
    return make(session, model.url, wire=Wire.RESPONSES)


async def test_answer_streams_and_ends_with_its_usage(client: HttpModel, model: FakeModel) -> None:
    model.script([Think("Let me see."), Say("The sea is calm.")])
    parts, result = await collect(client)
    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == "The sea is calm."
    assert (result.text, result.reasoning) == ("The sea is calm.", "Let me see.")
    assert result.finish is Finish.STOP
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 10)


async def test_request_carries_prompt_tools_and_key_and_stores_nothing(
    client: HttpModel, model: FakeModel
) -> None:
    tool = ToolOffer(name="look", input_schema={"properties": None, "required": []})
    await collect(client, prompt("Hi", system="Be brief.", tools=(tool,), max_output_tokens=9))
    seen = model.requests[0]
    assert model.refusals == []
    assert seen.path == "/v1/responses"
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert (seen.system, seen.last_text, seen.tool_names) == ("Be brief.", "Hi", ["look"])
    assert (seen.body["store"], seen.body["max_output_tokens"]) == (False, 16)


async def test_tool_call_is_runnable(client: HttpModel, model: FakeModel) -> None:
    model.script([Say("Looking."), Call("look", {"at": "sea"}, "call_9"), Call("hear")])
    _, result = await collect(client)
    assert [(c.tool_call_id, c.tool_name, c.args) for c in result.tool_calls] == [
        ("call_9", "look", '{"at": "sea"}'),
        ("call_1_2", "hear", "{}"),
    ]
    assert result.runnable


async def test_completion_is_one_request_that_is_not_streamed(
    client: HttpModel, model: FakeModel
) -> None:
    model.aside_script([Think("Hm."), Say("Harbour report"), Call("look", {"at": "sea"})])
    result = await client.complete(prompt("Title?"))
    assert (result.text, result.reasoning) == ("Harbour report", "Hm.")
    assert result.runnable
    assert [seen.is_streamed for seen in model.requests] == [False]


async def test_reasoning_search_and_call_go_back_where_they_stood(
    client: HttpModel, model: FakeModel
) -> None:
    """E56: the provider refuses reasoning and what it led to, one without the other."""
    model.script([Think("Tides?"), Own(SEARCH), Think("Look."), Say("I look."), Call("look")])
    model.say("Calm.")
    _, first = await collect(client, prompt("How?", options=REASONING))
    call = first.tool_calls[0]
    history = (
        NewMessage(role=Role.USER, content=plain("How?")),
        NewMessage(role=Role.ASSISTANT, content=first.content),
        NewMessage(role=Role.TOOL, content=(answer(call, "calm"),)),
    )
    await collect(client, ModelPrompt(model="m", messages=history, options=REASONING))
    assert model.refusals == []
    assert [item["type"] for item in model.requests[1].body["input"]] == [
        "message", "reasoning", "web_search_call", "reasoning", "message", "function_call",
        "function_call_output",
    ]  # fmt: skip


async def test_search_whose_reasoning_cannot_be_sent_back_is_left_out(
    client: HttpModel, model: FakeModel
) -> None:
    """E56: nobody asked for the reasoning, so it is not in a form that can be sent back."""
    model.script([Think("Tides?"), Own(SEARCH), Say("High at noon.")])
    model.say("Calm.")
    _, first = await collect(client)
    history = (
        NewMessage(role=Role.USER, content=plain("Tides?")),
        NewMessage(role=Role.ASSISTANT, content=first.content),
        NewMessage(role=Role.USER, content=plain("And the wind?")),
    )
    await collect(client, ModelPrompt(model="m", messages=history))
    assert model.refusals == []
    assert [item["type"] for item in model.requests[1].body["input"]] == ["message"] * 3


async def test_items_of_another_provider_are_left_out(client: HttpModel, model: FakeModel) -> None:
    """E56: the history was made elsewhere, at a provider of the same wire and at one of another."""
    content: Content = (
        ReasoningPart(text="Hm.", provider="elsewhere"),
        ProviderPart(provider="elsewhere", wire="responses", data=SEARCH),
        ProviderPart(provider="harbour", wire="anthropic", data={"type": "server_tool_use"}),
        TextPart(text="Calm."),
    )
    history = (
        NewMessage(role=Role.ASSISTANT, content=content),
        NewMessage(role=Role.USER, content=plain("And now?")),
    )
    await collect(client, ModelPrompt(model="m", messages=history))
    assert model.refusals == []
    assert [item["role"] for item in model.requests[0].body["input"]] == ["assistant", "user"]


def answer(call: ToolCallPart, value: str) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call.tool_call_id, tool_name=call.tool_name, result=value)


# -- leaving and failing -------------------------------------------------------------------------


async def test_cancelled_stream_closes_the_connection_and_keeps_every_character(
    client: HttpModel, model: FakeModel
) -> None:
    """E41: the provider sees the client go, and nothing that was streamed is lost."""
    model.script([Say("Half an"), Hang()])
    stream = client.stream(prompt())
    came = asyncio.Event()

    async def read() -> None:
        async for _ in stream:
            if stream.result().text == "Half an":
                came.set()

    reader = asyncio.create_task(read())
    await came.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.wait_for(model.requests[0].left.wait(), 5)
    assert stream.result().text == "Half an"


@pytest.mark.parametrize("cut", [Stop(), Drop(), Reset()])
async def test_stream_that_breaks_off_fails_and_keeps_its_text(
    client: HttpModel, model: FakeModel, cut: Step
) -> None:
    """E55: never a silent success; a call that was whole already does not run either."""
    model.script([Call("launch", {"what": "boat"}), Say("Half an"), Gate("read"), cut])
    stream = client.stream(prompt())
    while stream.result().text != "Half an":
        await anext(stream)
    model.release("read")
    with pytest.raises(ModelFailure) as caught:
        await anext(stream)
    failure = caught.value
    assert (failure.error.kind, failure.error.retryable) == (ErrorKind.TIMEOUT, True)
    assert failure.partial.finish is Finish.INCOMPLETE
    assert (failure.partial.text, failure.partial.runnable) == ("Half an", False)
    assert len(failure.partial.tool_calls) == 1


@pytest.mark.parametrize(
    ("refuse", "outcome"),
    [
        (Refuse(429, headers={"Retry-After": "7"}), (ErrorKind.RATE_LIMIT, True, 7.0)),
        (Refuse(503), (ErrorKind.TIMEOUT, True, None)),
        (Refuse(401), (ErrorKind.AUTH, False, None)),
        (Refuse(400), (ErrorKind.CONFIG, False, None)),
    ],
)
async def test_refusal_is_classified_and_its_wait_handed_on(
    client: HttpModel, model: FakeModel, refuse: Refuse, outcome: tuple[ErrorKind, bool, float]
) -> None:
    """E55: the same kinds as on every wire."""
    model.script([refuse])
    failure = await fail(client)
    error = failure.error
    assert (error.kind, error.retryable, failure.retry_after_seconds) == outcome


async def test_wrong_key_is_refused_and_not_quoted(
    session: aiohttp.ClientSession, model: FakeModel
) -> None:
    model.api_key = "another"
    error = (await fail(make(session, model.url, wire=Wire.RESPONSES))).error
    assert error.kind is ErrorKind.AUTH
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("server_error", ErrorKind.GENERIC, True),
        ("rate_limit_exceeded", ErrorKind.RATE_LIMIT, True),
        ("insufficient_quota", ErrorKind.AUTH, False),
        ("invalid_prompt", ErrorKind.CONFIG, False),
        ("context_length_exceeded", ErrorKind.CONFIG, False),
    ],
)
async def test_response_that_fails_is_classified_by_its_code_and_keeps_its_text(
    client: HttpModel,
    model: FakeModel,
    code: str,
    kind: ErrorKind,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    model.script([Say("Half"), End(reason=f"failed:{code}")])
    failure = await fail(client)
    assert (failure.error.kind, failure.error.retryable) == (kind, retryable)
    assert is_context_error(failure.error) == (code == "context_length_exceeded")
    assert (failure.partial.text, failure.partial.finish) == ("Half", Finish.ERROR)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", Finish.LENGTH), ("content_filter", Finish.CONTENT_FILTER)],
)
async def test_answer_that_was_cut_says_why(
    client: HttpModel, model: FakeModel, reason: str, finish: Finish
) -> None:
    model.script([Say("Half"), End(reason=reason)])
    model.aside_script([Say("Half"), End(reason=reason)])
    _, streamed = await collect(client)
    completed = await client.complete(prompt())
    assert (streamed.text, streamed.finish) == ("Half", finish)
    assert completed == streamed


@pytest.mark.parametrize("name", recordings.names("responses"))
async def test_recorded_reply_arrives_whole_over_the_network(
    client: HttpModel, model: FakeModel, name: str
) -> None:
    expected: dict[str, Any] = recordings.expected(name)
    data = recordings.body(name)
    model.script([Raw(data, max(1, len(data) // 37))])
    if expected["finish"] in ("error", "incomplete"):
        result = (await fail(client)).partial
    else:
        _, result = await collect(client)
    assert (result.text, result.finish) == (expected["text"], expected["finish"])
    assert len(result.tool_calls) == len(expected["tool_calls"])
