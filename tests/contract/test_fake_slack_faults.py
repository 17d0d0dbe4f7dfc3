"""The fake Slack's rate limits and ordered failures, as the real slack_sdk client meets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_server import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@pytest.fixture
async def client(slack: FakeSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(
            token=slack.bot.token, base_url=slack.base_url, session=session, retry_handlers=[]
        )


async def refusal(call: Awaitable[Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_rate_limits_answer_429_with_the_seconds_to_wait(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    slack.rate_limits.enable("users.info", per_minute=2)
    ada = slack.user("Ada")
    await client.users_info(user=ada.id)
    await client.users_info(user=ada.id)
    with pytest.raises(SlackApiError) as caught:
        await client.users_info(user=ada.id)
    assert caught.value.response.status_code == 429
    assert 59 <= int(caught.value.response.headers["Retry-After"]) <= 60
    assert caught.value.response["error"] == "ratelimited"
    slack.clock.advance(60)
    await client.users_info(user=ada.id)
    assert [call.status for call in slack.calls("users.info")] == [200, 200, 429, 200]


async def test_posting_is_limited_per_channel(slack: FakeSlack, client: AsyncWebClient) -> None:
    slack.rate_limits.enable_tiers()
    harbour, lighthouse = slack.channel("harbour"), slack.channel("lighthouse")
    await client.chat_postMessage(channel=harbour.id, text="1")
    assert await refusal(client.chat_postMessage(channel=harbour.id, text="2")) == "ratelimited"
    await client.chat_postMessage(channel=lighthouse.id, text="1")
    slack.clock.advance(1)
    await client.chat_postMessage(channel=harbour.id, text="2")


async def test_ordered_faults_happen_once_and_in_order(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    slack.fail_next("chat.postMessage", status=429, retry_after=2)
    slack.fail_next("chat.postMessage", error="rate_limited")
    slack.fail_next("chat.postMessage", status=503)
    post = client.chat_postMessage
    with pytest.raises(SlackApiError) as caught:
        await post(channel=harbour.id, text="a")
    assert caught.value.response.headers["Retry-After"] == "2"
    assert await refusal(post(channel=harbour.id, text="a")) == "rate_limited"
    with pytest.raises(SlackApiError) as caught:
        await post(channel=harbour.id, text="a")
    assert caught.value.response.status_code == 503
    assert slack.timeline(harbour) == []
    await post(channel=harbour.id, text="a")
    assert len(slack.timeline(harbour)) == 1


async def test_the_sdks_rate_limit_handler_waits_and_succeeds(slack: FakeSlack) -> None:
    harbour = slack.channel("harbour")
    slack.fail_next("chat.postMessage", status=429, retry_after=0)
    client = AsyncWebClient(
        token=slack.bot.token,
        base_url=slack.base_url,
        retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=1)],
    )
    await client.chat_postMessage(channel=harbour.id, text="a")
    assert len(slack.timeline(harbour)) == 1


async def test_a_dropped_connection_may_have_taken_effect_or_not(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    slack.fail_next("chat.postMessage", drop_connection_before_handling=True)
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.chat_postMessage(channel=harbour.id, text="lost")
    assert slack.timeline(harbour) == []
    slack.fail_next("chat.postMessage", drop_connection_after_handling=True)
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.chat_postMessage(channel=harbour.id, text="kept")
    assert [m.text for m in slack.timeline(harbour)] == ["kept"]


async def test_a_hanging_call_goes_on_when_released(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    fault = slack.fail_next("chat.postMessage", hang=True, when=lambda args: args["text"] == "slow")
    await client.chat_postMessage(channel=harbour.id, text="first")
    assert not fault.reached.is_set()
    slow = asyncio.create_task(client.chat_postMessage(channel=harbour.id, text="slow"))
    await fault.reached.wait()
    await client.chat_postMessage(channel=harbour.id, text="fast")
    assert not slow.done()
    fault.release()
    await slow
    assert [m.text for m in slack.timeline(harbour)] == ["first", "fast", "slow"]
