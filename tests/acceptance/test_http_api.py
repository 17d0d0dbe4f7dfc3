"""The HTTP API through a real server, engine, worker, database and model server: what it does."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.acceptance.api_client import ApiClient, serve_api, until
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

ASK = {
    "name": "ask_harbour",
    "description": "Ask the harbour master.",
    "inputSchema": {"type": "object", "properties": {"boat": {"type": "string"}}},
}


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine, bots=("assistant", "wren")) as client:
        yield client


async def texts(api: ApiClient, chat_id: str) -> list[tuple[str, str]]:
    """Who said what."""
    page = await api.get(f"/chats/{chat_id}/messages")
    return [
        (message["role"], "".join(p["text"] for p in message["content"] if p["type"] == "text"))
        for message in page["messages"]
    ]


async def start(api: ApiClient, text: str = "Good morning", **fields: Any) -> str:
    """A chat that has been answered."""
    chat = await api.post("/chats", {"content": text, **fields})
    await until(api, chat["id"], "waiting")
    return str(chat["id"])


async def hold(api: ApiClient, model: FakeModel, *, gate: str = "held") -> str:
    """A chat whose answer stands still in the middle."""
    model.script([Say("Half"), Gate(gate), Say(" and half.")])
    chat = await api.post("/chats", {"content": "Good morning"})
    await model.reached(gate)
    return str(chat["id"])


async def ask(api: ApiClient, model: FakeModel, *calls: Call, **fields: Any) -> str:
    """A chat that waits for answers from outside."""
    model.script(list(calls))
    chat = await api.post("/chats", {"content": "Ask somebody", **fields})
    await until(api, chat["id"], "requires_action")
    return str(chat["id"])


# -- chats -----------------------------------------------------------------------------------------


async def test_chat_is_created_answered_and_read(api: ApiClient, model: FakeModel) -> None:
    model.say("Good morning, Ada.")
    reply = await api.call(
        "POST",
        "/chats",
        {
            "content": "Good morning",
            "title": "Morning",
            "bot": "wren",
            "labels": {"team": "harbour"},
        },
    )
    chat = reply.body
    assert reply.status == 201
    assert reply.headers["Location"] == f"/api/v1/chats/{chat['id']}"
    assert (chat["title"], chat["bot"], chat["labels"]) == ("Morning", "wren", {"team": "harbour"})
    shown = await until(api, chat["id"], "waiting")
    assert (shown["archived"], shown["queue_length"], shown["last_error"]) == (False, 0, None)
    assert await texts(api, chat["id"]) == [
        ("user", "Good morning"),
        ("assistant", "Good morning, Ada."),
    ]


async def test_system_prompt_and_model_reach_the_model(api: ApiClient, model: FakeModel) -> None:
    await start(api, system_prompt="Speak like a sailor.", model="test-model-2")
    request = model.streamed[0].body
    assert request["model"] == "test-model-2"
    assert "Speak like a sailor." in str(request["messages"])


async def test_author_of_a_message_is_the_token(api: ApiClient) -> None:
    made = await api.post("/tokens", {"name": "billing"})
    billing = api.as_caller(made["token"])
    chat_id = await start(billing)
    page = await api.get(f"/chats/{chat_id}/messages")
    assert page["messages"][0]["author"] == {"identity": "api:billing", "name": "billing"}


async def test_content_may_be_parts(api: ApiClient) -> None:
    content = [
        {"type": "text", "text": "See this"},
        {"type": "file", "name": "log.txt", "media_type": "text/plain", "size": 12},
    ]
    chat = await api.post("/chats", {"content": content})
    page = await api.get(f"/chats/{chat['id']}/messages")
    assert page["messages"][0]["content"] == content


async def test_same_idempotency_key_makes_one_chat(api: ApiClient) -> None:
    first = await api.call("POST", "/chats", {"content": "Once"}, headers={"Idempotency-Key": "k1"})
    again = await api.call("POST", "/chats", {"content": "Once"}, headers={"Idempotency-Key": "k1"})
    other = await api.call("POST", "/chats", {"content": "Once"}, headers={"Idempotency-Key": "k2"})
    assert (first.status, again.status, other.status) == (201, 200, 201)
    assert first.body["id"] == again.body["id"] != other.body["id"]


async def test_idempotency_keys_of_different_tokens_are_different(api: ApiClient) -> None:
    made = await api.post("/tokens", {"name": "billing"})
    mine = await api.post("/chats", {"content": "Once"}, Idempotency_Key="k1")
    theirs = await api.as_caller(made["token"]).post(
        "/chats", {"content": "Once"}, Idempotency_Key="k1"
    )
    assert mine["id"] != theirs["id"]


async def test_list_pages_newest_first_and_filters_by_label(api: ApiClient) -> None:
    ids = []
    for number in range(5):
        labels = {"parity": "even" if number % 2 == 0 else "odd", "team": "harbour"}
        chat = await api.post("/chats", {"content": f"Chat {number}", "labels": labels})
        ids.append(chat["id"])
    first = await api.get("/chats", ("limit", "3"))
    second = await api.get("/chats", ("limit", "3"), ("cursor", first["next_cursor"]))
    shown = [chat["id"] for chat in first["chats"] + second["chats"]]
    assert shown == ids[::-1]
    assert second["next_cursor"] is None
    even = await api.get("/chats", ("label", "parity:even"), ("label", "team:harbour"))
    assert [chat["id"] for chat in even["chats"]] == [ids[4], ids[2], ids[0]]
    assert (await api.get("/chats", ("label", "team:lighthouse")))["chats"] == []


async def test_archived_chats_are_listed_apart(api: ApiClient) -> None:
    chat_id = await start(api)
    assert (await api.post(f"/chats/{chat_id}/archive"))["archived"] is True
    assert (await api.get("/chats"))["chats"] == []
    archived = await api.get("/chats", ("archived", "true"))
    assert [chat["id"] for chat in archived["chats"]] == [chat_id]
    refused = await api.call("POST", f"/chats/{chat_id}/messages", {"content": "Hello?"})
    assert (refused.status, refused.body["code"]) == (409, "archived")
    assert (await api.post(f"/chats/{chat_id}/unarchive"))["archived"] is False
    again = await api.call("POST", f"/chats/{chat_id}/unarchive")
    assert (again.status, again.body["code"]) == (409, "not_archived")


# -- messages --------------------------------------------------------------------------------------


async def test_message_to_an_idle_chat_is_answered(api: ApiClient, model: FakeModel) -> None:
    chat_id = await start(api)
    model.say("At six.")
    reply = await api.call("POST", f"/chats/{chat_id}/messages", {"content": "When?"})
    assert (reply.status, reply.body["effect"]) == (201, "inserted")
    await until(api, chat_id, "waiting")
    assert (await texts(api, chat_id))[-2:] == [("user", "When?"), ("assistant", "At six.")]


async def test_message_with_a_known_idempotency_key_is_there_once(api: ApiClient) -> None:
    chat_id = await start(api)
    key = {"Idempotency-Key": "m1"}
    path = f"/chats/{chat_id}/messages"
    await api.call("POST", path, {"content": "Once"}, headers=key)
    again = await api.call("POST", path, {"content": "Once"}, headers=key)
    assert (again.status, again.body["effect"]) == (200, "duplicate")
    await until(api, chat_id, "waiting")
    assert [text for role, text in await texts(api, chat_id) if role == "user"] == [
        "Good morning",
        "Once",
    ]


async def test_message_to_a_busy_chat_waits_in_the_queue(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    reply = await api.call("POST", f"/chats/{chat_id}/messages", {"content": "And then?"})
    assert (reply.status, reply.body["effect"]) == (202, "queued")
    queue = await api.get(f"/chats/{chat_id}/queue")
    assert [item["id"] for item in queue["queued_messages"]] == [reply.body["queued_id"]]
    model.release("held")
    await until(api, chat_id, "waiting")
    assert [text for role, text in await texts(api, chat_id) if role == "user"] == [
        "Good morning",
        "And then?",
    ]


async def test_message_may_interrupt_and_what_was_streamed_is_kept(
    api: ApiClient, model: FakeModel
) -> None:
    chat_id = await hold(api, model)
    model.say("Yes?")
    body = {"content": "Wait", "busy_behavior": "interrupt"}
    assert (await api.post(f"/chats/{chat_id}/messages", body))["status"] == "interrupting"
    await until(api, chat_id, "waiting")
    assert await texts(api, chat_id) == [
        ("user", "Good morning"),
        ("assistant", "Half"),
        ("user", "Wait"),
        ("assistant", "Yes?"),
    ]


async def test_history_is_read_in_pages_both_ways(api: ApiClient) -> None:
    chat_id = await start(api)
    for text in ("two", "three"):
        await api.post(f"/chats/{chat_id}/messages", {"content": text})
        await until(api, chat_id, "waiting")
    path = f"/chats/{chat_id}/messages"
    everything = [message["id"] for message in (await api.get(path))["messages"]]
    assert len(everything) == 6
    newest = await api.get(path, ("limit", "2"))
    assert [message["id"] for message in newest["messages"]] == everything[4:]
    assert newest["has_more"] is True
    before = await api.get(path, ("limit", "4"), ("before", str(everything[4])))
    assert [message["id"] for message in before["messages"]] == everything[:4]
    assert before["has_more"] is False
    after = await api.get(path, ("limit", "2"), ("after", str(everything[0])))
    assert [message["id"] for message in after["messages"]] == everything[1:3]
    assert after["has_more"] is True


async def test_edited_message_is_answered_anew(api: ApiClient, model: FakeModel) -> None:
    chat_id = await start(api)
    first = (await api.get(f"/chats/{chat_id}/messages"))["messages"][0]
    model.say("Good evening.")
    reply = await api.call(
        "PATCH", f"/chats/{chat_id}/messages/{first['id']}", {"content": "Good evening"}
    )
    assert reply.status == 200
    await until(api, chat_id, "waiting")
    assert await texts(api, chat_id) == [
        ("user", "Good evening"),
        ("assistant", "Good evening."),
    ]


async def test_message_may_be_changed_where_it_stands(api: ApiClient) -> None:
    chat_id = await start(api)
    first = (await api.get(f"/chats/{chat_id}/messages"))["messages"][0]
    body = {"content": "Good day", "rerun": False}
    await api.call("PATCH", f"/chats/{chat_id}/messages/{first['id']}", body)
    assert await texts(api, chat_id) == [("user", "Good day"), ("assistant", "All right.")]


# -- the queue -------------------------------------------------------------------------------------


async def test_queued_message_is_edited_promoted_and_deleted(
    api: ApiClient, model: FakeModel
) -> None:
    chat_id = await hold(api, model)
    ids = [
        (await api.post(f"/chats/{chat_id}/messages", {"content": text}))["queued_id"]
        for text in ("one", "two", "three")
    ]
    queue = f"/chats/{chat_id}/queue"
    assert (await api.call("PATCH", f"{queue}/{ids[1]}", {"content": "TWO"})).status == 200
    assert (await api.call("DELETE", f"{queue}/{ids[0]}")).status == 204
    assert (await api.call("DELETE", f"{queue}/{ids[0]}")).body["code"] == "queued_not_found"
    promoted = await api.call("POST", f"{queue}/{ids[2]}/promote")
    assert (promoted.status, promoted.body["status"]) == (200, "interrupting")
    await until(api, chat_id, "waiting")
    assert [text for role, text in await texts(api, chat_id) if role == "user"] == [
        "Good morning",
        "three",
        "TWO",
    ]


async def test_full_queue_is_said_with_when_to_come_back(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    path = f"/chats/{chat_id}/messages"
    for number in range(20):
        await api.post(path, {"content": f"Message {number}"})
    full = await api.call("POST", path, {"content": "One more"})
    assert (full.status, full.body["code"]) == (429, "queue_full")
    assert int(full.headers["Retry-After"]) > 0
    assert (await api.get(f"/chats/{chat_id}"))["queue_length"] == 20


# -- control ---------------------------------------------------------------------------------------


async def test_interrupt_keeps_what_was_streamed(api: ApiClient, model: FakeModel) -> None:
    """E41 through HTTP."""
    chat_id = await hold(api, model)
    await api.post(f"/chats/{chat_id}/interrupt")
    await until(api, chat_id, "waiting")
    page = await api.get(f"/chats/{chat_id}/messages")
    last = page["messages"][-1]
    assert (last["finish"], last["content"]) == ("interrupted", [{"type": "text", "text": "Half"}])
    idle = await api.call("POST", f"/chats/{chat_id}/interrupt")
    assert (idle.status, idle.body["code"]) == (409, "not_running")


async def test_cleared_context_is_forgotten_by_the_model_alone(
    api: ApiClient, model: FakeModel
) -> None:
    chat_id = await start(api, "My name is Ada")
    await api.post(f"/chats/{chat_id}/clear-context")
    await api.post(f"/chats/{chat_id}/messages", {"content": "Who am I?"})
    await until(api, chat_id, "waiting")
    assert "Ada" not in str(model.streamed[-1].body["messages"])
    assert ("user", "My name is Ada") in await texts(api, chat_id)


async def test_busy_chat_is_neither_cleared_nor_compacted(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    for path in ("clear-context", "compact"):
        reply = await api.call("POST", f"/chats/{chat_id}/{path}")
        assert (reply.status, reply.body["code"]) == (409, "busy")


# -- actions ---------------------------------------------------------------------------------------


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
    assert (await api.post(path, {"results": [result]}))["effect"] == "done"
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
