"""The addresses of messages, for people: asked of Slack once each, and left out where it does not tell soon."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from adapters.errors import SurfaceError
from adapters.slack.desk import Desk
from adapters.slack.limits import LINK

logger = logging.getLogger(__name__)

LINKS_MAX: Final = 10_000
SECONDS_MAX: Final = 3.0
AT_A_TIME: Final = 5


class Permalinks:
    """Links of any installation, kept for as long as the process lives: a message never moves."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    async def of(
        self, desk: Desk, threads: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], str]:
        """The links of (channel, timestamp) pairs; those that are not known soon are left out."""
        limit = asyncio.Semaphore(AT_A_TIME)

        async def look(channel: str, ts: str) -> None:
            key = (desk.identity.installation, channel, ts)
            if key not in self._known:
                async with limit, desk.pace.call(LINK, channel, seconds_max=SECONDS_MAX):
                    self._known[key] = await desk.client.permalink(channel, ts)

        looks = [look(channel, ts) for channel, ts in dict.fromkeys(threads)]
        try:
            async with asyncio.timeout(SECONDS_MAX):
                outcomes = await asyncio.gather(*looks, return_exceptions=True)
        except TimeoutError:
            outcomes = []
        for error in outcomes:
            if isinstance(error, SurfaceError):
                extra = {"action": "slack_link_not_found", "code": error.code}
                logger.info("link not found", extra=extra)
            elif isinstance(error, BaseException):
                raise error
        found = {
            (channel, ts): link
            for channel, ts in threads
            if (link := self._known.get((desk.identity.installation, channel, ts)))
        }
        while len(self._known) > LINKS_MAX:
            self._known.popitem(last=False)
        return found
