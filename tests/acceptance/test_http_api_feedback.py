"""What people think of replies, over HTTP, as administrators see it."""

from collections.abc import AsyncIterator

import jsonschema
import pytest

from adapters.http.schemas import SCHEMAS
from engine.chat.content import Author
from engine.chat.view import ShownStatus
from tests.acceptance.api_client import ApiClient, serve_api
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

ADA = Author(identity="slack:T1:U1", name="Ada")


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine) as client:
        yield client


async def test_feedback_is_counted_and_shown(api: ApiClient, replica: TestReplica) -> None:
    chat_id = await replica.chat("hello")
    await replica.until(chat_id, ShownStatus.WAITING)
    turn = (await replica.messages(chat_id))[0]
    assert await replica.engine.feedback.put(chat_id, turn.id, ADA, is_good=False, comment="slow")
    reply = await api.call("GET", "/feedback?by=bot")
    assert reply.status == 200
    schema = {"$ref": "#/components/schemas/Feedback", "components": {"schemas": dict(SCHEMAS)}}
    jsonschema.validate(reply.body, schema)
    assert [(row["good"], row["bad"]) for row in reply.body["rows"]] == [(0, 1)]
    (newest,) = reply.body["newest"]
    assert (newest["name"], newest["comment"]) == ("Ada", "slow")
    assert newest["message_id"] == turn.id


@pytest.mark.parametrize(
    ("query", "field"),
    [("by=mood", "by"), ("since=soon", "since"), ("since=2026-02-02&until=2026-01-01", "since")],
)
async def test_what_cannot_be_asked_for_is_told(api: ApiClient, query: str, field: str) -> None:
    reply = await api.call("GET", f"/feedback?{query}")
    assert (reply.status, reply.fields) == (422, [field])
