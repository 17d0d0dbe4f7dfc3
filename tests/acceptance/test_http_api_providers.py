"""Providers, models and keys over the API: administered by administrators, seen by everybody, keys by nobody."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from config.secret import Secret
from tests.acceptance.api_client import ApiClient, serve_api, until
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica, eventually, settings_for

PLANTED = "planted-key-0123456789-of-the-harbour"
UNKNOWN = "00000000-0000-4000-8000-000000000007"
PROVIDER = {
    "name": "harbour",
    "wire": "chat_completions",
    "base_url": "https://harbour.example/v1",
    "api_key": PLANTED,
    "headers": {"X-Team": PLANTED},
}


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiClient]:
    async with (
        TestReplica.start(database_url, works=False) as replica,
        serve_api(replica.engine) as client,
    ):
        yield client


async def client_of(api: ApiClient) -> ApiClient:
    """The same API, called with a token that administers nothing."""
    made = await api.post("/tokens", {"name": "a program"})
    return api.as_caller(made["token"])


async def test_provider_is_made_changed_and_removed(api: ApiClient) -> None:
    made = await api.post("/providers", PROVIDER)
    assert (made["name"], made["has_key"], made["has_headers"]) == ("harbour", True, True)
    reply = await api.call(
        "PATCH", "/providers/harbour", {"display_name": "Harbour", "api_key": None}
    )
    assert (reply.status, reply.body["display_name"], reply.body["has_key"]) == (
        200,
        "Harbour",
        False,
    )
    model = await api.post("/models", {"provider": "harbour", "name": "m", "context_limit": 9000})
    assert (model["reference"], model["is_default"], model["input_price"]) == (
        "harbour:m",
        True,
        None,
    )
    reply = await api.call(
        "PATCH", f"/models/{model['id']}", {"input_price": 0.15, "output_price": 0}
    )
    assert reply.body["input_price"] == 0.15
    (listed,) = (await api.get("/providers"))["providers"]
    assert [each["reference"] for each in listed["models"]] == ["harbour:m"]
    assert (await api.call("DELETE", f"/models/{model['id']}")).status == 204
    assert (await api.call("DELETE", "/providers/harbour")).status == 204
    assert (await api.get("/providers"))["providers"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong"),
    [
        ("POST", "/providers", {}, (422, ["name", "wire"])),
        ("POST", "/providers", {**PROVIDER, "name": "new", "colour": 1}, (400, ["colour"])),
        ("POST", "/providers", {**PROVIDER, "name": "new", "base_url": "x"}, (422, ["base_url"])),
        ("POST", "/providers", PROVIDER, (409, [])),
        ("PATCH", "/providers/nobody", {}, (404, [])),
        ("PATCH", "/providers/harbour", {"central_key_enabled": False}, (422, ["central_key_enabled"])),
        ("DELETE", "/providers/nobody", None, (404, [])),
        ("POST", "/models", {"provider": "x", "name": "m", "context_limit": 9000}, (422, ["provider"])),
        ("POST", "/models", {"name": "m", "context_limit": 9000}, (422, ["provider"])),
        ("POST", "/models", {"provider": "harbour"}, (422, ["name", "context_limit"])),
        ("PATCH", f"/models/{UNKNOWN}", {}, (404, [])),
        ("PATCH", "/models/seven", {}, (404, [])),
        ("DELETE", f"/models/{UNKNOWN}", None, (404, [])),
        ("PUT", "/providers/harbour/keys/slack:T:U", {"api_key": "k"}, (409, [])),
        ("PUT", "/providers/harbour/keys/slack:T:U", {"api_key": 5}, (422, ["api_key"])),
        ("PUT", "/providers/nobody/keys/slack:T:U", {"api_key": "k"}, (404, [])),
        ("DELETE", "/providers/harbour/keys/slack:T:U", None, (404, [])),
    ],
)  # fmt: skip
async def test_mistake_is_refused_with_its_fields(
    api: ApiClient, method: str, path: str, body: Any, wrong: tuple[int, list[str]]
) -> None:
    await api.post("/providers", PROVIDER)
    reply = await api.call(method, path, body)
    assert (reply.status, reply.fields) == wrong, reply
    assert reply.body["message"]


async def test_chat_is_not_given_a_model_that_nobody_has_or_that_several_have(
    api: ApiClient,
) -> None:
    for name in ("harbour", "quay"):
        await api.post("/providers", {**PROVIDER, "name": name})
        await api.post("/models", {"provider": name, "name": "m", "context_limit": 9000})
    chat = await api.post("/chats", {"content": "hello", "model": "harbour:m"})
    for model, told in (
        ("harbour:n", "There is no model harbour:n. There is: harbour:m, quay:m"),
        ("m", "Ask for one of: harbour:m, quay:m."),
    ):
        made = await api.call("POST", "/chats", {"content": "hello", "model": model})
        changed = await api.call("PATCH", f"/chats/{chat['id']}", {"model": model})
        for reply in (made, changed):
            assert (reply.status, reply.fields) == (422, ["model"])
            assert told in reply.body["validations"][0]["detail"]
    assert len((await api.get("/chats"))["chats"]) == 1
    moved = await api.call("PATCH", f"/chats/{chat['id']}", {"model": "quay:m"})
    assert (moved.status, moved.body["model"]) == (200, "quay:m")


async def test_only_administrators_change_anything_and_everybody_sees_the_models(
    api: ApiClient,
) -> None:
    await api.post("/providers", PROVIDER)
    await api.post("/models", {"provider": "harbour", "name": "m", "context_limit": 9000})
    program = await client_of(api)
    for method, path, body in (
        ("GET", "/providers", None),
        ("POST", "/providers", PROVIDER),
        ("PATCH", "/providers/harbour", {}),
        ("DELETE", "/providers/harbour", None),
        ("POST", "/models", {}),
        ("PATCH", f"/models/{UNKNOWN}", {}),
        ("DELETE", f"/models/{UNKNOWN}", None),
        ("PUT", "/providers/harbour/keys/slack:T:x", {"api_key": "k"}),
        ("DELETE", "/providers/harbour/keys/slack:T:x", None),
    ):
        assert (await program.call(method, path, body)).status == 403, (method, path)
    models = (await program.get("/models"))["models"]
    assert [(each["reference"], each["is_default"]) for each in models] == [
        ("harbour:m", True),
        ("openai:test-model", False),
    ]


async def test_models_say_whether_they_would_answer_and_why_not(api: ApiClient) -> None:
    keys = {"central_key_enabled": False, "user_key_allowed": True}
    for name, fields in {"off": {"enabled": False}, "none": {"api_key": None}, "own": keys}.items():
        await api.post("/providers", {**PROVIDER, "name": name, **fields})
        await api.post("/models", {"provider": name, "name": "m", "context_limit": 9000})
    program = await client_of(api)

    async def why_not() -> dict[str, Any]:
        models = (await program.get("/models"))["models"]
        assert all(each["is_available"] == (each["why_not"] is None) for each in models)
        return {each["provider"]: each["why_not"] for each in models if each["id"]}

    assert await why_not() == {
        "off": "provider_disabled",
        "none": "missing_api_key",
        "own": "user_api_key_required",
    }
    (token,) = (await api.get("/tokens"))["tokens"]
    path = f"/providers/own/keys/api:token:{token['id']}"
    assert (await api.call("PUT", path, {"api_key": PLANTED})).status == 204
    assert (await why_not())["own"] is None
    assert (await api.call("DELETE", path)).status == 204
    assert (await why_not())["own"] == "user_api_key_required"


async def test_key_is_in_no_answer_and_in_no_log(
    api: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    own = {"user_key_allowed": True}
    replies = [
        await api.call("POST", "/providers", {**PROVIDER, **own}),
        await api.call("POST", "/providers", {**PROVIDER, **own}),
        await api.call("POST", "/providers", {**PROVIDER, "name": "B A D"}),
        await api.call("PATCH", "/providers/harbour", {"api_key": PLANTED, "wire": PLANTED}),
        await api.call("PATCH", "/providers/harbour", {"api_key": PLANTED + "\n\u0000x"}),
        await api.call("PATCH", "/providers/harbour", {"headers": {"X": PLANTED, "a b": PLANTED}}),
        await api.call("PUT", "/providers/harbour/keys/slack:T:x", {"api_key": PLANTED}),
        await api.call("PUT", "/providers/nobody/keys/slack:T:x", {"api_key": PLANTED}),
        await api.call("GET", "/providers"),
        await api.call("GET", "/models"),
    ]
    assert {reply.status for reply in replies} == {200, 201, 204, 404, 409, 422}
    assert PLANTED not in json.dumps([reply.body for reply in replies])
    assert PLANTED not in caplog.text
    assert all(PLANTED not in str(record.__dict__) for record in caplog.records)


async def test_without_a_secret_key_a_key_is_refused_with_how_to_mend_it(database_url: str) -> None:
    settings = replace(settings_for(), secret_key=None)
    async with (
        TestReplica.start(database_url, works=False, settings=settings) as replica,
        serve_api(replica.engine) as api,
    ):
        reply = await api.call("POST", "/providers", PROVIDER)
        assert (reply.status, reply.body["code"]) == (409, "secret_key_missing")
        assert "THREADWRIGHT_SECRET_KEY" in reply.body["message"]


async def settled(api: ApiClient) -> Any:
    """A new chat, once it is answered or cannot be."""
    chat = await api.post("/chats", {"content": "Hello?"})

    async def met() -> Any:
        shown = await api.get(f"/chats/{chat['id']}")
        return shown if shown["status"] in ("waiting", "error") else None

    return await eventually(met)


async def test_change_over_the_api_takes_effect_on_another_replica(
    database_url: str, model: FakeModel
) -> None:
    plain = settings_for()
    settings = replace(plain, model=replace(plain.model, base_url=model.url, api_key=Secret("sk")))
    async with (
        TestReplica.start(database_url, settings=settings),
        TestReplica.start(database_url, works=False) as elsewhere,
        serve_api(elsewhere.engine) as api,
    ):
        chat = await api.post("/chats", {"content": "Good morning"})
        await until(api, chat["id"], "waiting")
        await api.post("/providers", {**PROVIDER, "base_url": model.url})
        await api.post("/models", {"provider": "harbour", "name": "next", "context_limit": 9000})
        async with asyncio.timeout(15):
            while model.streamed[-1].body["model"] != "next":
                await api.post(f"/chats/{chat['id']}/messages", {"content": "And now?"})
                await until(api, chat["id"], "waiting")
        assert model.streamed[-1].headers["Authorization"] == f"Bearer {PLANTED}"
        await api.call("PATCH", "/providers/harbour", {"enabled": False})
        async with asyncio.timeout(15):
            while (shown := await settled(api))["status"] != "error":
                pass
        count = len(model.requests)
        shown = await settled(api)
        assert shown["last_error"]["kind"] == "provider_disabled"
        assert len(model.requests) == count
