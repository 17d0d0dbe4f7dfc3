"""Socket Mode: open sockets to Slack, watched, so that one that goes deaf is replaced.

Slack sends each delivery to one of an app's sockets, whichever replica holds it, and promises no order
between sockets. One per process keeps the order of what comes to it; what Slack could not deliver while
it is renewed, as it must be every few hours, comes afterwards.
"""

import asyncio
import logging
from collections.abc import Callable

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.client import sdk_logger

logger = logging.getLogger(__name__)

SOCKETS = 1
PING_SECONDS = 5.0
WATCH_SECONDS = 10.0
DEAF_SECONDS_MAX = 60.0
"""The SDK reconnects by itself; a socket that has not for so long is thrown away."""


class SocketMode:
    """Keeps `SOCKETS` sockets open while `run` runs."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        sdk: AsyncWebClient,
        *,
        clock: Callable[[], float],
        sockets: int = SOCKETS,
    ) -> None:
        self._app = app
        self._app_token = app_token
        self._sdk = sdk
        self._clock = clock
        self._sockets = sockets
        self._connected: set[int] = set()
        self.first_connected = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether at least one socket listens."""
        return bool(self._connected)

    async def run(self) -> None:
        """Listen until cancelled; what is being stored then is not acknowledged."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._sockets):
                tasks.create_task(self._keep_open(number))

    async def _keep_open(self, number: int) -> None:
        while True:
            handler = AsyncSocketModeHandler(
                self._app,
                self._app_token,
                logger=sdk_logger(),
                web_client=self._sdk,
                ping_interval=PING_SECONDS,
            )
            try:
                await handler.connect_async()  # type: ignore[no-untyped-call]
                await self._watch(handler, number)
            finally:
                self._connected.discard(number)
                await _close(handler)
            logger.warning("socket replaced", extra={"action": "slack_socket_replaced"})

    async def _watch(self, handler: AsyncSocketModeHandler, number: int) -> None:
        """Return once the socket has been deaf for too long."""
        heard_at = self._clock()
        while self._clock() - heard_at < DEAF_SECONDS_MAX:
            if await handler.client.is_connected():
                heard_at = self._clock()
                self._connected.add(number)
                self.first_connected.set()
            else:
                self._connected.discard(number)
            await asyncio.sleep(WATCH_SECONDS)


async def _close(handler: AsyncSocketModeHandler) -> None:
    """Close for good, and wait for the SDK's tasks, which its own close only cancels."""
    client = handler.client
    tasks = [client.message_processor, client.current_session_monitor, client.message_receiver]
    await handler.close_async()  # type: ignore[no-untyped-call]
    started = [task for task in tasks if task is not None]
    await asyncio.gather(*started, return_exceptions=True)
