"""The fake Slack's signed HTTP deliveries, received by bolt and by bare servers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_deliveries import DeliveryState
from tests.fakes.slack_http_events import sign
from tests.fakes.slack_server import FakeSlack

Json = dict[str, Any]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    finally:
        await runner.cleanup()


@dataclass(slots=True)
class Receiver:
    """A request URL that answers as the test says and keeps what came."""

    answer: Callable[[int], web.Response]
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    slow_first: asyncio.Event | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/slack/events", self._receive)
        return app

    async def _receive(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        self.reached.set()
        number = len(self.requests)
        if number == 1 and self.slow_first is not None:
            await self.slow_first.wait()
        return self.answer(number)


async def test_bolt_accepts_signed_events_interactions_and_commands(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url, session=session)
        bolt = AsyncApp(client=client, signing_secret=slack.signing_secret)
        heard: list[str] = []

        @bolt.event(re.compile(".*"))
        async def hear(event: Json) -> None:
            heard.append(event["type"])
            slack.touch()

        @bolt.command("/wren")
        async def command(ack: Any) -> None:
            await ack("at your service")

        async with serving(bolt.web_app(path="/slack/events")) as url:
            assert await slack.http.verify_url(url)
            slack.use_http(url)
            ada, harbour = slack.user("Ada"), slack.channel("harbour")
            await ada.say(harbour, "<@BOT> hi")
            await slack.wait_until(lambda: len(heard) == 2)
            await slack.wait_until_settled()
            await ada.command("/wren", "", harbour)
            assert [m.plain for m in slack.ephemerals(ada)] == ["at your service"]
    assert sorted(heard) == ["app_mention", "message"]


async def test_a_wrong_secret_is_refused_by_bolt(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url, session=session)
        bolt = AsyncApp(client=client, signing_secret="another secret")
        async with serving(bolt.web_app(path="/slack/events")) as url:
            delivery = await slack.deliver_http(url, {"type": "event_callback"})
    assert delivery.attempts[0].status == 401


async def test_signatures_are_those_the_sdk_verifies(slack: FakeSlack) -> None:
    receiver = Receiver(lambda _: web.Response())
    async with serving(receiver.application()) as url:
        delivery = await slack.deliver_http(url, {"event_id": "Ev1"})
    headers, body = receiver.requests[0]
    assert delivery.is_acked
    assert SignatureVerifier(slack.signing_secret).is_valid_request(body, headers)
    assert not SignatureVerifier("other").is_valid_request(body, headers)
    assert sign("s", 1, b"x").startswith("v0=")


async def test_failures_are_repeated_at_once_after_a_minute_and_after_five(
    slack: FakeSlack,
) -> None:
    receiver = Receiver(lambda _: web.Response(status=500))
    async with serving(receiver.application()) as url:
        delivery = await slack.deliver_http(url, {"event_id": "Ev1"})
        await slack.wait_until(lambda: len(receiver.requests) == 2)
        slack.clock.advance(60)
        await slack.wait_until(lambda: len(receiver.requests) == 3)
        slack.clock.advance(300)
        await delivery.settled()
    assert delivery.state is DeliveryState.LOST
    numbers = [headers.get("X-Slack-Retry-Num") for headers, _ in receiver.requests]
    reasons = [headers.get("X-Slack-Retry-Reason") for headers, _ in receiver.requests]
    assert numbers == [None, "1", "2", "3"]
    assert reasons == [None, "http_error", "http_error", "http_error"]
    assert len({body for _, body in receiver.requests}) == 1


async def test_a_slow_answer_is_repeated_while_the_first_still_runs(slack: FakeSlack) -> None:
    release = asyncio.Event()
    receiver = Receiver(lambda _: web.Response(), slow_first=release)
    async with serving(receiver.application()) as url:
        delivering = asyncio.create_task(slack.deliver_http(url, {"event_id": "Ev1"}))
        await receiver.reached.wait()
        slack.clock.advance(3)
        delivery = await delivering
        await delivery.settled()
        release.set()
    assert delivery.is_acked
    assert [attempt.retry_reason for attempt in delivery.attempts] == ["", "http_timeout"]


async def test_no_retry_ends_the_repeats_and_dead_ports_are_connection_failures(
    slack: FakeSlack,
) -> None:
    receiver = Receiver(lambda _: web.Response(status=503, headers={"X-Slack-No-Retry": "1"}))
    async with serving(receiver.application()) as url:
        delivery = await slack.deliver_http(url, {"event_id": "Ev1"})
        await delivery.settled()
    assert delivery.state is DeliveryState.LOST
    assert len(delivery.attempts) == 1
    dead = await slack.deliver_http(url, {"event_id": "Ev2"})
    await slack.wait_until(lambda: len(dead.attempts) == 2)
    assert dead.attempts[1].retry_reason == "connection_failed"


async def test_an_app_that_comes_back_gets_the_repeat(slack: FakeSlack) -> None:
    receiver = Receiver(lambda number: web.Response(status=500 if number < 3 else 200))
    async with serving(receiver.application()) as url:
        slack.use_http(url)
        await slack.user("Ada").say(slack.channel("harbour"), "hello?")
        await slack.wait_until(lambda: len(receiver.requests) == 2)
        slack.clock.advance(60)
        await slack.wait_until_settled()
    (delivery,) = slack.deliveries
    assert delivery.is_acked
    assert [attempt.status for attempt in delivery.attempts] == [500, 500, 200]
