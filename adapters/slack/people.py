"""What people are called. A name that cannot be had soon is the id: a message never waits for it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable

from adapters.errors import SurfaceError
from adapters.slack.client import SlackClient

logger = logging.getLogger(__name__)

NAMES_MAX = 10_000
NAME_SECONDS = 3600.0
"""People change their names now and then."""
UNKNOWN_SECONDS = 60.0
"""How long a failed look-up is not repeated."""
WAIT_SECONDS = 1.0


class People:
    """Names of one workspace's users, kept for a while."""

    def __init__(self, client: SlackClient, *, clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._names: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def names_of(self, user_ids: Iterable[str]) -> dict[str, str]:
        """The names by id; those that are not known soon are left out."""
        wanted = dict.fromkeys(user_ids)
        unknown = [user_id for user_id in wanted if self._known(user_id) is None]
        if unknown:
            await asyncio.gather(*(self._look_up(user_id) for user_id in unknown))
        names = {user_id: self._known(user_id) or "" for user_id in wanted}
        return {user_id: name for user_id, name in names.items() if name}

    def _known(self, user_id: str) -> str | None:
        """The name, empty where it could not be had, None where nobody asked lately."""
        found = self._names.get(user_id)
        if found is None or found[1] <= self._clock():
            return None
        return found[0]

    async def _look_up(self, user_id: str) -> None:
        name, seconds = "", UNKNOWN_SECONDS
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                name, seconds = await self._client.user_name(user_id), NAME_SECONDS
        except (SurfaceError, TimeoutError) as error:
            logger.info(
                "name not found",
                extra={"action": "slack_name_not_found", "reason": type(error).__name__},
            )
        self._names[user_id] = (name, self._clock() + seconds)
        self._names.move_to_end(user_id)
        while len(self._names) > NAMES_MAX:
            self._names.popitem(last=False)
