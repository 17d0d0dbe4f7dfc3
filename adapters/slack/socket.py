"""One Socket Mode connection, from its opening to its end. It is never repaired: a new one takes its place.

The SDK's client repairs a connection by closing it first, so that nothing listens in between, and may
send an acknowledgement over a connection that did not bring the envelope. So here it may not repair: it
tells when it should be replaced, and its acknowledgements go the way that the envelope came.
"""

import asyncio
import logging
from enum import StrEnum
from typing import Any, Final

from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.client import error_of, sdk_logger
from adapters.slack.wire import text_at

logger = logging.getLogger(__name__)

PING_SECONDS: Final = 5.0
"""A connection whose pings stay unanswered for four times as long is lost, says the SDK."""
WATCH_SECONDS: Final = 1.0
"""How often a connection is looked at that has broken without a word."""
OPEN_SECONDS_MAX: Final = 20.0
"""From asking for an address to Slack's hello."""
ACK_SECONDS_MAX: Final = 3.0
"""How long a connection that is being replaced waits for what it has begun: as long as Slack does."""


class Parting(StrEnum):
    """Why a connection is to be replaced: Slack's own words, and what Slack does not say."""

    WARNING = "warning"
    REFRESH = "refresh_requested"
    LINK_DISABLED = "link_disabled"
    TOO_MANY = "too_many_websockets"
    LOST = "lost"
    AGED = "aged"


class NotOpened(Exception):
    """No connection. `code` says why: Slack's error code, or the error's name."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Socket:
    """A connection that delivers to a bolt app. `open` it once; `ended` tells when it needs a successor."""

    def __init__(self, app: AsyncApp, app_token: str, sdk: AsyncWebClient) -> None:
        self._app = app
        self._client = _Client(
            app_token=app_token,
            logger=sdk_logger(),
            web_client=sdk,
            auto_reconnect_enabled=False,
            ping_interval=PING_SECONDS,
        )
        self._client.socket_mode_request_listeners.append(self._serve)
        self._in_flight = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @property
    def hears(self) -> bool:
        """Whether anything can come by this connection, as far as is known."""
        session = self._client.current_session
        return session is not None and not session.closed

    async def open(self) -> None:
        """Return once Slack has said hello. Raises NotOpened; then it is closed."""
        try:
            async with asyncio.timeout(OPEN_SECONDS_MAX):
                answer = await self._client.web_client.apps_connections_open(
                    app_token=self._client.app_token
                )
                self._client.wss_uri = str(answer["url"])
                await self._client.connect()  # type: ignore[no-untyped-call]
                parting = await self._client.first_word()
        except SlackApiError as error:
            raise await self._not_opened(error_of(error).code) from error
        except (SlackClientError, OSError, ValueError, KeyError) as error:
            raise await self._not_opened(type(error).__name__) from error
        except BaseException:
            await self.close()
            raise
        if parting is not None:
            raise await self._not_opened(parting.value)

    async def ended(self, *, age_seconds_max: float) -> Parting:
        """Wait until the connection is lost, is asked to go, or has grown that old."""
        try:
            async with asyncio.timeout(age_seconds_max):
                return await self._client.parted()
        except TimeoutError:
            return Parting.AGED

    async def retire(self) -> None:
        """Close once what has been begun is acknowledged, or Slack waits for it no longer."""
        try:
            async with asyncio.timeout(ACK_SECONDS_MAX):
                await self._is_idle.wait()
        except TimeoutError:
            logger.info("socket closed over its work", extra={"action": "slack_socket_cut"})
        finally:
            await self.close()

    async def close(self) -> None:
        """Close for good, and wait for the SDK's tasks, which its own close only cancels."""
        client = self._client
        try:
            await client.close()  # type: ignore[no-untyped-call]
        finally:
            # Also when it is cancelled over the SDK's farewell, which waits for the other side.
            tasks = (
                client.message_processor,
                client.current_session_monitor,
                client.message_receiver,
            )
            started = [task for task in tasks if task is not None]
            for task in started:
                task.cancel()
            await client.aiohttp_client_session.close()
            await asyncio.gather(*started, return_exceptions=True)

    async def _not_opened(self, code: str) -> NotOpened:
        await self.close()
        return NotOpened(code)

    async def _serve(self, client: Any, request: SocketModeRequest) -> None:
        self._in_flight += 1
        self._is_idle.clear()
        try:
            answer = await run_async_bolt_app(self._app, request)
            await send_async_response(client, request, answer, 0.0)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._is_idle.set()


class _Client(SocketModeClient):
    """The SDK's client, which notes when it would have repaired its connection."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.parting: Parting | None = None
        self._has_word = asyncio.Event()
        self._is_greeted = False

    async def first_word(self) -> Parting | None:
        """Wait for Slack's first word: None for its hello, otherwise why it will not have us."""
        while not self._is_greeted and self.parting is None:
            await self._next_word()
        return None if self._is_greeted else self.parting

    async def parted(self) -> Parting:
        """Wait until the connection is to be replaced."""
        while self.parting is None:
            await self._next_word()
        return self.parting

    async def _next_word(self) -> None:
        """Return when Slack has said something, or some time later, and notice a break meanwhile."""
        try:
            async with asyncio.timeout(WATCH_SECONDS):
                await self._has_word.wait()
                self._has_word.clear()
        except TimeoutError:
            if not await self.is_connected():
                self._part(Parting.LOST)

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Tell words about the connection from what it brings."""
        match text_at(message, "type"):
            case "hello":
                self._is_greeted = True
                self._has_word.set()
            case "disconnect":
                self._part(text_at(message, "reason"))
            case _:
                await super().run_message_listeners(message, raw_message)

    async def receive_messages(self) -> None:
        """As the SDK does; when it returns or fails there is nothing more to come."""
        try:
            await super().receive_messages()
        finally:
            self._part(Parting.LOST)

    def _part(self, reason: str) -> None:
        if self.parting is None:
            known = reason in Parting.__members__.values()
            self.parting = Parting(reason) if known else Parting.REFRESH
        self._has_word.set()
