"""The fake Slack's limits per method, workspace and app, as the real slack_sdk client meets them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_rates import RateLimits
from tests.fakes.slack_server import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start(clock=SlackClock(frozen=True)) as running:
        running.rate_limits.enable_tiers()
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


def client(slack: FakeSlack, session: aiohttp.ClientSession, token: str = "") -> AsyncWebClient:
    return AsyncWebClient(
        token=token or slack.bot.token,
        base_url=slack.base_url,
        session=session,
        retry_handlers=[],
    )


async def passes(app: AsyncWebClient, method: str, **arguments: str) -> bool:
    try:
        await app.api_call(method, json=arguments)
    except SlackApiError as error:
        return not is_limit(error)
    return True


def is_limit(error: SlackApiError) -> bool:
    assert error.response.status_code == 429
    assert error.response["error"] == "ratelimited"
    return int(error.response.headers["Retry-After"]) >= 1


async def test_a_method_of_tier_3_takes_fifty_calls_in_any_minute(
    slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    app, harbour = client(slack, session), slack.channel("harbour")
    ts = str((await app.chat_postMessage(channel=harbour.id, text="hi"))["ts"])
    edit = {"channel": harbour.id, "ts": ts, "text": "ho"}
    assert all([await passes(app, "chat.update", **edit) for _ in range(50)])
    assert not await passes(app, "chat.update", **edit)
    # Refused calls count for nothing, and other methods go on.
    assert await passes(app, "chat.delete", channel=harbour.id, ts=ts)
    slack.clock.advance(59)
    assert not await passes(app, "chat.update", **edit)
    slack.clock.advance(1)
    ts = str((await app.chat_postMessage(channel=harbour.id, text="hi"))["ts"])
    assert await passes(app, "chat.update", **{**edit, "ts": ts})
    assert slack.rate_limits.rejected_methods == {"chat.update": 2}


async def test_workspaces_are_counted_apart(
    slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    slack.rate_limits.enable("auth.test", per_minute=1)
    for token in (slack.bot.token, slack.add_team("T2").bot.token):
        app = client(slack, session, token)
        await app.auth_test()
        with pytest.raises(SlackApiError) as caught:
            await app.auth_test()
        assert is_limit(caught.value)


def test_apps_are_counted_apart() -> None:
    rates = RateLimits(SlackClock(frozen=True), {"chat.update": 3})
    rates.enable("chat.update", per_minute=1)
    assert [rates.admit("chat.update", "T1", app, {}) for app in ("A1", "A2")] == [None, None]
    assert rates.admit("chat.update", "T1", "A1", {}) == 60


async def test_a_workspace_takes_so_many_posts_and_a_channel_one_a_second(
    slack: FakeSlack, session: aiohttp.ClientSession
) -> None:
    slack.rate_limits.enable("chat.postMessage", per_minute=3)
    app = client(slack, session)
    channels = [slack.channel(name) for name in ("harbour", "pier", "quay", "lighthouse")]
    assert await passes(app, "chat.postMessage", channel=channels[0].id, text="hi")
    assert not await passes(app, "chat.postMessage", channel=channels[0].id, text="hi")
    passed = [
        await passes(app, "chat.postMessage", channel=channel.id, text="hi")
        for channel in channels[1:]
    ]
    assert passed == [True, True, False]


async def test_an_accelerated_clock_shortens_the_minute() -> None:
    async with FakeSlack.start(clock=SlackClock(speed=1000)) as slack:
        began = slack.clock.now()
        await slack.clock.sleep_until(began + 30)
        assert 30 <= slack.clock.now() - began < 3000
