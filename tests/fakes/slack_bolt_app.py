"""Owns the bolt side of tests: an app of the real library connected to the fake over its sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_server import FakeSlack


@asynccontextmanager
async def bolt_over_sockets(
    slack: FakeSlack, *, sockets: int = 1, ignores_itself: bool = True
) -> AsyncIterator[AsyncApp]:
    """A connected bolt app; listeners may be added inside the block. No retries, one HTTP session."""
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            token=slack.bot.token, base_url=slack.base_url, session=session, retry_handlers=[]
        )
        bolt = AsyncApp(client=client, ignoring_self_events_enabled=ignores_itself)
        handlers = [AsyncSocketModeHandler(bolt, slack.app_token) for _ in range(sockets)]
        try:
            for handler in handlers:
                await handler.connect_async()  # type: ignore[no-untyped-call]
            await slack.wait_until(lambda: slack.sockets.count >= sockets)
            yield bolt
        finally:
            for handler in handlers:
                await handler.close_async()  # type: ignore[no-untyped-call]
