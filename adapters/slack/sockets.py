"""Socket Mode: several connections to Slack, each replaced by the next before it closes.

Slack sends each delivery to one of an app's connections, whichever replica holds it, and promises no
order between them. With two, one hears while the other is renewed, as each must be every few hours; what
Slack could not deliver meanwhile comes afterwards.
"""

import asyncio
import logging
from typing import Final

from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.socket import NotOpened, Parting, Socket

logger = logging.getLogger(__name__)

AGE_SECONDS_MAX: Final = 4 * 3600.0
"""A connection is replaced before Slack does it, after about five hours: whatever is wrong with one that
answers its pings and brings nothing lasts no longer than this."""
PAUSE_SECONDS_MIN: Final = 0.5
PAUSE_SECONDS_MAX: Final = 60.0
"""Between two attempts to connect, doubled each time."""


class SocketMode:
    """Keeps that many connections open while `run` runs."""

    def __init__(
        self,
        app: AsyncApp,
        app_token: str,
        sdk: AsyncWebClient,
        *,
        sockets: int,
        age_seconds_max: float = AGE_SECONDS_MAX,
    ) -> None:
        self._app = app
        self._app_token = app_token
        self._sdk = sdk
        self._sockets = sockets
        self._age_seconds_max = age_seconds_max
        self._current: dict[int, Socket] = {}
        self.first_connected = asyncio.Event()

    @property
    def open_count(self) -> int:
        """How many connections hear, as far as is known."""
        return sum(socket.hears for socket in self._current.values())

    @property
    def is_connected(self) -> bool:
        """Whether at least one does."""
        return self.open_count > 0

    def current(self, number: int) -> Socket | None:
        """The connection with this number, counted from 0, if it is open or about to be replaced."""
        return self._current.get(number)

    async def run(self) -> None:
        """Listen until cancelled; what is being stored then is not acknowledged."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._sockets):
                tasks.create_task(self._keep_open(number, tasks))

    async def _keep_open(self, number: int, tasks: asyncio.TaskGroup) -> None:
        # Not all are renewed at the same time: each a little earlier than the one before it.
        age = self._age_seconds_max * (1.0 - 0.5 * number / self._sockets)
        try:
            while True:
                successor = await self._open_one(number)
                if predecessor := self._current.pop(number, None):
                    # It heard until now, and finishes what it has begun.
                    tasks.create_task(predecessor.retire())
                self._current[number] = successor
                self.first_connected.set()
                parting = await successor.ended(age_seconds_max=age)
                extra = {"action": "slack_socket_replaced", "reason": parting.value}
                logger.info("socket to be replaced", extra=extra)
        finally:
            if current := self._current.pop(number, None):
                await current.close()

    async def _open_one(self, number: int) -> Socket:
        """Connect, however long it takes."""
        pause = PAUSE_SECONDS_MIN
        while True:
            socket = Socket(self._app, self._app_token, self._sdk)
            try:
                await socket.open()
            except NotOpened as error:
                self._complain(number, error.code)
            except TimeoutError:
                self._complain(number, "timeout")
            else:
                return socket
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_SECONDS_MAX)

    def _complain(self, number: int, code: str) -> None:
        extra = {"action": "slack_socket_not_opened", "code": code, "socket": number}
        if code == Parting.TOO_MANY.value and self.is_connected:
            # Slack allows ten of an app; with many replicas one each is enough.
            logger.info("no further socket", extra=extra)
        else:
            logger.warning("socket not opened", extra=extra)
