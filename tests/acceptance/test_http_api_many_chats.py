"""What programs do with many chats: details, filters, read marks, recordings, and chats that are removed."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from engine.chat.ids import ChatId
from tests.acceptance.api_client import ApiClient, serve_api
from tests.acceptance.api_steps import hold, start
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica, eventually


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine) as client:
        yield client


async def as_client(api: ApiClient) -> ApiClient:
    """The same server, called by a token without an administrator's rights."""
    made = await api.post("/tokens", {"name": "reader"})
    return api.as_caller(made["token"])


async def found(api: ApiClient, q: str = "") -> list[str]:
    """The ids of the chats that a filter finds, in order."""
    page = await api.get("/chats", ("q", q))
    return [chat["id"] for chat in page["chats"]]


async def test_details_change_together_or_not_at_all(api: ApiClient) -> None:
    chat_id = await start(api)
    body = {"title": "Boats", "labels": {"env": "prod"}, "pinned": True, "model": "test-model"}
    reply = await api.call("PATCH", f"/chats/{chat_id}", body)
    assert reply.status == 200
    named = {key: reply.body[key] for key in ("title", "labels", "pin_order", "model")}
    assert named == {
        "title": "Boats",
        "labels": {"env": "prod"},
        "pin_order": 1,
        "model": "test-model",
    }
    await api.post(f"/chats/{chat_id}/archive")
    refused = await api.call("PATCH", f"/chats/{chat_id}", {"pinned": True, "title": "Ships"})
    assert (refused.status, refused.body["code"]) == (409, "archived")
    assert (await api.get(f"/chats/{chat_id}"))["title"] == "Boats"
    wrong = await api.call("PATCH", f"/chats/{chat_id}", {"labels": {"a b": "x"}, "pin_order": -1})
    assert wrong.status == 422
    assert "labels.a b" in wrong.fields


async def test_title_and_model_are_one_line_in_one_direction(api: ApiClient) -> None:
    chat_id = await start(api)
    for text in ("a\nb", "a\x1b[31m", "\u202eevil", "a\u2028b"):
        for field in ("title", "model"):
            made = await api.call("POST", "/chats", {"content": "x", field: text})
            assert (made.status, made.fields) == (422, [field]), (field, text)
            changed = await api.call("PATCH", f"/chats/{chat_id}", {field: text})
            assert (changed.status, changed.fields) == (422, [field]), (field, text)


async def test_place_of_a_pin_that_cannot_be_is_told_once(api: ApiClient) -> None:
    chat_id = await start(api)
    for place in (-1, None, "first"):
        wrong = await api.call("PATCH", f"/chats/{chat_id}", {"pin_order": place})
        assert (wrong.status, wrong.fields) == (422, ["pin_order"]), place


async def test_labels_are_checked_when_a_chat_is_made(api: ApiClient) -> None:
    reply = await api.call("POST", "/chats", {"content": "x", "labels": {"a": "", "-": "x"}})
    assert (reply.status, reply.fields) == (422, ["labels.a", "labels.-"])


async def test_filter_finds_and_a_mistake_in_it_is_told(api: ApiClient) -> None:
    first = await start(api, "Where is the red boat?")
    second = await start(api, "Tea or coffee?")
    assert await found(api, "search:boat") == [first]
    (chat,) = (await api.get("/chats", ("q", "search:boat")))["chats"]
    assert {"text": "boat", "is_match": True} in chat["snippet"]
    assert await found(api) == [second, first]
    for q, says in (("boat", "search:boat"), ("colour:red", "known are title:")):
        reply = await api.call("GET", "/chats", params=[("q", q)])
        assert (reply.status, reply.fields) == (422, ["q"])
        assert says in reply.body["validations"][0]["detail"]


async def test_each_token_has_read_what_it_has_read(api: ApiClient) -> None:
    chat_id = await start(api)
    reader = await as_client(api)
    assert (await api.get(f"/chats/{chat_id}"))["has_unread"]
    assert (await api.call("POST", f"/chats/{chat_id}/read", {})).status == 204
    assert not (await api.get(f"/chats/{chat_id}"))["has_unread"]
    assert await found(api, "has_unread:true") == []
    assert await found(reader, "has_unread:true") == [chat_id]


