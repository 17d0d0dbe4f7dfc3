"""Removes what nobody needs any more, in small pieces; one replica at a time does it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """A piece of work that says how much it did. `is_repeated`: again in this round while it did some."""

    name: str
    work: Callable[[], Awaitable[int]]
    is_repeated: bool = True


class Housekeeper:
    """Keeps the tables that only grow within bounds. A chore that fails is tried again next time."""

    def __init__(
        self,
        leases: Leases,
        inbox: Inbox,
        files: Files | None = None,
        notifications: Notifications | None = None,
        *,
        chores: Sequence[Chore] = (),
        round_seconds: float = ROUND_SECONDS,
    ) -> None:
        """`chores` are done after those that come with the inbox, the files and the notifications."""
        self._leases = leases
        self._chores = [
            Chore(name="heartbeats", work=leases.forget_heartbeats, is_repeated=False),
            Chore(name="inbox", work=inbox.purge),
        ]
        if files is not None:
            self._chores.append(Chore(name="files", work=files.forget_due))
        if notifications is not None:
            self._chores.append(
                Chore(name="notifications", work=notifications.clean_up, is_repeated=False)
            )
        self._chores += chores
        self._round_seconds = round_seconds
        self._owner: UUID = uuid4()

    async def run(self) -> None:
        """Clean up again and again. Never returns."""
        while True:
            try:
                await self.clean_up()
            except StoreError as error:
                _warn("all", error)
            await asyncio.sleep(self._round_seconds)

    async def clean_up(self) -> int | None:
        """One round: how many rows went; None: another replica does it."""
        if not await self._holds():
            return None
        done = 0
        for chore in self._chores:
            try:
                done += await self._do(chore)
            except StoreError as error:
                # The others are no worse for it.
                _warn(chore.name, error)
        return done

    async def _do(self, chore: Chore) -> int:
        done = 0
        while some := await chore.work():
            done += some
            # Held on to after each piece: a long round must not become two.
            if not chore.is_repeated or not await self._holds():
                break
        return done

    async def _holds(self) -> bool:
        fence = await self._leases.hold(ROLE, self._owner, self._round_seconds * 2)
        return fence is not None


def _warn(chore: str, error: StoreError) -> None:
    extra = {"action": "housekeeping_failed", "chore": chore}
    log.warning("Something was not cleaned up: %s", error, extra=extra)
