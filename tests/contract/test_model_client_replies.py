"""Whole replies over the network: every recording, side generations, errors inside a stream."""

from collections.abc import AsyncIterator

import pytest

from engine.chat.content import Finish
from engine.chat.errors import ErrorKind
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelFailure
from tests.contract.test_model_client import KEY, collect, fail, make, prompt
from tests.fakes.model_server import FakeModel, Raw, Refuse
from tests.unit.engine.models import recordings


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start(api_key=KEY) as fake:
        yield fake


@pytest.fixture
async def client(model: FakeModel) -> AsyncIterator[HttpModel]:
    async with model_session() as session:
        yield make(session, model.url)


@pytest.mark.parametrize("name", recordings.names("chat"))
async def test_recorded_reply_arrives_whole_over_the_network(
    client: HttpModel, model: FakeModel, name: str
) -> None:
    expected = recordings.expected(name)
    is_json = name.startswith("51_")
    data = recordings.body(name)
    kind = "application/json" if is_json else "text/event-stream"
    model.script([Raw(data, max(1, len(data) // 37), kind)])
    if expected["finish"] in ("error", "incomplete"):
        partial = (await fail(client)).partial
        assert partial.text == expected["text"]
    else:
        _, result = await collect(client)
        assert result.finish == expected["finish"]
        assert len(result.tool_calls) == len(expected["tool_calls"])


async def test_completion_is_one_request_that_is_not_streamed(
    client: HttpModel, model: FakeModel
) -> None:
    """E38: side generations do not stream."""
    model.aside("Harbour report")
    result = await client.complete(prompt("Title?"))
    assert (result.text, result.finish) == ("Harbour report", Finish.STOP)
    assert result.usage is not None
    assert [seen.is_streamed for seen in model.requests] == [False]


async def test_completion_that_is_refused_fails_alike(client: HttpModel, model: FakeModel) -> None:
    model.aside_script([Refuse(429, headers={"Retry-After": "3"})])
    with pytest.raises(ModelFailure) as caught:
        await client.complete(prompt())
    assert caught.value.retry_after_seconds == 3.0
    assert model.streamed == []


async def test_error_event_inside_a_stream_is_classified_by_its_own_status(
    client: HttpModel, model: FakeModel
) -> None:
    error = b'data: {"error":{"code":429,"message":"slow down","metadata":{"raw":"upstream"}}}\n\n'
    model.script([Raw(error)])
    failure = await fail(client)
    assert (failure.error.kind, failure.error.status_code) == (ErrorKind.RATE_LIMIT, 429)
    assert failure.error.detail == "slow down upstream"


async def test_web_page_as_a_refusal_is_told_by_its_title(
    client: HttpModel, model: FakeModel
) -> None:
    page = "<html><title>502 Bad Gateway</title><body>nginx</body></html>"
    model.script([Refuse(502, body=page)])
    error = (await fail(client)).error
    assert (error.kind, error.detail) == (ErrorKind.TIMEOUT, "502 Bad Gateway")
