"""Bad requests to the HTTP API: each gets a clear error of the one shape, and nothing is lost."""

import asyncio
import logging
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from openapi_spec_validator import validate
from yarl import URL

from adapters.http.endpoints import ENDPOINTS
from tests.acceptance.api_client import API, ApiClient, serve_api, until
from tests.fakes.postgres import PostgresServer
from tests.fakes.replica import TestReplica, eventually

NOBODYS = "9f3c1d52-6a57-4c0e-9f0e-2b1c7c1b5e11"
"""A chat that nobody made. Fixed, since every worker must collect the same tests."""
EARLY, LATE = (
    urlsafe_b64encode(f"{time} {NOBODYS}".encode()).decode().rstrip("=")
    for time in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")
)
"""Cursors of times that are there in their own zone only."""
BODIES = [endpoint for endpoint in ENDPOINTS if endpoint.takes]


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiClient]:
    async with (
        TestReplica.start(database_url, works=False) as replica,
        serve_api(replica.engine) as client,
    ):
        yield client


def filled(path: str, chat_id: object = None) -> str:
    """A path of the table with ids in it."""
    path = path.replace("{chat_id}", str(chat_id or uuid4()))
    return re.sub(r"{\w+}", "987654321", path)


async def make(api: ApiClient) -> str:
    return str((await api.post("/chats", {"content": "Good morning"}))["id"])


# -- the document ----------------------------------------------------------------------------------


async def test_document_is_valid_and_needs_no_token(api: ApiClient) -> None:
    reply = await api.as_caller(None).call("GET", "/openapi.json")
    assert (reply.status, reply.body["openapi"]) == (200, "3.1.0")
    validate(reply.body)


async def test_every_documented_route_is_there_and_no_other(api: ApiClient) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    documented = {
        (method.upper(), path.removeprefix(API))
        for path, item in document["paths"].items()
        for method in item
    }
    assert documented == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    for method, path in documented:
        reply = await api.as_caller(None).call(method, filled(path))
        assert reply.body["code"] == "unauthorized", (method, path)


async def test_statuses_of_errors_are_documented(api: ApiClient) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    chat_id = await make(api)
    for endpoint in ENDPOINTS:
        if endpoint.is_stream:
            continue
        reply = await api.call(
            endpoint.method,
            filled(endpoint.path, chat_id),
            [] if endpoint.takes else None,
        )
        item = document["paths"][API + endpoint.path][endpoint.method.lower()]
        assert str(reply.status) in item["responses"], (endpoint.name, reply)


# -- who calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic YWRtaW46eA==", "Bearer ünïcode"],
)
async def test_request_without_a_valid_token_is_refused(
    api: ApiClient, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    reply = await api.as_caller(None).call("GET", "/chats", headers=headers)
    assert (reply.status, reply.body["code"]) == (401, "unauthorized")
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")


async def test_guessing_tokens_is_logged_once_in_a_while_and_without_them(
    api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    for guess in ("guess-1", "guess-2", "guess-3"):
        await api.as_caller(guess).call("GET", "/chats")
    (record,) = [r for r in caplog.records if r.__dict__.get("action") == "auth_failed"]
    assert record.levelname == "WARNING"
    assert "guess" not in str(record.__dict__)


async def test_without_an_admin_token_nobody_is_the_admin(database_url: str) -> None:
    async with (
        TestReplica.start(database_url, works=False) as replica,
        serve_api(replica.engine, admin_token=None) as api,
    ):
        for token in ("", "None", "admin"):
            assert (await api.as_caller(token).call("GET", "/tokens")).status == 401


# -- what is called --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/", "/nothing", "/chats/", f"/chats/{NOBODYS}/nothing"])
async def test_unknown_path_is_not_found(api: ApiClient, path: str) -> None:
    reply = await api.call("GET", path)
    assert (reply.status, reply.body["code"]) == (404, "not_found")


async def test_wrong_method_says_which_ones_go(api: ApiClient) -> None:
    reply = await api.call("PUT", "/chats")
    assert (reply.status, reply.body["code"]) == (405, "method_not_allowed")
    assert reply.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize("chat_id", [str(UUID(int=7)), "not-a-chat", "00", "%00"])
async def test_chat_that_is_not_there_is_not_found(api: ApiClient, chat_id: str) -> None:
    bodies: dict[str, Any] = {
        "NewMessage": {"content": "Hello"},
        "MessageEdit": {"content": "Hello"},
        "QueuedEdit": {"content": "Hello"},
        "ToolResults": {"results": []},
        "ActionAnswer": {"result": 1},
        "ChatChange": {"title": "Hello"},
        "ReadMark": {},
    }
    for endpoint in ENDPOINTS:
        if "{chat_id}" in endpoint.path:
            path = filled(endpoint.path.replace("{chat_id}", chat_id))
            reply = await api.call(endpoint.method, path, bodies.get(endpoint.takes or ""))
            assert (reply.status, reply.body["code"]) == (404, "not_found"), endpoint.name


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "1.5", "٣"])
async def test_message_that_is_not_there_is_not_found(api: ApiClient, number: str) -> None:
    chat_id = await make(api)
    reply = await api.call("PATCH", f"/chats/{chat_id}/messages/{number}", {"content": "Hello"})
    assert reply.status == 404


