"""Tells owners what has happened while they were away: once, whichever replica does it.

Theory of operation. A notification is claimed for as long as a lease, noted as being sent before the
platform is called, and as sent after. Whoever finds it noted as being sent looks for it first. All calls
for one notification end before its claim does, so two senders never overlap.
"""

import asyncio
import logging
from typing import Final, Protocol
from uuid import UUID, uuid4

from adapters.errors import Denied, Gone, MessageTooLong, RateLimited, SurfaceError, Unavailable
from config.delivery_settings import DeliverySettings
from engine.api import Engine, StoreError
from engine.chat.notification import Notification

log = logging.getLogger(__name__)

AT_ONCE: Final = 5
TRIES_MAX: Final = 20
"""Claims of one notification; a day of trouble would otherwise be a day of calls."""
PAUSE_SECONDS_MAX: Final = 300.0
"""Between two tries, at most."""
_LEASE_USED: Final = 0.8


class Notifier(Protocol):
    """A platform as a place to tell owners things. Failures are SurfaceErrors."""

    @property
    def platform(self) -> str:
        """The platform's name."""
        ...

    async def send(self, notification: Notification) -> bool:
        """Tell the owner, once; where it may be there already, look first. False: there is nobody to
        tell."""
        ...


class NotificationPump:
    """Sends the notifications of one platform until it is drained."""

    def __init__(
        self,
        engine: Engine,
        notifier: Notifier,
        settings: DeliverySettings,
        *,
        poll_seconds: float = 2.0,
    ) -> None:
        self._engine = engine
        self._notifier = notifier
        self._lease_seconds = settings.lease_seconds
        self._poll_seconds = poll_seconds
        self._draining = asyncio.Event()

    def drain(self) -> None:
        """Take nothing more; `run` returns when what is under way is done."""
        self._draining.set()

    async def run(self) -> None:
        """Send what there is, again and again, until drained."""
        while not self._draining.is_set():
            if await self._round():
                continue
            try:
                async with asyncio.timeout(self._poll_seconds):
                    await self._draining.wait()
            except TimeoutError:
                continue

    async def _round(self) -> bool:
        """Send some. True: there may be more."""
        claim = uuid4()
        try:
            async with asyncio.timeout(self._lease_seconds):
                claimed = await self._engine.claim_notifications(
                    self._notifier.platform,
                    claim=claim,
                    limit=AT_ONCE,
                    seconds=self._lease_seconds,
                )
        except (StoreError, TimeoutError) as error:
            extra = {"action": "notifications_not_claimed"}
            log.warning("Notifications could not be looked for: %s", error, extra=extra)
            return False
        async with asyncio.TaskGroup() as group:
            for notification in claimed:
                group.create_task(self._handle(notification, claim))
        return len(claimed) == AT_ONCE

    async def _handle(self, notification: Notification, claim: UUID) -> None:
        """Send one, and note what became of it. Never raises: what fails is claimed again."""
        try:
            async with asyncio.timeout(self._lease_seconds * _LEASE_USED):
                await self._send(notification, claim)
        except TimeoutError:
            _log(notification, "notification_timeout", "A notification took too long.")
        except StoreError as error:
            extra = {"action": "notification_not_noted", "notification": notification.id}
            log.warning("What became of a notification is not noted: %s", error, extra=extra)
        except Exception:
            extra = {"action": "notification_crashed", "notification": notification.id}
            log.exception("A notification could not be handled.", extra=extra)

    async def _send(self, notification: Notification, claim: UUID) -> None:
        rows = self._engine.notifications
        if notification.attempts > TRIES_MAX:
            await rows.mark_dropped(notification.id, claim)
            _log(notification, "notification_given_up", "A notification was given up.")
            return
        if not await rows.mark_sending(notification.id, claim):
            return
        try:
            is_sent = await self._notifier.send(notification)
        except SurfaceError as error:
            await self._note_failure(notification, claim, error)
        else:
            await (rows.mark_sent if is_sent else rows.mark_dropped)(notification.id, claim)

    async def _note_failure(
        self, notification: Notification, claim: UUID, error: SurfaceError
    ) -> None:
        rows = self._engine.notifications
        _log(notification, "notification_failed", "A notification was not sent.", code=error.code)
        match error:
            case RateLimited(retry_after_seconds=wait):
                is_unsent = not notification.may_be_sent
                await rows.release(notification.id, claim, seconds=wait, is_unsent=is_unsent)
            case Unavailable(outcome_unknown=unknown):
                is_unsent = not unknown and not notification.may_be_sent
                await rows.release(
                    notification.id,
                    claim,
                    seconds=_pause_seconds(notification.attempts),
                    is_unsent=is_unsent,
                )
            case Denied() | Gone() | MessageTooLong() | SurfaceError():
                await rows.mark_dropped(notification.id, claim)


def _pause_seconds(attempts: int) -> float:
    return min(2.0**attempts, PAUSE_SECONDS_MAX)


def _log(notification: Notification, action: str, sentence: str, code: str = "") -> None:
    extra = {
        "action": action,
        "chat_id": str(notification.chat_id),
        "notification": notification.id,
        "code": code,
    }
    log.warning(sentence, extra=extra)
