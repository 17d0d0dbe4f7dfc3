"""What people are called and where they are at home. What cannot be had soon is the id: no message waits for it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from adapters.errors import SurfaceError
from adapters.slack.client import SlackClient
from adapters.slack.wire import Json, text_at

logger = logging.getLogger(__name__)

PEOPLE_MAX = 10_000
KNOWN_SECONDS = 3600.0
"""People change their names now and then."""
UNKNOWN_SECONDS = 60.0
"""How long a failed look-up is not repeated."""
WAIT_SECONDS = 1.0
_NO_TEAMS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Person:
    name: str
    team_id: str
    until: float


class People:
    """Users whom one workspace's bot has heard of, kept for a while."""

    def __init__(self, client: SlackClient, *, clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._people: OrderedDict[str, _Person] = OrderedDict()
        self._looking: dict[str, asyncio.Task[None]] = {}

    async def names_of(
        self, user_ids: Iterable[str], *, teams: Mapping[str, str] = _NO_TEAMS
    ) -> dict[str, str]:
        """The names by id; those that are not known soon are left out.

        `teams`: where an event says that they are at home, for those whom Slack tells nothing of.
        """
        wanted = dict.fromkeys(user_ids)
        unknown = [user_id for user_id in wanted if self._known(user_id) is None]
        if unknown:
            looks = (self._look_together(user_id, teams.get(user_id, "")) for user_id in unknown)
            await asyncio.gather(*looks)
        found = {user_id: self._known(user_id) for user_id in wanted}
        return {user_id: person.name for user_id, person in found.items() if person and person.name}

    def team_of(self, user_id: str, ours: str) -> str:
        """The workspace that they are at home in, as far as was heard; else ours."""
        person = self._people.get(user_id)
        return person.team_id if person and person.team_id else ours

    def _known(self, user_id: str) -> _Person | None:
        """The person, without a name where it could not be had; None where nobody asked lately."""
        found = self._people.get(user_id)
        return None if found is None or found.until <= self._clock() else found

    async def _look_together(self, user_id: str, team_id: str) -> None:
        """Ask once for all who want to know at the same time."""
        looking = self._looking.get(user_id)
        if looking is None:
            looking = asyncio.create_task(self._look_up(user_id, team_id))
            self._looking[user_id] = looking
            looking.add_done_callback(lambda _: self._looking.pop(user_id, None))
        await asyncio.shield(looking)

    async def _look_up(self, user_id: str, team_id: str) -> None:
        before = self._people.get(user_id)
        name, seconds = "", UNKNOWN_SECONDS
        if before is not None:
            # Whoever has been at home somewhere is so still, whatever this look-up comes to.
            team_id = before.team_id or team_id
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                user = await self._client.user(user_id)
        except (SurfaceError, TimeoutError) as error:
            logger.info(
                "name not found",
                extra={"action": "slack_name_not_found", "reason": type(error).__name__},
            )
        else:
            name, seconds, team_id = name_of(user) or user_id, KNOWN_SECONDS, home_of(user)
        person = _Person(name=name, team_id=team_id, until=self._clock() + seconds)
        self._people[user_id] = person
        self._people.move_to_end(user_id)
        while len(self._people) > PEOPLE_MAX:
            self._people.popitem(last=False)


def name_of(user: Json) -> str:
    """What people call this user."""
    shown = text_at(user, "profile", "display_name")
    return shown or text_at(user, "real_name") or text_at(user, "name")


def home_of(user: Json) -> str:
    """The workspace of this user; empty for those who belong to an organization as a whole."""
    team_id = text_at(user, "team_id")
    return team_id if team_id.startswith("T") and not text_at(user, "enterprise_user", "id") else ""
