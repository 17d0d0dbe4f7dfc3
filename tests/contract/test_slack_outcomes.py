"""What every call to Slack that must not be made twice does when nobody knows whether it was done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from adapters.errors import RateLimited, SurfaceError, Unavailable
from adapters.slack.client import SlackClient, web_client
from adapters.slack.retry_after import SECONDS_MAX, UNSAID_SECONDS
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

Json = dict[str, Any]


class Wren:
    """The bot's client, and what its calls are about."""

    def __init__(self, slack: FakeSlack, client: SlackClient) -> None:
        self.slack = slack
        self.client = client
        self.ada: Person = slack.user("Ada")
        self.harbour: Channel = slack.channel("harbour")
        self.question: Message | None = None

    @property
    def at(self) -> str:
        assert self.question is not None
        return self.question.ts


@pytest.fixture
async def wren() -> AsyncIterator[Wren]:
    async with FakeSlack.start() as slack, aiohttp.ClientSession() as session:
        sdk = web_client(slack.bot.token, api_url=slack.base_url, session=session)
        wren = Wren(slack, SlackClient(sdk))
        wren.question = await wren.ada.say(wren.harbour, "hi")
        yield wren


async def _post(wren: Wren) -> None:
    await wren.client.post_message({"channel": wren.harbour.id, "text": "Hello"})


async def _tell(wren: Wren) -> None:
    await wren.client.post_ephemeral(
        channel=wren.harbour.id, thread="", user=wren.ada.id, text="Hello"
    )


async def _react(wren: Wren) -> None:
    await wren.client.add_reaction(wren.harbour.id, wren.at, "eyes")


async def _open_direct(wren: Wren) -> None:
    await wren.client.open_direct_message(wren.ada.id)


CALLS: dict[str, Callable[[Wren], Awaitable[None]]] = {
    "chat.postMessage": _post,
    "chat.postEphemeral": _tell,
    "reactions.add": _react,
    "conversations.open": _open_direct,
}


async def failure(wren: Wren, method: str) -> SurfaceError:
    with pytest.raises(SurfaceError) as caught:
        await CALLS[method](wren)
    return caught.value


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "fault",
    [
        {"drop_connection_after_handling": True},
        {"drop_connection_before_handling": True},
        {"status": 500},
        {"status": 503},
        {"error": "internal_error"},
        {"error": "fatal_error"},
        {"error": "request_timeout"},
    ],
    ids=str,
)
async def test_a_call_whose_fate_is_unknown_is_made_once_and_said_to_be_unknown(
    wren: Wren, method: str, fault: Json
) -> None:
    """D3: slack.md section 3 no. 4: the SDK sends nothing again by itself."""
    wren.slack.fail_next(method, **fault)
    error = await failure(wren, method)
    assert isinstance(error, Unavailable)
    assert error.outcome_unknown
    assert len(wren.slack.calls(method)) == 1


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    "fault",
    [{"status": 429, "retry_after": 7}, {"error": "ratelimited"}, {"error": "rate_limited"}],
    ids=str,
)
async def test_a_call_that_is_refused_for_being_too_fast_is_known_not_to_be_done(
    wren: Wren, method: str, fault: Json
) -> None:
    """D4: slack.md section 7 no. 12: an answer that is not ok is never taken for done."""
    wren.slack.fail_next(method, **fault)
    error = await failure(wren, method)
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds == (7 if "status" in fault else UNSAID_SECONDS)
    assert len(wren.slack.calls(method)) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Tue, 01 Dec 2026 12:00:30 GMT", UNSAID_SECONDS),
        ("-5", UNSAID_SECONDS),
        ("1000000000", SECONDS_MAX),
    ],
)
async def test_a_retry_after_that_makes_no_sense_is_bounded(
    wren: Wren, said: str, meant: float
) -> None:
    """D4"""
    wren.slack.fail_next("chat.postMessage", status=429, retry_after=said)
    error = await failure(wren, "chat.postMessage")
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds == meant


async def test_what_cannot_be_reached_is_known_not_to_be_done() -> None:
    """D3"""
    async with aiohttp.ClientSession() as session:
        sdk = web_client("xoxb-1", api_url="http://127.0.0.1:1/api/", session=session)
        with pytest.raises(Unavailable) as caught:
            await SlackClient(sdk).post_message({"channel": "C1", "text": "Hello"})
    assert not caught.value.outcome_unknown
