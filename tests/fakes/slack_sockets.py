"""Owns Socket Mode: single-use links, one socket of many per envelope, acks, and repeats of what was not acked.

An events envelope counts as delivered only when its ack arrives on any socket. It is repeated at
once when its socket dies, and on the retry plan when the ack stays away; the repeat has a new
envelope id and the same event id. Interactions and commands are not repeated unless asked.
"""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_deliveries import (
    ACK_TIMEOUT_SECONDS,
    RETRY_DELAYS_SECONDS,
    Attempt,
    Background,
    Delivery,
    DeliveryKind,
    DeliveryState,
)

Json = dict[str, Any]

CONNECTIONS_MAX = 10
LINK_LIFE_SECONDS = 30.0
_CLOSING_REASONS = ("refresh_requested", "link_disabled", "too_many_websockets")


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """One open socket of the app; `is_leaving` keeps new envelopes away from it."""

    id: str
    ws: web.WebSocketResponse
    request: web.Request
    outbox: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    unacked: dict[str, Delivery] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    is_leaving: bool = False


class Sockets:
    """The app's sockets. Settings are plain attributes a test may change at any time."""

    def __init__(
        self,
        *,
        clock: SlackClock,
        background: Background,
        touch: Callable[[], None],
        app_id: str,
        rng: random.Random,
    ) -> None:
        self.ack_timeout_seconds = ACK_TIMEOUT_SECONDS
        self.retry_delays_seconds = RETRY_DELAYS_SECONDS
        self.redeliver_interactions = False
        self.is_link_disabled = False
        self.is_held = False
        self.acks: list[Json] = []
        self.connections: list[Connection] = []
        self._clock = clock
        self._background = background
        self._touch = touch
        self._app_id = app_id
        self._rng = rng
        self._links: dict[str, float] = {}
        self._envelopes: dict[str, Delivery] = {}
        self._waiting: list[Delivery] = []

    @property
    def count(self) -> int:
        return len(self.connections)

    def open_link(self, origin: str) -> str:
        """A WebSocket address that works once and for half a minute."""
        ticket = uuid.uuid4().hex
        self._links[ticket] = self._clock.now() + LINK_LIFE_SECONDS
        address = origin.replace("http://", "ws://", 1)
        return f"{address}/link/?ticket={ticket}&app_id={self._app_id}"

    def send(self, delivery: Delivery) -> None:
        """Hand the payload to one random socket, or keep it until there is one."""
        usable = [c for c in self.connections if not c.is_leaving]
        if self.is_held or not usable:
            self._waiting.append(delivery)
            return
        self._send_on(self._rng.choice(usable), delivery)

    def hold(self) -> None:
        """Keep every further payload back until `release()`."""
        self.is_held = True

    def release(self) -> None:
        self.is_held = False
        self._flush()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Run one socket from hello to close."""
        expires = self._links.pop(request.query.get("ticket", ""), 0.0)
        if expires < self._clock.now():
            return web.Response(status=403, text="the link is unknown, used or expired")
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        connection = Connection(id=uuid.uuid4().hex[:8], ws=ws, request=request)
        refusal = self._refusal()
        if refusal is not None:
            await ws.send_str(json.dumps(_disconnect(refusal)))
            await ws.close()
            return ws
        self.connections.append(connection)
        writer = self._background.spawn(_write(connection))
        try:
            connection.outbox.put_nowait(json.dumps(self._hello()))
            self._touch()
            self._flush()
            async for frame in ws:
                if frame.type is WSMsgType.TEXT:
                    self._receive(frame.data)
        finally:
            writer.cancel()
            self._lose(connection)
        return ws

    async def disconnect(self, reason: str = "refresh_requested", *, everyone: bool = True) -> None:
        """Tell one socket or all to go; `warning` leaves them open, the other reasons close them."""
        if reason == "link_disabled":
            self.is_link_disabled = True
        leaving = list(self.connections) if everyone else self.connections[:1]
        for connection in leaving:
            connection.outbox.put_nowait(json.dumps(_disconnect(reason)))
            if reason in _CLOSING_REASONS:
                connection.is_leaving = True
                self._background.spawn(self._close_after_flush(connection))

    def enable_link(self) -> None:
        self.is_link_disabled = False

    def drop(self, *, count: int | None = None) -> None:
        """Cut connections as a broken network does: no close frame."""
        for connection in self.connections[:count]:
            connection.is_leaving = True
            if connection.request.transport is not None:
                connection.request.transport.abort()

    async def _close_after_flush(self, connection: Connection) -> None:
        await connection.outbox.join()
        await connection.ws.close()

    def _refusal(self) -> str | None:
        if self.is_link_disabled:
            return "link_disabled"
        if len(self.connections) >= CONNECTIONS_MAX:
            return "too_many_websockets"
        return None

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections),
            "debug_info": {
                "host": "applink-harbour-1",
                "build_number": 42,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": self._app_id},
        }

    def _send_on(self, connection: Connection, delivery: Delivery) -> None:
        envelope_id = str(uuid.uuid4())
        number = len(delivery.attempts)
        reason = "timeout" if number else ""
        delivery.attempts.append(
            Attempt(at=self._clock.now(), retry_num=number, retry_reason=reason, via=connection.id)
        )
        self._envelopes[envelope_id] = delivery
        connection.unacked[envelope_id] = delivery
        connection.sent.append(envelope_id)
        envelope: Json = {
            "envelope_id": envelope_id,
            "payload": delivery.body,
            "type": delivery.kind.value,
            "accepts_response_payload": delivery.kind is not DeliveryKind.EVENT,
        }
        if delivery.kind is DeliveryKind.EVENT:
            envelope |= {"retry_attempt": number, "retry_reason": reason}
        connection.outbox.put_nowait(json.dumps(envelope))
        deadline = delivery.attempts[-1].at + self.ack_timeout_seconds
        self._background.spawn(self._watch(delivery, number, deadline))

    async def _watch(self, delivery: Delivery, number: int, deadline: float) -> None:
        await self._clock.sleep_until(deadline)
        is_latest = len(delivery.attempts) == number + 1
        if delivery.state is DeliveryState.PENDING and is_latest:
            delivery.tried.set()
            await self._repeat(delivery, number, deadline)

    async def _repeat(self, delivery: Delivery, number: int, since: float) -> None:
        repeats = delivery.kind is DeliveryKind.EVENT or self.redeliver_interactions
        if not repeats or number >= len(self.retry_delays_seconds):
            delivery.lose()
            self._touch()
            return
        await self._clock.sleep_until(since + self.retry_delays_seconds[number])
        if delivery.state is DeliveryState.PENDING and len(delivery.attempts) == number + 1:
            self.send(delivery)

    def _receive(self, text: str) -> None:
        try:
            ack = json.loads(text)
        except ValueError:
            return
        self.acks.append(ack)
        envelope_id = ack.get("envelope_id", "")
        for connection in self.connections:
            connection.unacked.pop(envelope_id, None)
        delivery = self._envelopes.get(envelope_id)
        if delivery is not None:
            delivery.ack(self._clock.now(), ack.get("payload"))
        self._touch()

    def _lose(self, connection: Connection) -> None:
        self.connections.remove(connection)
        for delivery in connection.unacked.values():
            if delivery.state is not DeliveryState.PENDING:
                continue
            if delivery.kind is DeliveryKind.EVENT or self.redeliver_interactions:
                self.send(delivery)
            else:
                delivery.lose()
        self._touch()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for delivery in waiting:
            if delivery.state is DeliveryState.PENDING:
                self.send(delivery)


async def _write(connection: Connection) -> None:
    while True:
        text = await connection.outbox.get()
        try:
            await connection.ws.send_str(text)
        except ConnectionError:
            return
        finally:
            connection.outbox.task_done()


def _disconnect(reason: str) -> Json:
    return {
        "type": "disconnect",
        "reason": reason,
        "debug_info": {"host": "applink-harbour-1"},
    }