async def test_following_a_chat_reads_it_also_what_came_last(
    api: ApiClient, model: FakeModel
) -> None:
    chat_id = await hold(api, model)
    url = api.url(f"/chats/{chat_id}/stream")
    async with api.session.get(url, headers=api.authorization) as response:
        await response.content.readuntil(b"Half")
        model.release("held")
        await response.content.readuntil(b'"finish":"stop"')
        await response.content.readuntil(b"\n\n")

    async def is_read() -> bool:
        return not (await api.get(f"/chats/{chat_id}"))["has_unread"]

    assert await eventually(is_read)
    assert (await (await as_client(api)).get(f"/chats/{chat_id}"))["has_unread"]


async def test_streams_of_a_chat_that_is_removed_end_and_say_so(
    api: ApiClient, replica: TestReplica
) -> None:
    chat_id = await start(api)
    url = api.url(f"/chats/{chat_id}/stream")
    async with (
        asyncio.timeout(20),
        api.session.get(url, headers=api.authorization) as response,
        api.session.ws_connect(url, headers=api.authorization) as socket,
    ):
        await response.content.readuntil(b"event: actions")
        assert (await socket.receive()).type is aiohttp.WSMsgType.TEXT
        # Without a hint, as when another replica removes it.
        async with replica.replica.pool.session() as connection:
            await connection.execute("DELETE FROM chats WHERE id = $1", ChatId(chat_id))  # type: ignore[arg-type]
        assert b"not_found" in await response.content.read()
        while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
            pass
        assert message.type is aiohttp.WSMsgType.CLOSE
        assert message.data == 4404


async def test_chat_is_removed_for_good_by_administrators(
    api: ApiClient, replica: TestReplica
) -> None:
    chat_id, other = await start(api), await start(api)
    reader = await as_client(api)
    assert (await reader.call("DELETE", f"/chats/{chat_id}")).status == 403
    url = api.url(f"/chats/{chat_id}/stream")
    async with asyncio.timeout(20), api.session.get(url, headers=api.authorization) as response:
        await response.content.readuntil(b"event: actions")
        reply = await api.call("DELETE", f"/chats/{chat_id}")
        assert (reply.status, reply.body) == (204, None)
        assert b"not_found" in await response.content.read()
    for method in ("GET", "DELETE"):
        assert (await api.call(method, f"/chats/{chat_id}")).status == 404
    assert (await api.call("GET", f"/chats/{chat_id}/messages")).status == 404
    assert [chat["id"] for chat in (await api.get("/chats"))["chats"]] == [other]
    async with replica.replica.pool.session() as connection:
        paid = await connection.fetchval("SELECT count(*) FROM usage_records WHERE kind = 'step'")
    assert paid == 2


async def test_recordings_are_for_administrators(api: ApiClient) -> None:
    chat_id = await start(api)
    reader = await as_client(api)
    wanted = {"records_calls": True}
    assert (await reader.call("PATCH", f"/chats/{chat_id}", wanted)).status == 403
    assert (await api.call("PATCH", f"/chats/{chat_id}", wanted)).body["records_calls"]
    await api.post(f"/chats/{chat_id}/messages", {"content": "Again"})

    async def listed() -> list[dict[str, str]]:
        page = await api.get(f"/chats/{chat_id}/recordings")
        return [call for call in page["recordings"] if call["status"] == "completed"]

    (call,) = await eventually(listed)
    whole = await api.get(f"/chats/{chat_id}/recordings/{call['id']}")
    assert whole["request"]["messages"][-1]["content"][0]["text"] == "Again"
    for path in ("recordings", f"recordings/{call['id']}"):
        assert (await reader.call("GET", f"/chats/{chat_id}/{path}")).status == 403
    assert (await api.call("GET", f"/chats/{chat_id}/recordings/1234567")).status == 404
