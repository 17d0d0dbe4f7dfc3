"""The fake model refuses on Anthropic's wire what the real API refuses."""

import base64
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.model_server import FakeModel

HI = {"role": "user", "content": "Hi"}
TEXT = {"type": "text", "text": "Looking."}
USE = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "calm"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
BUDGET = {"type": "enabled", "budget_tokens": 2000}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def image(data: bytes = b"\x89PNG...", media_type: str = "image/png") -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": media_type, "data": text}
    return {"type": "image", "source": source}


def schema(**fields: Any) -> dict[str, Any]:
    return {"name": "look", "input_schema": {"type": "object", **fields}}


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def post(model: FakeModel, **fields: Any) -> tuple[int, Any]:
    body = {"model": "m", "max_tokens": 3000, "messages": [HI]} | fields
    async with (
        aiohttp.ClientSession(headers={"anthropic-version": "2023-06-01"}) as session,
        session.post(
            f"{model.url}/messages", data=io.BytesIO(json.dumps(body).encode())
        ) as response,
    ):
        return response.status, await response.json()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"messages": [HI, HI, assistant(TEXT), user(TEXT, image())]},
        {"messages": [HI, assistant(THOUGHT, USE), user(RESULT, TEXT)], "tools": [TOOL]},
        {"messages": [HI, assistant(SEARCH, FOUND, TEXT), HI]},
        {"messages": [HI, assistant(TEXT, SEARCH)]},
        {"thinking": BUDGET},
        {"system": [TEXT | MARK], "tools": [TOOL | MARK], "tool_choice": {"type": "none"}},
    ],
)
async def test_good_request_is_answered(model: FakeModel, fields: dict[str, Any]) -> None:
    status, body = await post(model, **fields)
    assert model.refusals == []
    assert (status, body["type"], body["stop_reason"]) == (200, "message", "end_turn")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [assistant(TEXT), HI],
        [HI, {"role": "system", "content": "late"}],
        [user()],
        [{"role": "user", "content": ""}],
        [user(TEXT | {"text": " \n"})],
        [user(TEXT | {"text": ""} | MARK)],
        [user({"type": "video"})],
        [HI, assistant(TEXT)],
        [HI, assistant(SEARCH, FOUND, TEXT | {"text": "Half "})],
        [HI, assistant(USE)],
        [HI, assistant(USE), HI],
        [HI, assistant(USE), user(TEXT, RESULT)],
        [HI, user(RESULT)],
        [HI, assistant(USE), user(RESULT, RESULT)],
        [HI, assistant(USE), user(RESULT), assistant(USE), user(RESULT)],
        [HI, assistant(USE | {"id": "a b"}), user(RESULT | {"tool_use_id": "a b"})],
        [HI, assistant(USE | {"name": "l k"}), user(RESULT)],
        [HI, assistant(USE | {"input": "{}"}), user(RESULT)],
        [HI, assistant(THOUGHT), HI],
        [HI, assistant(THOUGHT | {"signature": ""}, TEXT), HI],
        [HI, assistant(THOUGHT | {"signature": "fake-1"}, TEXT), HI],
        [HI, assistant(THOUGHT | MARK, TEXT), HI],
        [user(THOUGHT, TEXT)],
        [HI, assistant(image(), TEXT), HI],
        [HI, assistant(SEARCH, TEXT), HI],
        [HI, assistant(FOUND, TEXT), HI],
        [HI, assistant(FOUND, SEARCH, TEXT), HI],
        [HI, assistant(SEARCH, FOUND, FOUND, TEXT), HI],
        [HI, assistant({"type": "compaction", "content": "x"}, TEXT), HI],
        [user(image(b"GIF89a"))],
        [user(image(media_type="image/tiff"))],
        [user(image(b""))],
        [user(TEXT | MARK, TEXT | MARK, TEXT | MARK, TEXT | MARK, TEXT | MARK)],
    ],
)
async def test_bad_messages_are_refused(model: FakeModel, messages: list[Any]) -> None:
    status, body = await post(model, messages=messages, tools=[TOOL])
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    assert model.refusals == [body["error"]["message"]]


async def test_picture_beyond_the_bound_is_refused(model: FakeModel) -> None:
    status, body = await post(model, messages=[user(image(b"\x89PNG" + b"p" * 4_000_000))])
    assert status == 400
    assert "image exceeds 5 MB maximum" in body["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": None},
        {"max_tokens": 0},
        {"stream_options": {}},
        {"system": []},
        {"system": [TEXT | {"text": " "}]},
        {"tool_choice": {"type": "none"}},
        {"messages": [HI, assistant(USE), user(RESULT)]},
        {"temperature": 1.5},
        {"temperature": 0.5, "top_p": 0.5},
        {"thinking": BUDGET | {"budget_tokens": 3000}},
        {"thinking": BUDGET | {"budget_tokens": 1000}},
        {"thinking": BUDGET, "temperature": 0.5},
        {"thinking": BUDGET, "top_k": 5},
        {"thinking": BUDGET, "tools": [TOOL], "tool_choice": {"type": "any"}},
        {
            "thinking": BUDGET,
            "tools": [TOOL],
            "messages": [HI, assistant(TEXT, USE), user(RESULT)],
        },
        {"tools": []},
        {"tools": [TOOL, TOOL]},
        {"tools": [TOOL | {"name": "l k"}]},
        {"tools": [TOOL | {"name": "l" * 65}]},
        {"tools": [schema(anyOf=[{"type": "object"}])]},
        {"tools": [schema(required=None)]},
        {"tools": [schema(properties=None)]},
        {"tools": [schema(properties={"a b": {}})]},
        {"tools": [schema(properties={"a": {"type": "text"}})]},
        {"tools": [{"name": "look", "input_schema": {"properties": {}}}]},
    ],
)
async def test_bad_fields_are_refused(model: FakeModel, fields: dict[str, Any]) -> None:
    assert (await post(model, **fields))[0] == 400
    assert len(model.refusals) == 1


async def test_version_and_key_are_wanted() -> None:
    async with FakeModel.start(api_key="right") as model, aiohttp.ClientSession() as session:
        for headers, status in (({}, 401), ({"x-api-key": "right"}, 400)):
            body = {"model": "m", "max_tokens": 1, "messages": [HI]}
            async with session.post(
                f"{model.url}/messages", json=body, headers=headers
            ) as response:
                assert response.status == status
