"""Whether somebody may answer a question, and what they are told if not: the tool's rule, held against Slack's groups.

The engine looks at its own rule again when the answer is given; here it is asked early, so that nobody
fills in a form in vain.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from adapters.errors import SurfaceError
from adapters.slack.identity import PLATFORM
from adapters.slack.usergroups import Usergroups
from adapters.slack.workspaces import Workspace
from engine.api import Engine
from engine.chat.actions import RequiredAction
from engine.chat.answerers import PLATFORM_GROUP, Answerers, refusal_words, who_may
from engine.chat.content import Author

logger = logging.getLogger(__name__)

_USERGROUP: Final = f"{PLATFORM_GROUP}{PLATFORM}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """`refusal`: what whoever may not answer is told, else empty. `groups`: those of the rule they are in."""

    refusal: str = ""
    groups: frozenset[str] = frozenset()


ANYBODYS: Final = Right()


class AnswerRights:
    """Looks at rules in any workspace. Raises SurfaceError or StoreUnavailable where it cannot tell."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._usergroups = Usergroups(clock=clock)

    async def of_user(self, workspace: Workspace, action: RequiredAction, user_id: str) -> Right:
        """Of a user as a click or a form names them."""
        if action.answerers is None:
            return ANYBODYS
        by = Author(identity=await identity_in(workspace, user_id))
        return await self.of(workspace, action, by)

    async def of(self, workspace: Workspace, action: RequiredAction, by: Author) -> Right:
        """Of an author whose identity is known."""
        answerers = action.answerers
        if answerers is None:
            return ANYBODYS
        groups = await self._groups_of(workspace, answerers, by)
        if await self._engine.may_answer(action, by, groups=groups):
            return Right(groups=groups)
        words = who_may(
            answerers, asker=action.asker, names=await self.names_in(workspace, answerers)
        )
        return Right(refusal=refusal_words(words), groups=groups)

    async def names_in(self, workspace: Workspace, answerers: Answerers) -> dict[str, str]:
        """What people and user groups are called, as far as Slack says."""
        ids = {
            identity: identity.rpartition(":")[2]
            for identity in answerers.people
            if identity.startswith(f"{PLATFORM}:")
        }
        called = await workspace.people.names_of(ids.values())
        names = {identity: called.get(user_id, identity) for identity, user_id in ids.items()}
        for group in answerers.groups:
            if group_id := _usergroup_here(workspace, group):
                handle = await self._handle(workspace, group_id)
                names |= {group: f"members of @{handle}"} if handle else {}
        return names

    async def _groups_of(
        self, workspace: Workspace, answerers: Answerers, by: Author
    ) -> frozenset[str]:
        """The user groups of this workspace that the rule names and that somebody is in."""
        user_id = by.identity.rpartition(":")[2]
        found = set()
        for group in answerers.groups:
            group_id = _usergroup_here(workspace, group)
            if group_id and user_id in await self._usergroups.members_of(workspace, group_id):
                found.add(group)
        return frozenset(found)

    async def _handle(self, workspace: Workspace, group_id: str) -> str | None:
        try:
            return await self._usergroups.handle_of(workspace, group_id)
        except SurfaceError as error:
            extra = {"action": "slack_usergroups_not_listed", "code": error.code}
            logger.info("user groups not listed", extra=extra)
            return None


async def identity_in(workspace: Workspace, user_id: str) -> str:
    """The identity of a user as authors have it, which may be of another workspace than ours."""
    await workspace.people.names_of([user_id])
    return workspace.identity_of(user_id)


def _usergroup_here(workspace: Workspace, group: str) -> str | None:
    """The id of a user group of this workspace; None for any other group."""
    if not group.startswith(_USERGROUP):
        return None
    team_id, _, group_id = group.removeprefix(_USERGROUP).partition(":")
    return group_id if team_id == workspace.identity.team_id else None
