"""The installations that a process serves: who we are in each of them, and by which client we speak there.

Several apps may be served side by side, and each of them in several workspaces. What comes in says which
app it is for by the door that it came through; what goes out says it by its installation.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from adapters.errors import Denied, Unavailable
from adapters.slack.client import SlackClient
from adapters.slack.identity import SlackIdentity, app_of
from adapters.slack.people import People
from adapters.slack.wire import Json

logger = logging.getLogger(__name__)

NOT_INSTALLED = "not_installed"
NOT_IDENTIFIED = "not_identified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One installation, as it is now."""

    identity: SlackIdentity
    client: SlackClient
    people: People

    def identity_of(self, user_id: str) -> str:
        """The stable identity of a user: of their own workspace, where it is another than ours.

        Known once `people` was asked for them.
        """
        team_id = self.people.team_of(user_id, self.identity.team_id)
        return self.identity.identity_of(user_id, team_id)


class Workspaces(Protocol):
    """Finds installations of one app. What it finds may be a moment old."""

    async def find(self, installation: str) -> Workspace | None:
        """The installation with this key; None where there is none."""
        ...

    async def sent_to(self, body: Json) -> Workspace | None:
        """The installation that a delivery of Slack's is for; None where there is none."""
        ...

    def told_of_end(self, body: Json) -> None:
        """A delivery says that an installation, or its token, is over."""
        ...


class OneWorkspace:
    """An app that has a bot token of its own: whatever comes is for the workspace of that token."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def find(self, installation: str) -> Workspace | None:
        """That workspace, if it is meant."""
        return self._workspace if installation == self._workspace.identity.installation else None

    async def sent_to(self, body: Json) -> Workspace | None:  # noqa: ARG002 - see Workspaces
        """That workspace."""
        return self._workspace

    def told_of_end(self, body: Json) -> None:  # noqa: ARG002 - see Workspaces
        """Nothing goes on until somebody sets another token."""
        extra = {
            "action": "slack_installation_ended",
            "installation": self._workspace.identity.installation,
        }
        logger.error("installation ended", extra=extra)


class AllWorkspaces:
    """The installations of all apps of the process. `expected`: those that may come yet."""

    def __init__(self, expected: Iterable[str] = ()) -> None:
        self._expected = frozenset(expected)
        self._apps: dict[str, Workspaces] = {}

    @property
    def apps(self) -> Mapping[str, Workspaces]:
        """What each app is installed in, by the app's name."""
        return self._apps

    def add(self, app: str, workspaces: Workspaces) -> None:
        """Serve an app from now on."""
        self._apps[app] = workspaces

    async def find(self, installation: str) -> Workspace:
        """The installation with this key. Raises Denied where there is none, or no longer.

        Raises Unavailable while Slack has not told who its app is.
        """
        app = self._apps.get(app_of(installation))
        if app is None and app_of(installation) in self._expected:
            raise Unavailable(NOT_IDENTIFIED, outcome_unknown=False)
        workspace = None if app is None else await app.find(installation)
        if workspace is None:
            raise Denied(NOT_INSTALLED)
        return workspace
