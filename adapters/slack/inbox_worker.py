"""Turns stored deliveries into commands, in order within a thread, threads side by side.

Whatever is done here may be done again: messages carry their source key, answers are given once, and
everything else is the same the second time. What goes wrong is tried again a few times and then put
away, so that it holds up nobody. A claim is short and renewed while the event is worked on, so that
what a dead replica had begun is soon taken up by another one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

from adapters.delivery.patience import patiently
from adapters.delivery.wakeup import Wakeup
from adapters.errors import SurfaceError
from adapters.slack.identity import PLATFORM
from adapters.slack.intent_handler import IntentHandler
from config.delivery_settings import DeliverySettings
from engine.api import ClaimedEvent, Engine, StoreUnavailable

logger = logging.getLogger(__name__)

EVENTS_MAX = 50
"""Events that one process works on at a time."""
POLL_SECONDS = 1.0
TRIES_MAX = 3
RETRY_SECONDS = 0.5
"""After a fault of ours: the thread waits, so it is short."""
PLATFORM_RETRY_SECONDS = 2.0
"""After Slack failed to answer; doubled each time."""


class InboxWorker:
    """Works on events until drained. A claim lasts as long as a delivery's lease, and beats with it."""

    def __init__(self, engine: Engine, intents: IntentHandler, pace: DeliverySettings) -> None:
        self._engine = engine
        self._intents = intents
        self._lease_seconds = pace.lease_seconds
        self._heartbeat_seconds = pace.heartbeat_seconds
        self._owner: UUID = uuid4()
        self._wakeup = Wakeup()
        self._begun: set[int] = set()
        self._is_draining = False

    async def run(self) -> None:
        """Work until `drain`; what has been begun is finished first."""
        remove = self._engine.on_inbox(self._wakeup.ring)
        try:
            async with asyncio.TaskGroup() as tasks:
                renewals = tasks.create_task(self._keep_claims())
                await self._claim_all(tasks)
                while self._begun:
                    await self._wakeup.wait(None)
                renewals.cancel()
        finally:
            remove()

    def drain(self) -> None:
        """Begin nothing more; `run` returns when what has been begun is done."""
        self._is_draining = True
        self._wakeup.ring()

    async def _claim_all(self, tasks: asyncio.TaskGroup) -> None:
        was_available = True
        while not self._is_draining:
            room = EVENTS_MAX - len(self._begun)
            events: tuple[ClaimedEvent, ...] = ()
            try:
                if room > 0:
                    events = await self._engine.inbox.claim(
                        (PLATFORM,), self._owner, room, self._lease_seconds
                    )
                was_available = True
            except StoreUnavailable:
                if was_available:
                    logger.warning("cannot claim", extra={"action": "slack_inbox_unavailable"})
                was_available = False
            for event in events:
                self._begun.add(event.id)
                tasks.create_task(self._work(event))
            if not events:
                await self._wakeup.wait(POLL_SECONDS)

    async def _keep_claims(self) -> None:
        """Renew what is being worked on. A claim that is lost all the same does no harm, see above."""
        while True:
            await asyncio.sleep(self._heartbeat_seconds)
            try:
                if self._begun:
                    await self._engine.inbox.renew(
                        list(self._begun), self._owner, self._lease_seconds
                    )
            except StoreUnavailable:
                logger.warning("not renewed", extra={"action": "slack_inbox_unavailable"})

    async def _work(self, event: ClaimedEvent) -> None:
        """The root of one event's task."""
        try:
            await patiently(lambda: self._intents.handle(event), seconds=self._lease_seconds)
            await self._settle(lambda: self._engine.inbox.finish(event.id, self._owner))
        except StoreUnavailable:
            # The claim runs out by itself, and the event is worked on again.
            logger.warning("database away", extra=_about(event, "slack_event_put_off"))
        except SurfaceError as error:
            delay = PLATFORM_RETRY_SECONDS * 2 ** (event.attempts - 1)
            await self._retry(event, error.code, delay)
        except Exception as error:
            logger.exception("event failed", extra=_about(event, "slack_event_failed"))
            await self._retry_or_bury(event, f"{type(error).__name__}: {error}"[:500])
        finally:
            self._begun.discard(event.id)
            self._wakeup.ring()

    async def _retry_or_bury(self, event: ClaimedEvent, error: str) -> None:
        if event.attempts < TRIES_MAX:
            await self._retry(event, error, RETRY_SECONDS * event.attempts)
            return
        logger.error("event buried", extra=_about(event, "slack_event_buried"))
        await self._settle(lambda: self._engine.inbox.bury(event.id, error, self._owner))
        try:
            await self._intents.apologise(event)
        except SurfaceError as failure:
            extra = {"action": "slack_not_told", "code": failure.code}
            logger.info("not told", extra=extra)

    async def _retry(self, event: ClaimedEvent, error: str, delay: float) -> None:
        await self._settle(
            lambda: self._engine.inbox.retry_later(event.id, error, delay, self._owner)
        )

    async def _settle(self, call: Callable[[], Awaitable[object]]) -> None:
        """Report on an event; where the database stays away, its claim runs out."""
        try:
            await patiently(call, seconds=self._lease_seconds)
        except StoreUnavailable:
            logger.warning("not reported", extra={"action": "slack_event_not_reported"})


def _about(event: ClaimedEvent, action: str) -> dict[str, object]:
    return {"action": action, "event_id": event.id, "kind": event.event.kind}
