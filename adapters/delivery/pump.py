"""All deliveries of one platform in one process: claims what is due, keeps it, and lets go in time.

Theory of operation. A delivery is due while its chat has changed since it was settled. Any replica may
claim it, one holds it; the lease is renewed for all deliveries by one statement per heartbeat. A change
that this process commits wakes the pump at once, others are found by polling. Whoever loses a lease, or
cannot renew it for as long as it lasts, stops at once, since another replica may already be posting.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from uuid import UUID, uuid4

from adapters.contract import Surface
from adapters.delivery.call_times import CallTimes
from adapters.delivery.leased_surface import LeasedSurface
from adapters.delivery.page_ledger import LeaseLost
from adapters.delivery.page_pieces import Renderer
from adapters.delivery.thread_delivery import DeliveryFailed, Ended, ThreadDelivery
from adapters.delivery.thread_status import OnStatus
from adapters.delivery.wakeup import Wakeup
from config.delivery_settings import DeliverySettings
from engine.api import ChatMissing, Delivery, Engine, StoreUnavailable
from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId

logger = logging.getLogger(__name__)

DELIVERIES_MAX = 2000
"""Deliveries that one process holds at a time."""
CLAIM_MAX = 100
"""Deliveries claimed by one statement."""
STOP_BEFORE_EXPIRY = 0.8
"""The share of a lease after which deliveries stop when it could not be renewed."""
RETRY_SECONDS_MIN = 15.0
RETRY_SECONDS_MAX = 3600.0
CRASH_RETRY_SECONDS_MIN = 2.0
GIVE_UP_AFTER = 8
"""Tries after which a refused delivery is settled as it is: with the backoff, about two hours."""


class DeliveryPump:
    """Runs until drained. One per surface and process."""

    def __init__(
        self,
        engine: Engine,
        surface: Surface,
        renderer: Renderer,
        settings: DeliverySettings,
        *,
        times: CallTimes,
        clock: Callable[[], float] | None = None,
        on_status: OnStatus | None = None,
    ) -> None:
        """`on_status` is told how each thread that is held here is getting on."""
        self._on_status = on_status
        self._engine = engine
        self._surface = surface
        self._renderer = renderer
        self._settings = settings
        # Not the loop's: that stands still within a step, even if the whole process does.
        self._clock = clock or time.monotonic
        self._owner: UUID = uuid4()
        self._times = times
        self._held: dict[int, tuple[ThreadDelivery, asyncio.Task[None]]] = {}
        self._by_chat: dict[ChatId, set[ThreadDelivery]] = {}
        self._wakeup = Wakeup()
        self._renewed_at = 0.0
        self._is_draining = False

    @property
    def held_count(self) -> int:
        """Deliveries that this process holds at present."""
        return len(self._held)

    async def run(self) -> None:
        """Deliver until `drain`. Cancelling lets everything go where it stands."""
        remove = self._engine.on_change(self._on_change)
        self._renewed_at = self._clock()
        try:
            async with asyncio.TaskGroup() as tasks:
                renewals = tasks.create_task(self._keep_leases())
                await self._claim_all(tasks)
                await self._wait_for_held()
                renewals.cancel()
        finally:
            remove()

    def drain(self) -> None:
        """Claim no more, and let go of each delivery after its call in flight; `run` then returns."""
        self._is_draining = True
        for held, _ in list(self._held.values()):
            held.stop()
        self._wakeup.ring()

    # -- claiming --------------------------------------------------------------------------------

    async def _claim_all(self, tasks: asyncio.TaskGroup) -> None:
        was_available = True
        while not self._is_draining:
            room = min(CLAIM_MAX, DELIVERIES_MAX - len(self._held))
            claimed: tuple[Delivery, ...] = ()
            began = self._clock()
            try:
                if room > 0:
                    claimed = await self._claim(room)
                was_available = True
            except StoreUnavailable:
                if was_available:
                    logger.warning("cannot claim", extra={"action": "delivery_claim_failed"})
                was_available = False
            for delivery in claimed:
                self._start(tasks, delivery, claimed_at=began)
            if len(claimed) < room or not claimed:
                await self._wakeup.wait(self._settings.poll_seconds)

    async def _claim(self, room: int) -> tuple[Delivery, ...]:
        return await self._engine.deliveries.claim_due(
            self._surface.platform, self._owner, room, self._settings.lease_seconds
        )

    def _start(self, tasks: asyncio.TaskGroup, delivery: Delivery, *, claimed_at: float) -> None:
        held = ThreadDelivery(
            delivery,
            engine=self._engine,
            surface=LeasedSurface(self._surface, lambda: self._is_safe(claimed_at)),
            renderer=self._renderer,
            times=self._times,
            patience_seconds=self._settings.lease_seconds,
            clock=self._clock,
            on_status=self._on_status,
        )
        self._by_chat.setdefault(delivery.chat_id, set()).add(held)
        task = tasks.create_task(self._deliver(held))
        self._held[delivery.id] = (held, task)
        task.add_done_callback(lambda _: self._forget(held))
        if self._is_draining:
            held.stop()

    def _forget(self, held: ThreadDelivery) -> None:
        delivery = held.delivery
        self._held.pop(delivery.id, None)
        others = self._by_chat.get(delivery.chat_id, set())
        others.discard(held)
        if not others:
            self._by_chat.pop(delivery.chat_id, None)
        if self._is_draining or len(self._held) == DELIVERIES_MAX - 1:
            self._wakeup.ring()

    def _on_change(self, change: ChatChange) -> None:
        held = self._by_chat.get(change.chat_id)
        if not held:
            self._wakeup.ring()
            return
        for delivery in held:
            delivery.nudge()

    # -- delivering ------------------------------------------------------------------------------

    async def _deliver(self, held: ThreadDelivery) -> None:
        """The root of one delivery's task: nothing that goes wrong in it reaches another."""
        try:
            ended = await held.run()
            if ended is Ended.DUE_AGAIN or held.is_nudged:
                self._wakeup.ring()
        except LeaseLost:
            logger.info("lease lost", extra=_about(held, "delivery_lease_lost"))
        except DeliveryFailed as error:
            await self._put_off(held, error)
        except ChatMissing:
            # It was deleted, and its delivery with it; what it said in the thread stays there.
            logger.info("chat deleted", extra=_about(held, "delivery_chat_deleted"))
        except StoreUnavailable:
            # The lease runs out by itself, and whoever claims it next goes on from the ledger.
            logger.warning("database away", extra=_about(held, "delivery_store_unavailable"))
        except Exception:
            logger.exception("delivery failed", extra=_about(held, "delivery_crashed"))
            delay = CRASH_RETRY_SECONDS_MIN * 2**held.delivery.attempts
            await self._fail(held, "internal error", min(delay, RETRY_SECONDS_MAX))

    async def _put_off(self, held: ThreadDelivery, error: DeliveryFailed) -> None:
        attempts = held.delivery.attempts
        gives_up = error.is_denied and attempts >= GIVE_UP_AFTER
        about = _about(held, "delivery_given_up" if gives_up else "delivery_put_off")
        logger.warning(
            "platform refuses the delivery",
            extra={**about, "code": error.code, "attempts": attempts},
        )
        if not gives_up:
            delay = min(RETRY_SECONDS_MIN * 2**attempts, RETRY_SECONDS_MAX)
            await self._fail(held, error.code, delay)
            return
        try:
            await held.settle_as_it_is()
        except (LeaseLost, StoreUnavailable):
            logger.info("not given up", extra=_about(held, "delivery_lease_lost"))

    async def _fail(self, held: ThreadDelivery, error: str, delay: float) -> None:
        delivery = held.delivery
        try:
            await self._engine.deliveries.fail(delivery.id, delivery.fence, error, delay)
        except StoreUnavailable:
            logger.warning("database away", extra=_about(held, "delivery_store_unavailable"))

    # -- keeping ---------------------------------------------------------------------------------

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(self._settings.heartbeat_seconds)
            try:
                await self._renew()
            except (StoreUnavailable, TimeoutError):
                self._stop_if_expiring()

    async def _renew(self) -> None:
        ids = list(self._held)
        began = self._clock()
        if ids:
            async with asyncio.timeout(self._settings.lease_seconds):
                renewed = await self._engine.deliveries.renew(
                    ids, self._owner, self._settings.lease_seconds
                )
            for delivery_id in ids:
                if delivery_id not in renewed and delivery_id in self._held:
                    self._held[delivery_id][1].cancel()
        self._renewed_at = began

    def _is_safe(self, claimed_at: float) -> bool:
        """Whether nobody else can have claimed it yet."""
        age = self._clock() - max(self._renewed_at, claimed_at)
        return age < STOP_BEFORE_EXPIRY * self._settings.lease_seconds

    def _stop_if_expiring(self) -> None:
        if self._is_safe(self._renewed_at):
            return
        logger.warning("leases run out", extra={"action": "delivery_leases_run_out"})
        for _, task in list(self._held.values()):
            task.cancel()

    async def _wait_for_held(self) -> None:
        while self._held:
            await self._wakeup.wait(None)


def _about(held: ThreadDelivery, action: str) -> dict[str, object]:
    return {
        "action": action,
        "delivery_id": held.delivery.id,
        "chat_id": str(held.delivery.chat_id),
    }
