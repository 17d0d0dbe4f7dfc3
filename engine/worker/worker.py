"""The worker of one replica: acquires runnable chats, keeps their leases, ends overdue questions.

Woken by hints at once, by its poll otherwise, so that a lost hint costs a second, never an answer.
"""

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from engine.agent.brain import Brains
from engine.agent.turn_state import TurnPorts
from engine.chat.commands import ExpireActions
from engine.chat.ids import ChatId
from engine.store.chat_machine import ChatMachine
from engine.store.errors import StoreUnavailable
from engine.store.leases import AcquiredChat, Leases, Survey
from engine.stream.relay import Wake
from engine.worker.runner_manager import TOOLS_PATIENCE_SECONDS, RunnerManager
from engine.worker.wakes import Wakes

log = logging.getLogger(__name__)

ACQUIRE_BATCH = 20
"""Chats taken in one statement, so that replicas share a burst."""
STALE_FRACTION = 5
"""Dead holders are looked for every fifth of a lease (design, section 5)."""
CAPS_SECONDS = 2.0
"""How old the knowledge may be whether any organization has a cap on its running chats."""
PAUSE_MAX_SECONDS = 1.0
"""How long a worker waits after a round that failed."""


class Acquire(Protocol):
    """A way to acquire chats."""

    async def __call__(
        self, limit: int, lease_seconds: float, *, with_stale: bool
    ) -> tuple[AcquiredChat, ...]:
        """Take up to `limit` chats."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPace:
    """How often a worker does what, in seconds, and how many chats it takes."""

    lease_seconds: float = 30.0
    heartbeat_seconds: float = 10.0
    poll_seconds: float = 1.0
    chats_max: int = 1000


class Worker:
    """Runs until it is cancelled or drained."""

    def __init__(
        self,
        *,
        machine: ChatMachine,
        leases: Leases,
        ports: TurnPorts,
        brains: Brains,
        pace: WorkerPace,
        on_acquired: Callable[[AcquiredChat], None] | None = None,
    ) -> None:
        """`on_acquired` is told of every chat that is taken; it must neither wait nor raise."""
        self._on_acquired = on_acquired
        self._machine = machine
        self._leases = leases
        self._relay = ports.relay
        self._pace = pace
        self._wakes = Wakes(random.uniform)
        # Invariant: set whenever the next look may be due earlier than was known.
        self._heard = asyncio.Event()
        self._draining = False
        # Invariant: held while chats are acquired here but not yet started, so that none is lost.
        self._acquiring = asyncio.Lock()
        # Invariant: set while there may be chats that were left for want of room.
        self._lacked_room = False
        self._has_caps = False
        self._caps_known_until = float("-inf")
        self._runners = RunnerManager(ports=ports, brains=brains, on_room=self._on_room)

    @property
    def running_count(self) -> int:
        """Chats that are being worked on here."""
        return self._runners.count

    async def run(self) -> None:
        """Work. Cancelling it ends all runs and gives nothing back; call `drain` first."""
        pace = self._pace
        unsubscribe = self._relay.subscribe_wakes(self._on_wake)
        try:
            async with asyncio.TaskGroup() as group:
                rounds = (
                    ("sweep", pace.lease_seconds / STALE_FRACTION, lambda: self._sweep(group)),
                    ("poll", pace.poll_seconds, lambda: self._poll(group)),
                    ("heartbeat", pace.heartbeat_seconds, self._renew),
                )
                group.create_task(self._acquire_on_wake(group), name="acquire on wake")
                for name, seconds, work in rounds:
                    group.create_task(self._each(seconds, work), name=name)
        finally:
            unsubscribe()

    async def drain(self, *, tools_seconds: float = TOOLS_PATIENCE_SECONDS) -> None:
        """Take nothing more, and give back what is unfinished. Tools may finish first, for so long."""
        self._draining = True
        async with self._acquiring:
            await self._runners.drain(tools_seconds)

    def _on_wake(self, wake: Wake) -> None:
        due_before = self._wakes.next_at
        self._wakes.hear(wake, asyncio.get_running_loop().time())
        if self._wakes.next_at < due_before:
            self._heard.set()

    def _on_room(self) -> None:
        # Where there are caps, another chat of the organization may have waited for this place.
        if self._lacked_room or self._has_caps:
            self._wakes.ask(asyncio.get_running_loop().time())
            self._heard.set()

    def _has_room(self) -> bool:
        """Whether another chat may be taken; where there is no place for it, that is remembered."""
        self._lacked_room = self._runners.count >= self._pace.chats_max
        return not (self._lacked_room or self._draining)

    async def _acquire_on_wake(self, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._until_due()
            begun = self._wakes.begin_look()
            if await self._guarded(lambda: self._acquire(group, with_stale=False)):
                self._wakes.end_look(begun, loop.time())

    async def _until_due(self) -> None:
        """Return when it is time to look for chats that were woken."""
        loop = asyncio.get_running_loop()
        while not self._wakes.is_due(loop.time()):
            self._heard.clear()
            next_at = self._wakes.next_at
            alarm = loop.call_at(next_at, self._heard.set) if next_at < math.inf else None
            try:
                await self._heard.wait()
            finally:
                if alarm is not None:
                    alarm.cancel()

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        survey = await self._survey()
        if survey.has_runnable:
            await self._acquire(group, with_stale=False)
        overdue = await self._leases.overdue_chats(ACQUIRE_BATCH) if survey.has_overdue else ()
        for chat_id in overdue:
            # By itself, so that one that fails keeps none of the others waiting.
            await self._guarded(partial(self._expire, chat_id))

    async def _expire(self, chat_id: ChatId) -> None:
        await self._machine.submit(chat_id, ExpireActions())

    async def _sweep(self, group: asyncio.TaskGroup) -> None:
        # Renewed first: a replica that was held up must not take its own chats for orphans.
        await self._renew()
        await self._acquire(group, with_stale=True)

    async def _acquire(self, group: asyncio.TaskGroup, *, with_stale: bool) -> None:
        async with self._acquiring:
            await self._acquire_all(group, self._leases.acquire_chats, with_stale=with_stale)
            if self._has_room() and await self._knows_caps():
                await self._acquire_all(group, self._leases.acquire_capped, with_stale=with_stale)

    async def _acquire_all(
        self, group: asyncio.TaskGroup, acquire: Acquire, *, with_stale: bool
    ) -> None:
        while self._has_room():
            room = min(self._pace.chats_max - self._runners.count, ACQUIRE_BATCH)
            chats = await acquire(room, self._pace.lease_seconds, with_stale=with_stale)
            for chat in chats:
                self._relay.publish_change(msgspec.structs.replace(chat.change, taken=True))
                self._runners.start(chat, group)
                if self._on_acquired is not None:
                    self._on_acquired(chat)
            if len(chats) < room:
                return

    async def _survey(self) -> Survey:
        survey = await self._leases.survey()
        self._has_caps = survey.has_caps
        self._caps_known_until = asyncio.get_running_loop().time() + CAPS_SECONDS
        return survey

    async def _knows_caps(self) -> bool:
        # Every poll tells; only where polls are rare is it asked for.
        if asyncio.get_running_loop().time() >= self._caps_known_until:
            await self._survey()
        return self._has_caps

    async def _renew(self) -> None:
        asked = self._runners.held
        if asked:
            renewed = await self._leases.renew_chats(asked, self._pace.lease_seconds)
            self._runners.keep(asked, renewed)

    async def _each(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            if await self._guarded(work):
                await asyncio.sleep(seconds)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do a round of work. Whatever goes wrong in it is tried again soon: False after a pause."""
        try:
            await work()
        except StoreUnavailable as error:
            log.warning("The database is away: %s", error, extra={"action": "store_away"})
        except Exception:
            log.exception("A round of the worker failed.", extra={"action": "worker_failed"})
        else:
            return True
        await asyncio.sleep(min(self._pace.poll_seconds, PAUSE_MAX_SECONDS))
        return False
