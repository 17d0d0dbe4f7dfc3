"""The fake Slack's OAuth, called by the real slack_sdk: what works once works once, what is dead stays dead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_server import CLIENT_ID, CLIENT_SECRET, FakeSlack

BACK = "https://wren.example/slack/oauth_redirect"


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start(clock=SlackClock(frozen=True)) as running:
        yield running


@pytest.fixture
async def client(slack: FakeSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(base_url=slack.base_url, session=session, retry_handlers=[])


async def access(client: AsyncWebClient, **given: str) -> Any:
    form = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **given}
    return await client.api_call("oauth.v2.access", data=form)


async def refused(client: AsyncWebClient, **given: str) -> str:
    with pytest.raises(SlackApiError) as error:
        await access(client, **given)
    return str(error.value.response["error"])


async def test_a_code_gives_the_bots_token_once(slack: FakeSlack, client: AsyncWebClient) -> None:
    code = slack.oauth.new_code(CLIENT_ID, BACK)
    answer = await access(client, code=code, redirect_uri=BACK)
    assert answer["access_token"] == slack.bot.token
    assert answer["token_type"] == "bot"
    assert (answer["team"]["id"], answer["bot_user_id"]) == ("T1", slack.bot.user_id)
    assert answer["is_enterprise_install"] is False
    assert "refresh_token" not in answer.data
    assert await refused(client, code=code, redirect_uri=BACK) == "code_already_used"


async def test_what_a_code_does_not_fit_is_refused(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    code = slack.oauth.new_code(CLIENT_ID, BACK)
    assert await refused(client, code="made.up", redirect_uri=BACK) == "invalid_code"
    assert await refused(client, code=code, redirect_uri=f"{BACK}/x") == "bad_redirect_uri"
    assert await refused(client, code=code, client_id="99.99") == "invalid_client_id"
    assert await refused(client, code=code, client_secret="guess") == "bad_client_secret"
    slack.clock.advance(601)
    assert await refused(client, code=code, redirect_uri=BACK) == "invalid_code"


async def test_tokens_that_rotate_expire_and_are_renewed_once(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    slack.oauth.rotates = True
    code = slack.oauth.new_code(CLIENT_ID, BACK)
    first = await access(client, code=code, redirect_uri=BACK)
    assert first["expires_in"] == 43_200
    second = await access(client, grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert second["access_token"] != first["access_token"]
    again = await refused(client, grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert again == "invalid_refresh_token"
    # The former token lives on until its own end.
    assert (await client.auth_test(token=first["access_token"]))["bot_id"] == slack.bot.bot_id
    slack.clock.advance(43_201)
    with pytest.raises(SlackApiError) as error:
        await client.auth_test(token=second["access_token"])
    assert error.value.response["error"] == "token_expired"


async def test_a_token_that_is_revoked_or_uninstalled_is_dead(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    other = slack.add_team("T2")
    await client.auth_revoke(token=slack.bot.token)
    slack.uninstall(other, tells=False)
    for token in (slack.bot.token, other.bot.token):
        with pytest.raises(SlackApiError) as error:
            await client.auth_test(token=token)
        assert error.value.response["error"] == "token_revoked"
    code = slack.oauth.new_code(CLIENT_ID, BACK)
    answer = await access(client, code=code, redirect_uri=BACK)
    assert (await client.auth_test(token=answer["access_token"]))["team_id"] == "T1"


async def test_slacks_question_sends_the_person_back(slack: FakeSlack) -> None:
    asked = {"client_id": CLIENT_ID, "scope": "chat:write", "state": "s", "redirect_uri": BACK}
    async with aiohttp.ClientSession() as browser:
        address = f"{slack.origin}/oauth/v2/authorize"
        async with browser.get(address, params=asked, allow_redirects=False) as answer:
            assert answer.headers["Location"].startswith(f"{BACK}?state=s&code=")
        slack.oauth.consents = False
        async with browser.get(address, params=asked, allow_redirects=False) as answer:
            assert answer.headers["Location"] == f"{BACK}?state=s&error=access_denied"
        async with browser.get(address, params={**asked, "client_id": "9"}) as answer:
            assert answer.status == 400


async def test_another_app_has_its_own_bot_tokens_and_sockets(slack: FakeSlack) -> None:
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    async with aiohttp.ClientSession() as session:
        ours = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url, session=session)
        theirs = AsyncWebClient(token=there.bot.token, base_url=slack.base_url, session=session)
        assert (await ours.auth_test())["user_id"] != (await theirs.auth_test())["user_id"]
        opened = await theirs.apps_connections_open(app_token=tugboat.app_token)
        async with session.ws_connect(opened["url"]) as socket:
            await socket.receive_json()
            assert (slack.sockets.count, tugboat.sockets.count) == (0, 1)
