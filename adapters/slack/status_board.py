"""Shows beside each thread how its chat is getting on, in every way that Slack has for it.

Theory of operation. Each thread has one keeper while its status is told of; it brings the newest status to
every sign, one call after the other, and again now and then while the agent works, since signs time out.
A status that changes meanwhile is brought next. All of it is best effort and holds nothing up: a sign
that fails is logged and comes right with the next status.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from adapters.contract import Place
from adapters.delivery.thread_status import Condition, ThreadStatus
from adapters.errors import SurfaceError
from adapters.slack.workspaces import AllWorkspaces, Workspace
from engine.api import StoreUnavailable

logger = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 90.0
"""Slack's status line times out after two minutes; see STATUS_SECONDS_MAX."""


LINGER_SECONDS: Final = 5.0
"""A status at rest is brought once more after this long: by then a new chat has its title."""
CLOSE_SECONDS: Final = 1.0
"""How long a process that stops waits for signs: they are brought by the next holder if they are not."""


class Sign(Protocol):
    """One way to show a status. `show` may be called with what it shows already, and again later."""

    async def show(self, workspace: Workspace, place: Place, status: ThreadStatus) -> None:
        """Show it. Raises SurfaceError or StoreUnavailable; nobody tries the same again at once."""
        ...


@dataclass(slots=True, eq=False)
class _Keeper:
    """`is_left`: nobody tells of the thread here any more, so nothing is brought a second time."""

    status: ThreadStatus
    is_left: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class StatusBoard:
    """Keeps the signs of all threads that it is told of. Give `show` to the delivery pump."""

    def __init__(
        self,
        workspaces: AllWorkspaces,
        signs: Sequence[Sign],
        *,
        again_seconds: float = AGAIN_SECONDS,
    ) -> None:
        self._workspaces = workspaces
        self._signs = tuple(signs)
        self._again_seconds = again_seconds
        self._keepers: dict[Place, _Keeper] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def show(self, place: Place, status: ThreadStatus | None) -> None:
        """Bring this status to the thread's signs soon. Neither waits nor raises."""
        keeper = self._keepers.get(place)
        if keeper is not None:
            keeper.status, keeper.is_left = status or keeper.status, status is None
            if status is not None or keeper.status.condition is Condition.WORKING:
                keeper.changed.set()
        elif status is not None and self._signs:
            self._keepers[place] = keeper = _Keeper(status)
            task = asyncio.get_running_loop().create_task(self._keep(place, keeper))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Bring what is to be brought, for a moment, and no more."""
        for keeper in self._keepers.values():
            keeper.is_left = True
            keeper.changed.set()
        if left := list(self._tasks):
            _, late = await asyncio.wait(left, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _keep(self, place: Place, keeper: _Keeper) -> None:
        """The root of a keeper's task."""
        try:
            while True:
                keeper.changed.clear()
                status = keeper.status
                await self._bring(place, status)
                if keeper.status != status:
                    continue
                if status.condition is Condition.WORKING:
                    if keeper.is_left:
                        return
                    await _wait(keeper.changed, self._again_seconds)
                elif not await _wait(keeper.changed, LINGER_SECONDS) or keeper.status == status:
                    await self._bring(place, status)
                    if keeper.status == status:
                        return
        except Exception:
            logger.exception("sign failed", extra={"action": "slack_sign_failed"})
        finally:
            del self._keepers[place]

    async def _bring(self, place: Place, status: ThreadStatus) -> None:
        try:
            workspace = await self._workspaces.find(place.installation)
        except (SurfaceError, StoreUnavailable) as error:
            _log(error)
            return
        for sign in self._signs:
            try:
                await sign.show(workspace, place, status)
            except (SurfaceError, StoreUnavailable) as error:
                _log(error)


def _log(error: Exception) -> None:
    code = error.code if isinstance(error, SurfaceError) else type(error).__name__
    logger.info("status not shown", extra={"action": "slack_status_not_shown", "code": code})


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Whether it happens within so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