# -- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "a" * 256, "ü", "a\tb"])
async def test_idempotency_key_that_is_none_is_refused(api: ApiClient, key: str) -> None:
    reply = await api.call("POST", "/chats", {"content": "Hello"}, headers={"Idempotency-Key": key})
    assert (reply.status, reply.fields) == (422, ["Idempotency-Key"])


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/chats", ("limit", "0"), "limit"),
        ("/chats", ("limit", "201"), "limit"),
        ("/chats", ("limit", "x"), "limit"),
        ("/chats", ("cursor", "x"), "cursor"),
        ("/chats", ("cursor", "MjAyNi0xMi0wMVQwMDowMDowMA"), "cursor"),
        ("/chats", ("cursor", EARLY), "cursor"),
        ("/chats", ("cursor", LATE), "cursor"),
        ("/chats", ("archived", "maybe"), "archived"),
        ("/chats", ("label", "novalue"), "label"),
        ("/chats", ("lable", "a:b"), "lable"),
        ("/chats/{chat_id}", ("expand", "all"), "expand"),
        ("/chats/{chat_id}/messages", ("before", "x"), "before"),
        ("/chats/{chat_id}/messages", ("after", "-1"), "after"),
        ("/chats/{chat_id}/messages", ("before", str(2**63)), "before"),
        ("/chats/{chat_id}/messages", ("after", "9" * 30), "after"),
        ("/chats/{chat_id}/actions", ("state", "closed"), "state"),
        ("/chats/{chat_id}/stream", ("after_id", "x"), "after_id"),
        ("/chats/{chat_id}/stream", ("after_id", str(2**63)), "after_id"),
    ],
)
async def test_query_that_says_nothing_is_refused(
    api: ApiClient, path: str, query: tuple[str, str], field: str
) -> None:
    reply = await api.call("GET", filled(path, await make(api)), params=[query])
    assert reply.status in (400, 422)
    assert reply.fields == [field]


async def test_before_and_after_do_not_go_together(api: ApiClient) -> None:
    path = f"/chats/{await make(api)}/messages"
    reply = await api.call("GET", path, params=[("before", "1"), ("after", "1")])
    assert (reply.status, reply.fields) == (422, ["after"])


# -- a bad day -------------------------------------------------------------------------------------


async def test_client_that_dribbles_is_let_go(database_url: str) -> None:
    async with (
        TestReplica.start(database_url, works=False) as replica,
        serve_api(replica.engine, body_seconds=0.05) as api,
    ):
        url = URL(api.base)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(
            f"POST {API}/chats HTTP/1.1\r\nHost: wren\r\nContent-Length: 100\r\n"
            f"Authorization: Bearer {api.token}\r\n"
            'Content-Type: application/json\r\n\r\n{"content"'.encode()
        )
        assert b" 408 " in await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_client_that_leaves_amid_its_body_is_no_error(
    api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="adapters.http")
    url = URL(api.base)
    _, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(
        f"POST {API}/chats HTTP/1.1\r\nHost: wren\r\nContent-Length: 100\r\n"
        f"Authorization: Bearer {api.token}\r\n"
        'Content-Type: application/json\r\n\r\n{"content"'.encode()
    )
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    async def records() -> list[logging.LogRecord]:
        return [r for r in caplog.records if r.name.startswith("adapters.http")]

    told = await eventually(records)
    assert [(r.levelname, r.__dict__["action"]) for r in told] == [("DEBUG", "http_client_left")]


async def test_database_that_is_away_is_said_with_when_to_come_back(
    api: ApiClient, postgres: PostgresServer
) -> None:
    chat_id = await make(api)
    postgres.stop()
    reply = await api.call("POST", f"/chats/{chat_id}/messages", {"content": "Hello"})
    assert (reply.status, reply.body["code"]) == (503, "unavailable")
    assert int(reply.headers["Retry-After"]) > 0
    assert set(reply.body) == {"code", "message"}
    postgres.start()
    await until(api, chat_id, "pending")


async def test_fault_of_ours_is_a_plain_500_without_a_trace(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_args: object, **_named: object) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("engine.api.Engine.read_listed", fail)
    reply = await api.call("GET", f"/chats/{uuid4()}")
    assert reply.status == 500
    assert reply.body == {"code": "internal", "message": "Something went wrong here."}
    assert [record.__dict__["action"] for record in caplog.records] == ["http_failed"]
