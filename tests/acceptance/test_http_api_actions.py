"""Questions, calls and tokens over the HTTP API."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.acceptance.api_client import ApiClient, serve_api, until
from tests.acceptance.api_steps import ask, start
from tests.fakes.model_script import Call
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

ASK = {
    "name": "ask_harbour",
    "description": "Ask the harbour master.",
    "inputSchema": {"type": "object", "properties": {"boat": {"type": "string"}}},
}


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine, bots=("assistant", "wren")) as client:
        yield client


async def test_question_is_answered_by_an_option(api: ApiClient, model: FakeModel) -> None:
    call = Call("ask_people", {"question": "Tea or coffee?", "options": ["Tea", "Coffee"]})
    chat_id = await ask(api, model, call)
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    assert [option["label"] for option in action["form"]["options"]] == ["Tea", "Coffee"]
    path = f"/chats/{chat_id}/actions/{action['id']}"
    assert (await api.call("POST", path, {"option": 2})).fields == ["option"]
    assert (await api.post(path, {"option": 1}))["effect"] == "done"
    late = await api.call("POST", path, {"option": 0})
    assert (late.status, late.body["code"]) in [
        (409, "no_action_pending"),
        (409, "action_not_pending"),
    ]
    await until(api, chat_id, "waiting")
    (closed,) = (await api.get(f"/chats/{chat_id}/actions", ("state", "all")))["actions"]
    assert (closed["state"], closed["answer"]) == ("answered", {"answer": "Coffee"})
    assert closed["answered_by"]["name"] == "admin"


async def test_question_is_answered_by_the_values_of_its_form(
    api: ApiClient, model: FakeModel
) -> None:
    chat_id = await ask(api, model, Call("ask_people", {"question": "Which boat?"}))
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    path = f"/chats/{chat_id}/actions/{action['id']}"
    assert (await api.call("POST", path, {"values": {}})).fields == ["values.answer"]
    assert (await api.call("POST", path, {"values": {"boat": "x", "answer": "y"}})).fields == [
        "values.boat"
    ]
    await api.post(path, {"values": {"answer": "Marigold"}})
    await until(api, chat_id, "waiting")
    assert "Marigold" in str(model.streamed[-1].body["messages"])


async def test_answer_must_be_one_thing(api: ApiClient, model: FakeModel) -> None:
    chat_id = await ask(api, model, Call("ask_harbour", {}, id="call_1"), dynamic_tools=[ASK])
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    path = f"/chats/{chat_id}/actions/{action['id']}"
    bodies: tuple[dict[str, Any], ...] = (
        {},
        {"option": 0, "result": 1},
        {"option": -1},
        {"option": True},
        {"values": []},
        {"values": {}, "is_error": True},
    )
    for body in bodies:
        reply = await api.call("POST", path, body)
        assert (reply.status, reply.body["code"]) == (422, "invalid_fields"), body
    await api.post(path, {"result": "no such boat", "is_error": True})
    await until(api, chat_id, "waiting")


async def test_action_of_another_chat_is_not_found(api: ApiClient, model: FakeModel) -> None:
    chat_id = await ask(api, model, Call("ask_people", {"question": "Which boat?"}))
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    other = await start(api)
    reply = await api.call("POST", f"/chats/{other}/actions/{action['id']}", {"result": 1})
    assert reply.status == 404


async def test_tool_of_the_chat_is_answered_by_its_client(api: ApiClient, model: FakeModel) -> None:
    call = Call("ask_harbour", {"boat": "Marigold"}, id="call_1")
    chat_id = await ask(api, model, call, dynamic_tools=[ASK])
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    assert (action["executor"], action["tool_call_id"]) == ("client", "call_1")
    path = f"/chats/{chat_id}/tool-results"
    wrong = await api.call("POST", path, {"results": [{"tool_call_id": "call_2", "result": 1}]})
    assert (wrong.status, wrong.body["code"]) == (409, "results_do_not_match")
    result = {"tool_call_id": "call_1", "result": {"at": "16:10"}, "is_error": False}
    messages = (await api.get(f"/chats/{chat_id}/messages"))["messages"]
    asking = messages[-1]["id"]
    other = await api.call("POST", path, {"results": [result], "message_id": asking - 1})
    assert (other.status, other.body["code"]) == (409, "results_do_not_match")
    assert str(asking - 1) in other.body["detail"]
    none = await api.call("POST", path, {"results": [result], "message_id": "last"})
    assert (none.status, none.fields) == (422, ["message_id"])
    answer = {"results": [result], "message_id": asking}
    assert (await api.post(path, answer))["effect"] == "done"
    await until(api, chat_id, "waiting")
    assert "16:10" in str(model.streamed[-1].body["messages"])


async def test_of_ten_submissions_at_once_one_succeeds(api: ApiClient, model: FakeModel) -> None:
    """E27 through HTTP: one success, nine typed conflicts, nothing else."""
    chat_id = await ask(
        api, model, Call("ask_harbour", {"boat": "x"}, id="call_1"), dynamic_tools=[ASK]
    )
    bodies = [{"results": [{"tool_call_id": "call_1", "result": n}]} for n in range(10)]
    path = f"/chats/{chat_id}/tool-results"
    replies = await asyncio.gather(*(api.call("POST", path, body) for body in bodies))
    assert sorted((reply.status, reply.body.get("code")) for reply in replies) == [
        (200, None),
        *[(409, "no_action_pending")] * 9,
    ]
    await until(api, chat_id, "waiting")
    page = await api.get(f"/chats/{chat_id}/messages")
    assert sum(message["role"] == "tool" for message in page["messages"]) == 1


# -- tokens ----------------------------------------------------------------------------------------


async def test_token_is_made_used_listed_and_revoked(api: ApiClient) -> None:
    made = await api.post("/tokens", {"name": "billing", "role": "client"})
    client = api.as_caller(made["token"])
    assert (await client.call("GET", "/chats")).status == 200
    for method, path in (("GET", "/tokens"), ("DELETE", f"/tokens/{made['id']}")):
        forbidden = await client.call(method, path)
        assert (forbidden.status, forbidden.body["code"]) == (403, "forbidden")
    (listed,) = (await api.get("/tokens"))["tokens"]
    assert (listed["name"], listed["role"], listed["revoked_at"]) == ("billing", "client", None)
    assert made["token"] not in str(listed)
    assert (await api.call("DELETE", f"/tokens/{made['id']}")).status == 204
    assert (await api.call("DELETE", f"/tokens/{made['id']}")).status == 404
    assert (await client.call("GET", "/chats")).body["code"] == "unauthorized"


async def test_admin_token_that_was_made_may_make_others(api: ApiClient) -> None:
    made = await api.post("/tokens", {"name": "ops", "role": "admin"})
    other = await api.as_caller(made["token"]).post("/tokens", {"name": "billing"})
    assert other["role"] == "client"


async def test_a_program_answers_only_what_the_tool_lets_it(
    api: ApiClient, model: FakeModel
) -> None:
    """D8: the rule holds for programs as for people, and is shown to them."""
    tool = {**ASK, "executor": "people", "answerers": ["slack:T1:U1", "group:crew"]}
    chat_id = await ask(api, model, Call("ask_harbour", {}, id="call_1"), dynamic_tools=[tool])
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    assert action["answerers"] == {
        "asker": False,
        "people": ["slack:T1:U1"],
        "groups": ["group:crew"],
    }
    assert action["asker"]["identity"] == "api:admin"
    path = f"/chats/{chat_id}/actions/{action['id']}"
    submission = {"results": [{"tool_call_id": "call_1", "result": 1}]}
    for where, body in ((path, {"option": 0}), (f"/chats/{chat_id}/tool-results", submission)):
        refused = await api.call("POST", where, body)
        assert (refused.status, refused.body["code"]) == (403, "may_not_answer")
        assert refused.body["detail"] == "Only slack:T1:U1 or members of crew may answer this."
    assert (await api.get(f"/chats/{chat_id}/actions"))["actions"][0]["state"] == "open"


async def test_a_program_that_asked_may_answer(api: ApiClient, model: FakeModel) -> None:
    """D8"""
    tool = {**ASK, "executor": "people", "answerers": "asker"}
    chat_id = await ask(api, model, Call("ask_harbour", {}, id="call_1"), dynamic_tools=[tool])
    (action,) = (await api.get(f"/chats/{chat_id}/actions"))["actions"]
    await api.post(f"/chats/{chat_id}/actions/{action['id']}", {"option": 0})
    await until(api, chat_id, "waiting")


async def test_a_rule_for_nobody_is_refused_where_the_tool_is_brought(api: ApiClient) -> None:
    for extra, field, says in (
        ({"executor": "people", "answerers": ["U1"]}, "answerers", "must be an identity"),
        ({"answerers": "asker"}, "answerers", 'the executor "people" alone'),
    ):
        body = {"content": "hi", "dynamic_tools": [{**ASK, **extra}]}
        refused = await api.call("POST", "/chats", body)
        assert refused.fields == [f"dynamic_tools[0].{field}"]
        assert says in refused.body["validations"][0]["detail"]
