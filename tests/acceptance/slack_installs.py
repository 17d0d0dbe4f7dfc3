"""Wren as an app that people install, in a fake Slack with any number of workspaces and apps.

async with serving(slack, model, database_url, installable(slack)) as wren:
    page = await install(wren, slack, "T1")
"""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import aiohttp
from aiohttp import web

from adapters.contract import ChatDefaults
from adapters.slack.adapter import SlackAdapter
from config.secret import Secret
from config.settings import SlackSettings
from config.side_settings import NotificationsSettings
from config.slack_app_settings import InstallPolicy, SlackAppSettings
from tests.acceptance.slack_house import FAST_DELIVERY, House
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica, eventually
from tests.fakes.slack_apps import FakeApp
from tests.fakes.slack_server import CLIENT_ID, CLIENT_SECRET, FakeSlack


def installable(slack: FakeSlack, *, over_sockets: bool = False, **fields: Any) -> SlackSettings:
    """Settings of the first app, for anybody to install."""
    settings = SlackSettings(
        client_id=CLIENT_ID,
        client_secret=Secret(CLIENT_SECRET),
        signing_secret=Secret(slack.signing_secret),
        install=InstallPolicy.OPEN,
        api_url=slack.base_url,
        edit_interval_ms_min=100,
        sockets=1,
    )
    if over_sockets:
        settings = replace(settings, app_token=Secret(slack.app_token))
    return replace(settings, **fields)


def installable_app(app: FakeApp, **fields: Any) -> SlackAppSettings:
    """Settings of another app, for anybody to install."""
    return replace(
        SlackAppSettings(
            client_id=app.client_id,
            client_secret=Secret(app.client_secret),
            signing_secret=Secret(app.signing_secret),
            install=InstallPolicy.OPEN,
            sockets=1,
        ),
        **fields,
    )


@asynccontextmanager
async def serving(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    settings: SlackSettings,
    *,
    redis_url: str | None = None,
    app_defaults: Mapping[str, ChatDefaults] = MappingProxyType({}),
    until_ready: bool = True,
    **replica_options: Any,
) -> AsyncIterator[House]:
    """Run a replica with these apps until the block ends; it knows where people reach it."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        replica = await stack.enter_async_context(
            TestReplica.start(database_url, model.url, redis_url=redis_url, **replica_options)
        )
        adapter = SlackAdapter(
            replica.engine,
            settings,
            FAST_DELIVERY,
            app_defaults=app_defaults,
            notifications=NotificationsSettings(poll_seconds=0.1),
            public_url=url,
        )
        application = web.Application()
        application.add_routes(adapter.routes())
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.SockSite(runner, listener).start()
        slack.http.request_url = f"{url}/slack/events"
        adapter.start()
        stack.push_async_callback(adapter.drain)
        if until_ready:
            await adapter.wait_until_ready()
        yield House(replica=replica, adapter=adapter, url=url)


def a_browser() -> aiohttp.ClientSession:
    """A browser's cookies and patience."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


async def install(
    wren: House,
    slack: FakeSlack,
    team_id: str,
    *,
    app: str = "",
    browser: aiohttp.ClientSession | None = None,
) -> str:
    """Install an app as a person does: the invitation, its button, Slack's question; the last page."""
    slack.oauth.team_id = team_id
    path = f"/slack/install/{app}" if app else "/slack/install"
    async with AsyncExitStack() as stack:
        if browser is None:
            browser = await stack.enter_async_context(a_browser())
        async with browser.get(f"{wren.url}{path}") as invitation:
            assert f'href="{path}?to=slack"' in await invitation.text()
        async with browser.get(f"{wren.url}{path}?to=slack") as last:
            return await last.text()


async def until_ended(wren: House, installation: str) -> str:
    """Wait until an installation is over; why."""

    async def why() -> str | None:
        stored = await wren.engine.installations.read("slack", installation)
        return None if stored is None else stored.ended_why

    return str(await eventually(why))
