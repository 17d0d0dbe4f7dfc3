"""Bad bodies sent to the HTTP API: malformed, too large, of a wrong shape; each is told what to mend."""

import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.http.endpoints import ENDPOINTS
from tests.acceptance.api_client import ApiClient, serve_api
from tests.acceptance.test_http_api_refusals import filled, make
from tests.fakes.replica import TestReplica

BODIES = [endpoint for endpoint in ENDPOINTS if endpoint.takes]


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiClient]:
    async with (
        TestReplica.start(database_url, works=False) as replica,
        serve_api(replica.engine) as client,
    ):
        yield client


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"content": NaN}',
        b'{"content": 1e999}',
        b'{"content": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"content": ' + b"9" * 5000 + b"}",
        b'{"content": "a"} trailing',
    ],
    ids=["none", "cut", "word", "nan", "inf", "latin", "bom", "deep", "digits", "trailing"],
)
async def test_malformed_json_is_said_with_where(api: ApiClient, data: bytes) -> None:
    for endpoint in BODIES:
        reply = await api.call(endpoint.method, filled(endpoint.path), data=data)
        assert (reply.status, reply.body["code"]) == (400, "malformed_json"), reply
        assert reply.body["detail"]


async def test_body_that_is_not_called_json_is_refused(api: ApiClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for endpoint in BODIES:
        path = filled(endpoint.path)
        reply = await api.call(endpoint.method, path, data=b"a=b", headers=headers)
        assert (reply.status, reply.body["code"]) == (415, "unsupported_media_type")


async def test_json_that_curl_calls_a_form_is_taken(api: ApiClient) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    data = b'{"content": "Good morning"}'
    assert (await api.call("POST", "/chats", data=data, headers=form)).status == 201
    for kind in ("multipart/form-data; boundary=x", "text/plain"):
        reply = await api.call("POST", "/chats", data=data, headers={"Content-Type": kind})
        assert (reply.status, reply.body["code"]) == (415, "unsupported_media_type")


async def test_body_of_ten_megabytes_is_refused(api: ApiClient) -> None:
    body = json.dumps({"content": "a" * 10_000_000}).encode()
    reply = await api.call("POST", "/chats", data=body)
    assert (reply.status, reply.body["code"]) == (413, "body_too_large")
    assert (await api.get("/chats"))["chats"] == []


async def test_body_without_a_length_is_refused_when_it_grows_too_large(api: ApiClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"content": "'
        for _ in range(40):
            yield b"a" * 100_000
        yield b'"}'

    headers = {**api.authorization, "Content-Type": "application/json"}
    async with api.session.post(api.url("/chats"), data=pieces(), headers=headers) as response:
        assert response.status == 413
        assert (await response.json())["code"] == "body_too_large"


async def test_body_that_unfolds_into_too_much_is_refused(api: ApiClient) -> None:
    bomb = gzip.compress(json.dumps({"content": "a" * 10_000_000}).encode())
    assert len(bomb) < 20_000
    reply = await api.call("POST", "/chats", data=bomb, headers={"Content-Encoding": "gzip"})
    assert (reply.status, reply.body["code"]) == (413, "body_too_large")


async def test_body_that_is_not_encoded_as_it_says_is_refused(api: ApiClient) -> None:
    headers = {"Content-Encoding": "gzip"}
    reply = await api.call("POST", "/chats", data=b"not gzip at all", headers=headers)
    assert (reply.status, reply.body["code"]) == (400, "malformed_json")


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
async def test_body_that_is_no_object_is_refused(api: ApiClient, body: Any) -> None:
    reply = await api.call("POST", "/chats", data=json.dumps(body).encode())
    assert (reply.status, reply.fields[0]) == (422, "body")


async def test_unknown_field_is_named_with_the_one_that_was_meant(api: ApiClient) -> None:
    reply = await api.call("POST", "/chats", {"content": "Hello", "lables": {}, "zzz": 1})
    assert (reply.status, reply.body["code"]) == (400, "unknown_fields")
    assert reply.body["validations"] == [
        {"field": "lables", "detail": "is not known here; did you mean labels?"},
        {"field": "zzz", "detail": "is not known here"},
    ]


async def test_all_mistakes_are_told_at_once(api: ApiClient) -> None:
    body = {
        "content": "  ",
        "bot": "nobody",
        "title": "t" * 201,
        "model": 5,
        "labels": {"": "x", "a": 1},
        "dynamic_tools": [{"name": "not a name"}],
    }
    reply = await api.call("POST", "/chats", body)
    assert (reply.status, reply.body["code"]) == (422, "invalid_fields")
    assert set(reply.fields) == {
        "content",
        "bot",
        "title",
        "model",
        "labels.",
        "labels.a",
        "dynamic_tools[0].name",
    }


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        " \n",
        [],
        [{"type": "text", "text": ""}],
        [{"type": "tool-call", "tool_call_id": "x", "tool_name": "y"}],
        [{"type": "text"}],
        [{"type": "text", "text": "a", "html": "b"}],
        [{"type": "file", "name": "a", "media_type": "b", "size": -1}],
        ["text"],
        {"text": "a"},
        7,
        "a\ud800b",
        [{"type": "text", "text": "\udfff"}],
    ],
    ids=repr,
)
async def test_content_that_is_none_is_refused(api: ApiClient, content: Any) -> None:
    """A lone surrogate is no text: 422 naming the field."""
    for path in ("/chats", f"/chats/{await make(api)}/messages"):
        reply = await api.call("POST", path, {"content": content})
        assert reply.status in (400, 422)
        assert reply.fields[0].startswith("content"), reply


async def test_nul_and_other_odd_text_comes_back_as_it_was(api: ApiClient) -> None:
    text = "a\x00b \\u0000 \ue000\ue001 \U0001f9f5 \u202e \x7f"
    chat = await api.post(
        "/chats", {"content": text, "title": "\ue000 \U0001f9f5", "labels": {"k": text}}
    )
    assert (chat["title"], chat["labels"]) == ("\ue000 \U0001f9f5", {"k": text})
    page = await api.get(f"/chats/{chat['id']}/messages")
    assert page["messages"][0]["content"] == [{"type": "text", "text": text}]


async def test_label_whose_key_has_a_nul_is_refused(api: ApiClient) -> None:
    reply = await api.call("POST", "/chats", {"content": "Hello", "labels": {"k\x00": "x"}})
    assert (reply.status, reply.fields) == (422, ["labels.k\x00"])


async def test_value_that_is_nested_too_deeply_is_refused(api: ApiClient) -> None:
    chat_id = await make(api)
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    body = {"results": [{"tool_call_id": "x", "result": deep}]}
    reply = await api.call("POST", f"/chats/{chat_id}/tool-results", body)
    assert (reply.status, reply.fields) == (422, ["results[0].result"])


async def test_results_are_checked_before_they_are_submitted(api: ApiClient) -> None:
    path = f"/chats/{await make(api)}/tool-results"
    assert (await api.call("POST", path, {})).fields == ["results"]
    one = {"tool_call_id": "x", "result": 1}
    assert (await api.call("POST", path, {"results": [one, one]})).fields == ["results"]
    lacking = await api.call("POST", path, {"results": [{"tool_call_id": "x"}]})
    assert lacking.fields == ["results[0].result"]
    idle = await api.call("POST", path, {"results": [one]})
    assert (idle.status, idle.body["code"]) == (409, "no_action_pending")
