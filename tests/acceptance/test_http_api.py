"""The HTTP API through a real server, engine, worker, database and model server: what it does."""

from collections.abc import AsyncIterator

import pytest

from tests.acceptance.api_client import ApiClient, serve_api, until
from tests.acceptance.api_steps import hold, start, texts
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine, bots=("assistant", "wren")) as client:
        yield client


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
    assert page["messages"][0]["author"] == {
        "identity": f"api:token:{made['id']}",
        "name": "billing",
    }


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


async def test_key_of_a_chat_is_another_one_for_its_messages(api: ApiClient) -> None:
    chat = await api.post("/chats", {"content": "One"}, Idempotency_Key="k1")
    await until(api, chat["id"], "waiting")
    path = f"/chats/{chat['id']}/messages"
    reply = await api.call("POST", path, {"content": "Two"}, headers={"Idempotency-Key": "k1"})
    assert (reply.status, reply.body["effect"]) == (201, "inserted")


async def test_key_with_another_body_is_refused_and_changes_nothing(
    api: ApiClient, model: FakeModel
) -> None:
    key = {"Idempotency-Key": "k1"}
    chat_id = await hold(api, model)
    made = await api.post("/chats", {"content": "One"}, Idempotency_Key="k1")
    path = f"/chats/{chat_id}/messages"
    queued = await api.post(path, {"content": "One"}, Idempotency_Key="k1")
    for other in ("/chats", path):
        reply = await api.call("POST", other, {"content": "Two"}, headers=key)
        assert (reply.status, reply.body["code"]) == (422, "idempotency_key_reused")
    again = await api.post(path, {"content": "One"}, Idempotency_Key="k1")
    assert (again["effect"], again["queued_id"]) == ("duplicate", queued["queued_id"])
    model.release("held")
    await until(api, chat_id, "waiting")
    reply = await api.call("POST", path, {"content": "Two"}, headers=key)
    assert (reply.status, reply.body["code"]) == (422, "idempotency_key_reused")
    spaced = await api.call("POST", "/chats", data=b'{ "content" :"One"}', headers=key)
    assert (spaced.status, spaced.body["id"]) == (200, made["id"])


async def test_duplicate_names_the_message_that_is_there(api: ApiClient) -> None:
    path = f"/chats/{await start(api)}/messages"
    first = await api.post(path, {"content": "Once"}, Idempotency_Key="m1")
    again = await api.post(path, {"content": "Once"}, Idempotency_Key="m1")
    assert again["effect"] == "duplicate"
    assert again["message_ids"] == first["message_ids"] != []


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


async def test_busy_chat_is_not_cleared(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    reply = await api.call("POST", f"/chats/{chat_id}/clear-context")
    assert (reply.status, reply.body["code"]) == (409, "busy")


async def test_a_summary_is_made_on_request(api: ApiClient, model: FakeModel) -> None:
    chat_id = await start(api, "My name is Ada")
    model.aside("Somebody is called Ada.")
    await api.post(f"/chats/{chat_id}/compact")
    await until(api, chat_id, "waiting")
    page = await api.get(f"/chats/{chat_id}/messages")
    call, result = (message["content"][0] for message in page["messages"][-2:])
    assert (call["type"], call["tool_name"]) == ("tool-call", "chat_summarized")
    assert (result["type"], result["result"]["summary"]) == (
        "tool-result", "Somebody is called Ada.",
    )  # fmt: skip
    await api.post(f"/chats/{chat_id}/messages", {"content": "Who am I?"})
    await until(api, chat_id, "waiting")
    assert "Somebody is called Ada." in str(model.streamed[-1].body["messages"])
    assert "My name is Ada" not in str(model.streamed[-1].body["messages"])


async def test_busy_chat_is_not_summarised(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    reply = await api.call("POST", f"/chats/{chat_id}/compact")
    assert (reply.status, reply.body["code"]) == (409, "busy")
