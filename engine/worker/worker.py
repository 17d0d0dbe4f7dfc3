"""The worker of one replica: acquires runnable chats, keeps their leases, ends overdue questions.

Woken by hints at once, by its poll otherwise, so that a lost hint costs a second, never an answer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.agent.brain import Brains
from engine.agent.turn import TurnPorts
from engine.chat.changes import ChatChange
from engine.chat.commands import ExpireActions
from engine.store.chat_machine import ChatMachine
from engine.store.errors import StoreError
from engine.store.leases import Leases
from engine.worker.runner_manager import RunnerManager

log = logging.getLogger(__name__)

ACQUIRE_BATCH = 20
"""Chats taken in one statement, so that replicas share a burst."""
STALE_FRACTION = 5
"""Dead holders are looked for every fifth of a lease (design, section 5)."""


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
    ) -> None:
        self._machine = machine
        self._leases = leases
        self._relay = ports.relay
        self._pace = pace
        self._wake = asyncio.Event()
        self._draining = False
        self._runners = RunnerManager(ports=ports, brains=brains, on_idle=self._wake.set)

    @property
    def running_count(self) -> int:
        """Chats that are being worked on here."""
        return self._runners.count

    async def run(self) -> None:
        """Work. Cancelling it gives nothing back; call `drain` first."""
        unsubscribe = self._relay.subscribe_wakes(self._on_wake)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._acquire_on_wake(), name="acquire on wake")
                group.create_task(self._each(self._stale_seconds, self._sweep), name="sweep")
                group.create_task(self._each(self._pace.poll_seconds, self._poll), name="poll")
                group.create_task(
                    self._each(self._pace.heartbeat_seconds, self._renew), name="heartbeat"
                )
        finally:
            unsubscribe()

    async def drain(self) -> None:
        """Take nothing more, and give back what is unfinished."""
        self._draining = True
        await self._runners.drain()

    @property
    def _stale_seconds(self) -> float:
        return self._pace.lease_seconds / STALE_FRACTION

    def _on_wake(self, _change: ChatChange) -> None:
        self._wake.set()

    async def _acquire_on_wake(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._guarded(lambda: self._acquire(with_stale=False))

    async def _poll(self) -> None:
        await self._acquire(with_stale=False)
        for chat_id in await self._leases.due_action_chats(ACQUIRE_BATCH):
            await self._machine.submit(chat_id, ExpireActions())

    async def _sweep(self) -> None:
        await self._acquire(with_stale=True)
        await self._leases.forget_heartbeats()

    async def _acquire(self, *, with_stale: bool) -> None:
        while not self._draining:
            room = min(self._pace.chats_max - self._runners.count, ACQUIRE_BATCH)
            if room <= 0:
                return
            chats = await self._leases.acquire_chats(
                room, self._pace.lease_seconds, with_stale=with_stale
            )
            for chat in chats:
                self._relay.publish_change(chat.change)
                self._runners.start(chat)
            if len(chats) < room:
                return

    async def _renew(self) -> None:
        asked = self._runners.held
        if asked:
            renewed = await self._leases.renew_chats(asked, self._pace.lease_seconds)
            self._runners.keep(asked, renewed)

    async def _each(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._guarded(work)
            await asyncio.sleep(seconds)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do a round of work; a database that is away is tried again at the next round."""
        try:
            await work()
        except StoreError as error:
            log.warning("The database is away: %s", error, extra={"action": "store_away"})
            await asyncio.sleep(min(self._pace.poll_seconds, 1.0))
