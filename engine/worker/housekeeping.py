"""Removes what nobody needs any more, in small pieces; one replica at a time does it."""

import asyncio
import logging
from uuid import UUID, uuid4

from engine.store.errors import StoreError
from engine.store.files import Files
from engine.store.inbox import Inbox
from engine.store.leases import Leases
from engine.store.notifications import Notifications

log = logging.getLogger(__name__)

ROLE = "housekeeping"
ROUND_SECONDS = 600.0
"""Between two rounds. What is kept is counted in days, so minutes do not matter."""


class Housekeeper:
    """Keeps the tables that only grow within bounds. A round that fails is tried again next time."""

    def __init__(
        self,
        leases: Leases,
        inbox: Inbox,
        files: Files | None = None,
        notifications: Notifications | None = None,
        *,
        round_seconds: float = ROUND_SECONDS,
    ) -> None:
        self._leases = leases
        self._inbox = inbox
        self._files = files
        self._notifications = notifications
        self._round_seconds = round_seconds
        self._owner: UUID = uuid4()

    async def run(self) -> None:
        """Clean up again and again. Never returns."""
        while True:
            try:
                await self.clean_up()
            except StoreError as error:
                extra = {"action": "housekeeping_failed"}
                log.warning("Nothing was cleaned up: %s", error, extra=extra)
            await asyncio.sleep(self._round_seconds)

    async def clean_up(self) -> int | None:
        """One round: how many rows went; None: another replica does it."""
        if await self._leases.hold(ROLE, self._owner, self._round_seconds * 2) is None:
            return None
        removed = await self._leases.forget_heartbeats()
        while some := await self._inbox.purge():
            removed += some
        while self._files is not None and (some := await self._files.forget_due()):
            removed += some
        if self._notifications is not None:
            removed += await self._notifications.clean_up()
        return removed
