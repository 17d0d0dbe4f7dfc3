"""The one pub/sub connection of a replica: subscriptions come and go while it reads.

It speaks RESP2 on a plain connection of redis-py, where every reply is an array that says what it
is, so that one task may read while another subscribes.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from itertools import islice

from redis.asyncio import ConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from engine.stream.cancellation import raise_if_cancelled

logger = logging.getLogger(__name__)

QUIET_SECONDS = 5.0
"""After so long without a word the server is asked for one; after as long again it is gone."""
BACKOFF_SECONDS = (0.05, 5.0)
"""The first and the longest wait before connecting again."""
_COMMAND_CHANNELS_MAX = 500


class RedisSubscriber:
    """Calls `on_message(channel, data)` for each message, and `on_up` and `on_down` on each change.

    After `on_up` all channels are subscribed; what was published since `on_down` is lost.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        *,
        on_message: Callable[[bytes, bytes], None],
        on_up: Callable[[], None],
        on_down: Callable[[], None],
        quiet_seconds: float = QUIET_SECONDS,
        backoff_seconds: tuple[float, float] = BACKOFF_SECONDS,
    ) -> None:
        self._pool = pool
        self._on_message = on_message
        self._on_up = on_up
        self._on_down = on_down
        self._quiet_seconds = quiet_seconds
        self._backoff_seconds = backoff_seconds
        self._wanted: set[bytes] = set()
        self._confirmed: set[bytes] = set()
        self._to_ask: dict[bytes, bool] = {}
        self._asks = asyncio.Event()
        self._waiters: dict[bytes, asyncio.Future[None]] = {}
        # Invariant: while a connection is coming up, the channels it does not yet hear; else None.
        self._unanswered: set[bytes] | None = None
        self._said_down = False
        self.is_up = False

    def add(self, channel: bytes) -> None:
        """Subscribe, now or as soon as there is a connection."""
        self._wanted.add(channel)
        self._ask(channel)

    def remove(self, channel: bytes) -> None:
        """Unsubscribe."""
        self._wanted.discard(channel)
        self._confirmed.discard(channel)
        self._settle(channel)
        self._ask(channel)
        self._note_answered(channel)

    async def wait_until_confirmed(self, channel: bytes) -> None:
        """Return once the server has confirmed; at once where there is no connection."""
        if not self.is_up or channel in self._confirmed or channel not in self._wanted:
            return
        waiter = self._waiters.get(channel)
        if waiter is None:
            waiter = self._waiters[channel] = asyncio.get_running_loop().create_future()
        await asyncio.shield(waiter)

    async def run(self) -> None:
        """Stay connected. Never returns."""
        shortest, longest = self._backoff_seconds
        backoff = shortest
        while True:
            raise_if_cancelled()
            try:
                await self._serve()
            except* (RedisError, OSError) as errors:
                backoff = shortest if self.is_up else min(backoff * 2, longest)
                self._note_down(errors.exceptions[0])
            # Jitter keeps replicas from coming back in step.
            await asyncio.sleep(backoff * random.uniform(0.5, 1.0))  # noqa: S311

    async def _serve(self) -> None:
        connection: AbstractConnection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            self._to_ask = dict.fromkeys(self._wanted, True)
            self._asks.set()
            self._confirmed.clear()
            self._unanswered = set(self._wanted)
            self._note_up_if_answered()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send_asks(connection))
                await self._read(connection)
        finally:
            await connection.disconnect(nowait=True)

    async def _send_asks(self, connection: AbstractConnection) -> None:
        while True:
            raise_if_cancelled()
            await self._asks.wait()
            self._asks.clear()
            asked, self._to_ask = self._to_ask, {}
            for command, wanted in (("SUBSCRIBE", True), ("UNSUBSCRIBE", False)):
                channels = (channel for channel, is_wanted in asked.items() if is_wanted is wanted)
                for some in _batches(channels):
                    await send(connection, command, *some)

    async def _read(self, connection: AbstractConnection) -> None:
        asked_for_a_word = False
        while True:
            raise_if_cancelled()
            reply = await connection.read_response(timeout=self._quiet_seconds)
            if reply is None:
                if asked_for_a_word:
                    raise ConnectionError("the server no longer answers")
                asked_for_a_word = True
                await send(connection, "PING")
                continue
            asked_for_a_word = False
            if reply[0] == b"message":
                self._on_message(reply[1], reply[2])
            elif reply[0] == b"subscribe":
                self._note_confirmed(reply[1])

    def _ask(self, channel: bytes) -> None:
        self._to_ask[channel] = channel in self._wanted
        self._asks.set()

    def _note_confirmed(self, channel: bytes) -> None:
        if channel in self._wanted:
            self._confirmed.add(channel)
        self._settle(channel)
        self._note_answered(channel)

    def _note_answered(self, channel: bytes) -> None:
        if self._unanswered is not None:
            self._unanswered.discard(channel)
            self._note_up_if_answered()

    def _note_up_if_answered(self) -> None:
        if not self._unanswered:
            self._unanswered = None
            self.is_up = True
            self._said_down = False
            logger.info("relay is up", extra={"action": "relay_up"})
            self._on_up()

    def _note_down(self, error: BaseException) -> None:
        self._confirmed.clear()
        self._unanswered = None
        was_up, self.is_up = self.is_up, False
        for channel in tuple(self._waiters):
            self._settle(channel)
        if not self._said_down:
            self._said_down = True
            extra = {"action": "relay_down", "error": repr(error)}
            logger.warning("relay is down", extra=extra)
        if was_up:
            self._on_down()

    def _settle(self, channel: bytes) -> None:
        waiter = self._waiters.pop(channel, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


async def send(connection: AbstractConnection, *command: str | bytes) -> None:
    """Send a command on a connection that somebody else reads. A closed one is a ConnectionError."""
    try:
        await connection.send_command(*command)
    except AttributeError as error:
        # The reader has closed it meanwhile, and the library has forgotten what it writes to.
        raise ConnectionError("the connection was closed while a command was sent") from error


def _batches(channels: Iterable[bytes]) -> Iterable[list[bytes]]:
    rest = iter(channels)
    while some := list(islice(rest, _COMMAND_CHANNELS_MAX)):
        yield some
