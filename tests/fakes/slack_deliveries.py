"""Owns the record of what fake Slack sent to the app, try by try, and the tasks that do the sending."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]

# Events API: a failed delivery is repeated at once, after one minute and after five.
RETRY_DELAYS_SECONDS = (0.0, 60.0, 300.0)
ACK_TIMEOUT_SECONDS = 3.0


class DeliveryKind(StrEnum):
    """The envelope types of Socket Mode; over HTTP they choose the body's form."""

    EVENT = "events_api"
    INTERACTION = "interactive"
    COMMAND = "slash_commands"


class DeliveryState(StrEnum):
    PENDING = "pending"
    ACKED = "acked"
    LOST = "lost"


@dataclass(slots=True, kw_only=True, eq=False)
class Attempt:
    """One try: when, which repeat it is and why, over which connection, and what came back."""

    at: float
    retry_num: int
    retry_reason: str
    via: str
    status: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Delivery:
    """One payload on its way to the app; settled once it is acknowledged or given up."""

    id: str
    kind: DeliveryKind
    body: Json
    state: DeliveryState = DeliveryState.PENDING
    attempts: list[Attempt] = field(default_factory=list)
    response: object = None
    acked_at: float | None = None
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def event(self) -> Json:
        """The inner event of an Events API delivery."""
        event: Json = self.body["event"]
        return event

    @property
    def is_acked(self) -> bool:
        return self.state is DeliveryState.ACKED

    def ack(self, at: float, response: object) -> None:
        if self.state is DeliveryState.PENDING:
            self.state, self.acked_at, self.response = DeliveryState.ACKED, at, response
        self.tried.set()
        self.done.set()

    def lose(self) -> None:
        if self.state is DeliveryState.PENDING:
            self.state = DeliveryState.LOST
        self.tried.set()
        self.done.set()

    async def settled(self, *, timeout_seconds: float = 10.0) -> Delivery:
        async with asyncio.timeout(timeout_seconds):
            await self.done.wait()
        return self


class Background:
    """The fake's own tasks; closing cancels what is left and waits for it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failures: list[BaseException] = []

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failures.append(failure)

    async def close(self) -> None:
        """Cancel what still runs; raise the first failure of a task, so that a broken fake fails its test."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._failures:
            raise self._failures[0]
