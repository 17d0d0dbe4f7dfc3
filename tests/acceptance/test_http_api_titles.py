"""Titles over the HTTP API: the first words at once, and a new one for whoever asks."""

from collections.abc import AsyncIterator

import pytest

from tests.acceptance.api_client import ApiClient, serve_api
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica, eventually


@pytest.fixture
async def api(database_url: str, model: FakeModel) -> AsyncIterator[ApiClient]:
    async with (
        TestReplica.start(database_url, model.url) as replica,
        serve_api(replica.engine) as client,
    ):
        yield client


async def test_title_is_made_anew_on_request(api: ApiClient, model: FakeModel) -> None:
    created = await api.call(
        "POST", "/chats", {"content": "Why does the light blink so much today?"}
    )
    path = f"/chats/{created.body['id']}"
    assert created.body["title"] == "Why does the light blink so…"
    model.aside("The blinking light")
    reply = await api.call("POST", f"{path}/title/regenerate")
    assert (reply.status, reply.body) == (202, None)

    async def is_named() -> bool:
        return bool((await api.call("GET", path)).body["title"] == "The blinking light")

    await eventually(is_named)


async def test_title_of_no_chat_or_an_archived_one_is_not_made(api: ApiClient) -> None:
    nowhere = "/chats/00000000-0000-4000-8000-00000000abcd/title/regenerate"
    assert (await api.call("POST", nowhere)).status == 404
    created = await api.call("POST", "/chats", {"content": "Hello"})
    path = f"/chats/{created.body['id']}"
    await api.call("POST", f"{path}/archive")
    reply = await api.call("POST", f"{path}/title/regenerate")
    assert (reply.status, reply.body["code"]) == (409, "archived")
