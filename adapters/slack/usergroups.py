"""Who is in Slack's user groups and what they are called, kept for a while."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from adapters.errors import Denied
from adapters.slack.workspaces import Workspace

KNOWN_SECONDS: Final = 300.0
"""How long somebody who was taken out of a group may still pass for a member."""
GROUPS_MAX: Final = 1_000
NOT_READABLE: Final = frozenset({"missing_scope", "no_such_subteam", "subteam_disabled"})
"""Slack tells nothing of the group: nobody is known to be in it."""
_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


class Usergroups:
    """User groups of all workspaces. Raises SurfaceError while Slack does not answer."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._members: OrderedDict[tuple[str, str], tuple[float, frozenset[str]]] = OrderedDict()
        self._handles: OrderedDict[str, tuple[float, dict[str, str]]] = OrderedDict()

    async def members_of(self, workspace: Workspace, group_id: str) -> frozenset[str]:
        """The ids of a group's users; none where we may not know."""
        key = (workspace.identity.installation, group_id)
        found = self._members.get(key)
        if found is not None and found[0] > self._clock():
            return found[1]
        try:
            members = frozenset(await workspace.client.usergroup_members(group_id))
        except Denied as error:
            if error.code not in NOT_READABLE:
                raise
            members = frozenset()
        _keep(self._members, key, (self._clock() + KNOWN_SECONDS, members))
        return members

    async def handle_of(self, workspace: Workspace, group_id: str) -> str | None:
        """What people call a group; None where we may not know."""
        key = workspace.identity.installation
        found = self._handles.get(key)
        if found is None or found[0] <= self._clock():
            try:
                handles = await workspace.client.usergroup_handles()
            except Denied as error:
                if error.code not in NOT_READABLE:
                    raise
                handles = {}
            found = (self._clock() + KNOWN_SECONDS, handles)
            _keep(self._handles, key, found)
        return found[1].get(group_id)


def _keep(kept: OrderedDict[_Key, _Kept], key: _Key, value: _Kept) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > GROUPS_MAX:
        kept.popitem(last=False)
