"""Streams of the HTTP API, by server-sent events and over WebSockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from tests.acceptance.api_client import PATIENCE_SECONDS, ApiClient, serve_api, until
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

Event = dict[str, Any]


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine) as client:
        yield client


@dataclass(slots=True)
class Stream:
    """A stream being read: `events` so far, `last_id` as an event source keeps it."""

    response: aiohttp.ClientResponse
    events: list[Event]
    last_id: str = ""
    retry: str = ""

    async def until(self, met: Callable[[Event], bool]) -> list[Event]:
        """All events up to the first that is as wanted."""
        seen: list[Event] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for event in self:
                seen.append(event)
                if met(event):
                    return seen
        raise AssertionError(f"the stream ended after {seen}")

    async def __aiter__(self) -> AsyncIterator[Event]:
        fields: dict[str, str] = {}
        while line := await self.response.content.readline():
            text = line.decode().rstrip("\n")
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
                continue
            self.retry = fields.get("retry", self.retry)
            self.last_id = fields.get("id", self.last_id)
            if "data" in fields:
                event = json.loads(fields["data"])
                assert event["type"] == fields["event"]
                self.events.append(event)
                yield event
            fields = {}


@asynccontextmanager
async def stream(api: ApiClient, chat_id: str, **headers: str) -> AsyncIterator[Stream]:
    """Follow a chat by server-sent events."""
    after = headers.pop("after_id", None)
    sent = {**api.authorization, **{name.replace("_", "-"): v for name, v in headers.items()}}
    params = {} if after is None else {"after_id": after}
    url = api.url(f"/chats/{chat_id}/stream")
    async with api.session.get(url, headers=sent, params=params) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        yield Stream(response, [])


def is_status(status: str) -> Callable[[Event], bool]:
    return lambda event: event["type"] == "status" and event["status"] == status


def is_type(kind: str) -> Callable[[Event], bool]:
    return lambda event: bool(event["type"] == kind)


def said(events: list[Event]) -> list[str]:
    """The texts of the messages among events."""
    return [
        "".join(part.get("text", "") for part in event["message"]["content"])
        for event in events
        if event["type"] == "message"
    ]


async def start(api: ApiClient, text: str = "one") -> str:
    chat = await api.post("/chats", {"content": text})
    await until(api, chat["id"], "waiting")
    return str(chat["id"])


async def hold(api: ApiClient, model: FakeModel) -> str:
    model.script([Say("Half"), Gate("held"), Say(" and half.")])
    chat = await api.post("/chats", {"content": "one"})
    await model.reached("held")
    return str(chat["id"])


async def until_none_follows(api: ApiClient, replica: TestReplica) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if replica.engine.stream.follower_count == api.adapter.stream_count == 0:
                return
            await asyncio.sleep(0.01)


# -- server-sent events ----------------------------------------------------------------------------


async def test_stream_begins_with_the_full_state_status_first(api: ApiClient) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        events = await following.until(is_type("actions"))
    assert [event["type"] for event in events] == [
        "status",
        "message",
        "message",
        "queue",
        "actions",
    ]
    assert following.retry == "1000"


async def test_answer_is_streamed_as_it_grows(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    async with stream(api, chat_id) as following:
        await following.until(is_type("part"))
        assert following.events[-1]["part"] == {"type": "text-delta", "text": "Half"}
        model.release("held")
        events = await following.until(is_status("waiting"))
    parts = "".join(event["part"]["text"] for event in events if event["type"] == "part")
    assert parts in ("", " and half.")
    assert said(events)[-1] == "Half and half."
    kinds = [event["type"] for event in events]
    answer = len(kinds) - 1 - kinds[::-1].index("message")
    assert kinds[answer - 1] == "preview_reset"


async def test_stream_after_a_message_gives_exactly_those_that_follow(api: ApiClient) -> None:
    """E29 through HTTP: after=0 gives all three messages, after=second gives exactly the third."""
    chat_id = await start(api)
    await api.post(f"/chats/{chat_id}/messages", {"content": "three"})
    page = await api.get(f"/chats/{chat_id}/messages")
    ids = [message["id"] for message in page["messages"]]
    async with stream(api, chat_id, after_id="0") as following:
        everything = await following.until(is_type("actions"))
    assert said(everything)[:3] == ["one", "All right.", "three"]
    async with stream(api, chat_id, after_id=str(ids[1])) as following:
        rest = await following.until(is_type("actions"))
    assert said(rest)[:1] == ["three"]


async def test_reconnecting_client_goes_on_where_it_was(api: ApiClient) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        await following.until(is_type("actions"))
    await api.post(f"/chats/{chat_id}/messages", {"content": "three"})
    await until(api, chat_id, "waiting")
    async with stream(api, chat_id, after_id="0", Last_Event_ID=following.last_id) as again:
        events = await again.until(is_type("actions"))
    assert said(events) == ["three", "All right."]


async def test_reconnecting_client_with_messages_taken_back_begins_anew(api: ApiClient) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        await following.until(is_type("actions"))
    first = following.events[1]["message"]["id"]
    await api.call("PATCH", f"/chats/{chat_id}/messages/{first}", {"content": "One"})
    await until(api, chat_id, "waiting")
    async with stream(api, chat_id, Last_Event_ID=following.last_id) as again:
        events = await again.until(is_type("actions"))
    assert (events[0]["type"], events[0]["after_id"]) == ("history_reset", 0)
    assert said(events) == ["One", "All right."]


async def test_messages_taken_back_while_connected_are_reset(api: ApiClient) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        await following.until(is_type("actions"))
        first = following.events[1]["message"]["id"]
        await api.call("PATCH", f"/chats/{chat_id}/messages/{first}", {"content": "One"})
        await following.until(is_type("history_reset"))
        assert following.last_id == "0"
        events = await following.until(is_status("waiting"))
    assert said(events) == ["One", "All right."]


async def test_question_and_queue_are_streamed(api: ApiClient, model: FakeModel) -> None:
    model.script([Call("ask_people", {"question": "Tea?", "options": ["Yes", "No"]})])
    chat = await api.post("/chats", {"content": "one"})
    async with stream(api, chat["id"]) as following:
        await following.until(lambda event: event["type"] == "actions" and bool(event["actions"]))
        await following.until(is_status("requires_action"))
        await api.post(f"/chats/{chat['id']}/messages", {"content": "later"})
        await following.until(lambda event: bool(event.get("queued_messages")))
        (action,) = (await api.get(f"/chats/{chat['id']}/actions"))["actions"]
        await api.post(f"/chats/{chat['id']}/actions/{action['id']}", {"option": 0})
        await following.until(lambda event: event.get("actions") == [])
        await following.until(is_status("waiting"))


async def test_head_of_a_stream_is_refused_without_streaming(api: ApiClient) -> None:
    chat_id = await start(api)
    url = api.url(f"/chats/{chat_id}/stream")
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        api.session.head(url, headers=api.authorization) as response,
    ):
        assert (response.status, response.headers["Allow"]) == (405, "GET")
    assert api.adapter.stream_count == 0


async def test_stream_ends_when_its_token_is_revoked(replica: TestReplica) -> None:
    async with serve_api(replica.engine, beat_seconds=0.05) as api:
        made = await api.post("/tokens", {"name": "billing"})
        chat_id = await start(api)
        async with stream(api.as_caller(made["token"]), chat_id) as following:
            await following.until(is_type("actions"))
            await api.call("DELETE", f"/tokens/{made['id']}")
            (event,) = await following.until(is_type("error"))
            assert event["error"]["kind"] == "unauthorized"
            assert [event async for event in following] == []
        await until_none_follows(api, replica)


async def test_websocket_is_closed_when_its_token_is_revoked(replica: TestReplica) -> None:
    async with serve_api(replica.engine, beat_seconds=0.05) as api:
        made = await api.post("/tokens", {"name": "billing"})
        chat_id = await start(api)
        async with connect(api.as_caller(made["token"]), chat_id) as socket:
            await frames(socket, is_type("actions"))
            await api.call("DELETE", f"/tokens/{made['id']}")
            async with asyncio.timeout(PATIENCE_SECONDS):
                await socket.receive()
            assert socket.close_code == 4401


async def test_error_is_streamed(api: ApiClient, model: FakeModel) -> None:
    model.refuse(401, "Incorrect API key")
    chat = await api.post("/chats", {"content": "one"})
    async with stream(api, chat["id"]) as following:
        await following.until(is_type("error"))
    error = following.events[-1]["error"]
    assert (error["kind"], error.get("retryable", False)) == ("auth", False)


async def test_gone_client_frees_its_follower(api: ApiClient, replica: TestReplica) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        await following.until(is_type("actions"))
        assert api.adapter.stream_count == 1
        following.response.close()
    await until_none_follows(api, replica)


async def test_client_that_reads_nothing_slows_nobody_down(
    api: ApiClient, model: FakeModel
) -> None:
    """E52: a slow subscriber never slows the turn."""
    long = "word " * 200_000
    model.script(
        [
            Gate("begin"),
            Say(long, pieces=tuple(long[i : i + 5000] for i in range(0, len(long), 5000))),
        ]
    )
    chat = await api.post("/chats", {"content": "one"})
    await model.reached("begin")
    async with stream(api, chat["id"]), stream(api, chat["id"]) as other:
        model.release("begin")
        events = await other.until(is_status("waiting"))
        assert said(events)[-1] == long.rstrip() or said(events)[-1] == long


async def test_closed_server_ends_its_streams_at_once(api: ApiClient) -> None:
    chat_id = await start(api)
    async with stream(api, chat_id) as following:
        await following.until(is_type("actions"))
        api.adapter.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert [event async for event in following] == []


# -- WebSockets ------------------------------------------------------------------------------------


def connect(api: ApiClient, chat_id: str, query: str = "") -> Any:
    url = api.url(f"/chats/{chat_id}/stream{query}")
    return api.session.ws_connect(url, headers=api.authorization)


async def frames(
    socket: aiohttp.ClientWebSocketResponse, met: Callable[[Event], bool]
) -> list[Event]:
    """All events up to the first that is as wanted."""
    seen: list[Event] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for message in socket:
            assert message.type is WSMsgType.TEXT
            events = json.loads(message.data)
            assert 0 < len(events) <= 256
            for event in events:
                seen.append(event)
                if met(event):
                    return seen
    raise AssertionError(f"the socket was closed after {seen}")


async def test_websocket_streams_the_same(api: ApiClient, model: FakeModel) -> None:
    chat_id = await hold(api, model)
    async with connect(api, chat_id) as socket:
        events = await frames(socket, is_type("part"))
        assert events[0]["type"] == "status"
        model.release("held")
        events = await frames(socket, is_status("waiting"))
    assert said(events)[-1] == "Half and half."


async def test_websocket_goes_on_after_a_message(api: ApiClient) -> None:
    chat_id = await start(api)
    page = await api.get(f"/chats/{chat_id}/messages")
    async with connect(api, chat_id, f"?after_id={page['messages'][0]['id']}") as socket:
        events = await frames(socket, is_type("actions"))
    assert said(events) == ["All right."]


async def test_websocket_ignores_what_the_client_sends(api: ApiClient) -> None:
    chat_id = await start(api)
    async with connect(api, chat_id) as socket:
        await frames(socket, is_type("actions"))
        await socket.send_str("hello?")
        await api.post(f"/chats/{chat_id}/messages", {"content": "two"})
        assert said(await frames(socket, is_status("waiting"))) == ["two", "All right."]


async def test_closed_websocket_frees_its_follower(api: ApiClient, replica: TestReplica) -> None:
    chat_id = await start(api)
    async with connect(api, chat_id) as socket:
        await frames(socket, is_type("actions"))
        assert api.adapter.stream_count == 1
    await until_none_follows(api, replica)


async def test_closed_server_says_goodbye_to_websockets(api: ApiClient) -> None:
    chat_id = await start(api)
    async with connect(api, chat_id) as socket:
        await frames(socket, is_type("actions"))
        api.adapter.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            message = await socket.receive()
    assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED)
    assert socket.close_code == 1001


async def test_websocket_without_a_token_or_a_chat_is_refused(api: ApiClient) -> None:
    chat_id = await start(api)
    for client, chat, status in (
        (api.as_caller(None), chat_id, 401),
        (api, "00000000-0000-0000-0000-000000000007", 404),
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await connect(client, chat)
        assert refused.value.status == status
