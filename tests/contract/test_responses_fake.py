"""The fake model refuses on the Responses wire what the real API refuses."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.model_responses_rules import sealed
from tests.fakes.model_server import Call, FakeModel, Own, Say, Think

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}
CALL = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "calm"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed("Hm.")}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
TOOL = {"type": "function", "name": "look", "strict": False}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def post(model: FakeModel, **body: Any) -> tuple[int, Any]:
    body = {"model": "m", "store": False, "input": [HI]} | body
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{model.url}/responses", json=body) as response,
    ):
        return response.status, await response.json()


@pytest.mark.parametrize(
    "items",
    [
        [HI],
        [{**HI, "content": "Hi"}],
        [HI, SAID, HI],
        [HI, CALL, OUTPUT],
        [HI, SAID, CALL, {**CALL, "call_id": "b"}, {**OUTPUT, "call_id": "b"}, OUTPUT, HI],
        [HI, THOUGHT, CALL, OUTPUT, {**THOUGHT, "id": "rs_2"}, SAID, HI],
        [HI, THOUGHT, SEARCH, SAID, HI],
    ],
)
async def test_good_history_is_answered(model: FakeModel, items: list[Any]) -> None:
    status, body = await post(model, input=items, tools=[{**TOOL, "parameters": SCHEMA}])
    assert (status, body["status"]) == (200, "completed")
    assert body["output"][0]["content"][0]["text"] == "A short title"


@pytest.mark.parametrize(
    "items",
    [
        [],
        "Hi",
        [HI, {"type": "hologram"}],
        [{**HI, "content": []}],
        [{**HI, "content": " "}],
        [{**HI, "content": [{"type": "input_text", "text": ""}]}],
        [{**HI, "content": [{"type": "output_text", "text": "Hi"}]}],
        [{**HI, "content": [{"type": "input_image", "image_url": "data:image/tiff;base64,AA"}]}],
        [{**HI, "role": "robot"}],
        [{**HI, "name": "Ada"}],
        [HI, SAID],
        [HI, {**SAID, "content": [{"type": "input_text", "text": "A"}]}, HI],
        [HI, CALL],
        [HI, CALL, HI],
        [HI, OUTPUT],
        [HI, OUTPUT, CALL],
        [HI, CALL, OUTPUT, OUTPUT],
        [HI, CALL, OUTPUT, CALL, OUTPUT],
        [HI, {**CALL, "call_id": "a b"}, {**OUTPUT, "call_id": "a b"}],
        [HI, {**CALL, "name": "l k"}, OUTPUT],
        [HI, {**CALL, "arguments": "["}, OUTPUT],
        [HI, CALL, {**OUTPUT, "output": ""}],
        [HI, CALL, {**OUTPUT, "output": None}],
        [HI, THOUGHT, HI],
        [HI, CALL, THOUGHT, OUTPUT],
        [HI, THOUGHT, SAID, THOUGHT, SAID, HI],
        [HI, {**THOUGHT, "encrypted_content": None}, SAID, HI],
        [HI, {**THOUGHT, "encrypted_content": "forged"}, SAID, HI],
        [HI, {**THOUGHT, "content": [{"type": "reasoning_text", "text": "Hm."}]}, SAID, HI],
        [HI, {"type": "reasoning", "id": "rs_1", "encrypted_content": sealed("Hm.")}, SAID, HI],
        [HI, SEARCH, SEARCH, SAID, HI],
        [HI, {**SEARCH, "id": ""}, SAID, HI],
    ],
)
async def test_bad_history_is_refused(model: FakeModel, items: list[Any]) -> None:
    status, body = await post(model, input=items)
    assert status == 400
    assert model.refusals == [body["error"]["message"]]


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "resp_1"},
        {"messages": []},
        {"temperature": None},
        {"instructions": " "},
        {"max_output_tokens": 15},
        {"include": ["everything"]},
        {"include": ["reasoning.encrypted_content"]},
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]},
        {"tools": [{**TOOL, "parameters": {"type": "object"}}]},
        {"tools": [{**TOOL, "parameters": SCHEMA | {"required": []}}]},
        {"tools": [{**TOOL, "parameters": SCHEMA | {"properties": None}}]},
        {"tools": [{**TOOL, "parameters": SCHEMA, "name": "a b"}]},
        {"tools": [{**TOOL, "parameters": SCHEMA}] * 2},
    ],
)
async def test_bad_request_is_refused(model: FakeModel, fields: dict[str, Any]) -> None:
    assert (await post(model, **fields))[0] == 400
    assert len(model.refusals) == 1


async def test_search_is_refused_without_the_reasoning_that_led_to_it(model: FakeModel) -> None:
    model.aside_script([Think("Hm."), Own(SEARCH), Say("A")])
    asked = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    _, body = await post(model, **asked)
    thought, search, said = body["output"]
    thought = {key: thought[key] for key in ("type", "id", "summary", "encrypted_content")}
    said = {key: said[key] for key in ("type", "role", "content")}
    assert (await post(model, input=[HI, thought, search, said, HI]))[0] == 200
    assert (await post(model, input=[HI, search, said, HI]))[0] == 400
    assert "required 'reasoning' item" in model.refusals[0]


async def test_what_a_request_says_is_found_whatever_its_wire(model: FakeModel) -> None:
    model.aside_script([Call("look")])
    result = {**OUTPUT, "output": '{"wind": 3}'}
    tools = [{**TOOL, "parameters": SCHEMA}]
    await post(model, input=[HI, CALL, result], instructions="Be brief.", tools=tools)
    seen = model.requests[0]
    assert (seen.system, seen.last_text, seen.tool_names) == ("Be brief.", "Hi", ["look"])
    assert seen.tool_result("a") == {"wind": 3}


async def test_wrong_key_is_refused() -> None:
    async with FakeModel.start(api_key="right") as model:
        assert (await post(model))[0] == 401
