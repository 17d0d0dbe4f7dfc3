"""The fake model refuses what real providers refuse, and keeps its own promises."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from engine.chat.content import Finish, NewMessage, Role, plain
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt
from engine.models.provider import ProviderConfig
from tests.fakes.model_server import Call, FakeModel, Say

HI = {"role": "user", "content": "Hi"}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "calm"}
GOOD = [HI, ASKED, RESULT]


def tool(**parameters: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **parameters}
    return {"type": "function", "function": {"name": "look", "parameters": schema}}


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def post(model: FakeModel, **body: Any) -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{model.url}/chat/completions", json={"model": "m"} | body) as response,
    ):
        return response.status, await response.json()


async def test_good_history_is_answered(model: FakeModel) -> None:
    status, body = await post(model, messages=GOOD, tools=[tool(required=["a"])])
    assert status == 200
    assert body["choices"][0]["message"]["content"] == "A short title"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": " \n"}],
        [{"role": "robot", "content": "Hi"}],
        [HI, {"role": "assistant", "content": "Half"}],
        [HI, {"role": "assistant", "content": ""}, HI],
        [HI, {"role": "system", "content": "late"}, HI],
        [HI, ASKED],
        [HI, ASKED, HI],
        [HI, RESULT],
        [HI, ASKED, RESULT, RESULT],
        [HI, ASKED, RESULT, ASKED, RESULT],
        [HI, ASKED | {"tool_calls": []}, HI],
        [HI, ASKED | {"tool_calls": [CALL | {"id": "a b"}]}, RESULT | {"tool_call_id": "a b"}],
        [HI, ASKED | {"tool_calls": [CALL | {"id": "a" * 41}]}],
        [HI, ASKED | {"tool_calls": [CALL | {"function": {"name": "l k", "arguments": "{}"}}]}],
        [HI, ASKED | {"tool_calls": [CALL | {"function": {"name": "l", "arguments": "["}}]}],
        [HI, ASKED, RESULT | {"content": ""}],
        [HI, ASKED, RESULT | {"content": None}],
    ],
)
async def test_bad_history_is_refused(model: FakeModel, messages: list[Any]) -> None:
    status, body = await post(model, messages=messages)
    assert status == 400
    assert model.refusals == [body["error"]["message"]]


@pytest.mark.parametrize(
    "tools",
    [
        [],
        [tool(required=None)],
        [tool(required=[])],
        [tool(properties=None)],
        [tool(type="array")],
        [tool(properties={"a": {"type": "object", "properties": None}})],
        [tool(), tool()],
        [{"type": "function", "function": {"name": "a b", "parameters": tool()}}],
    ],
)
async def test_bad_tools_are_refused(model: FakeModel, tools: list[Any]) -> None:
    assert (await post(model, messages=[HI], tools=tools))[0] == 400


async def test_models_are_listed(model: FakeModel) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{model.url}/models") as response,
    ):
        assert [item["id"] for item in (await response.json())["data"]] == ["test-model"]


async def test_wrong_key_is_refused() -> None:
    async with FakeModel.start(api_key="right") as model:
        assert (await post(model, messages=[HI]))[0] == 401


async def test_answers_come_from_the_queue_then_the_function_then_the_default(
    model: FakeModel,
) -> None:
    model.say("queued")
    model.answer(lambda seen: [Call("look")] if seen.last_text == "look" else None)
    async with model_session() as session:
        client = HttpModel(session, ProviderConfig(name="m", base_url=model.url))
        answers = [await ask(client, text) for text in ("look", "look", "other")]
    assert [answer.finish for answer in answers] == [
        Finish.STOP, Finish.TOOL_CALLS, Finish.STOP,
    ]  # fmt: skip
    assert [answer.text for answer in answers] == ["queued", "", "All right."]
    assert len(await model.wait_for_requests(3)) == 3


async def ask(client: HttpModel, text: str) -> Any:
    messages = (NewMessage(role=Role.USER, content=plain(text)),)
    async with client.stream(ModelPrompt(model="m", messages=messages)) as answer:
        async for _ in answer:
            pass
    return answer.result()


@pytest.mark.parametrize("text", ["One two", "  lead", "trail \n", "a\n\nb  c", "word"])
async def test_words_are_streamed_without_losing_white_space(model: FakeModel, text: str) -> None:
    model.script([Say(text)])
    async with model_session() as session:
        client = HttpModel(session, ProviderConfig(name="m", base_url=model.url))
        assert (await ask(client, "Hi")).text == text


@pytest.mark.parametrize("interval", ["0", "2"])
async def test_load_server_gives_every_request_the_whole_stream(interval: str) -> None:
    arguments = ("-m", "tests.fakes.model_server", "--parts", "9", "--interval-ms", interval)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        url = json.loads(await process.stdout.readline())["url"]
        async with model_session() as session:
            client = HttpModel(session, ProviderConfig(name="m", base_url=url))
            answers = await asyncio.gather(*(ask(client, "Hi") for _ in range(5)))
            answers.append(await ask(client, "Hi"))
    finally:
        process.terminate()
        await process.wait()
    assert {len(answer.text.split()) for answer in answers} == {9}
    assert {answer.finish for answer in answers} == {Finish.STOP}
