"""Owns further apps in the fake's workspaces: other bots, other tokens, doors of their own."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.fakes.slack_announce import Announcer, EventMode
from tests.fakes.slack_backend import Backend
from tests.fakes.slack_http_events import HttpEvents
from tests.fakes.slack_oauth import OAuthClient
from tests.fakes.slack_sockets import Sockets
from tests.fakes.slack_state import BotInstall, Message, Workspace
from tests.fakes.slack_team import Team


class FakeApp:
    """One more app. `install_in` a workspace gives that workspace as this app and its people see it.

    There `<@BOT>` is this app's bot, and what people press goes to this app.
    """

    def __init__(self, backend: Backend, name: str) -> None:
        self.name = name
        self.app_id = backend.world.new_id("A")
        self.app_token = f"xapp-{name}"
        self.client_id = f"{name}.client"
        self.client_secret = f"{name}-client-secret"
        self.signing_secret = f"{name}-signing-secret"
        self.sockets = Sockets(
            clock=backend.clock,
            background=backend.background,
            touch=backend.world.touch,
            app_id=self.app_id,
            rng=random.Random(1),  # noqa: S311 - picks sockets, protects nothing
        )
        self.http = HttpEvents(
            clock=backend.clock,
            background=backend.background,
            touch=backend.world.touch,
            signing_secret=self.signing_secret,
        )
        self.events = _AppAnnouncer(
            clock=backend.clock,
            world=backend.world,
            sockets=self.sockets,
            http=self.http,
            mode=EventMode.SOCKET,
            rng=random.Random(1),  # noqa: S311 - orders events, protects nothing
        )
        self.oauth_client = OAuthClient(
            client_id=self.client_id,
            client_secret=self.client_secret,
            app_id=self.app_id,
            bot_of=lambda workspace: self.events.views[workspace.id].bot,
        )
        self._backend = copy.copy(backend)
        self._backend.announcer = self.events
        backend.announcer.others.append(self.events)
        backend.oauth.clients[self.client_id] = self.oauth_client

    def install_in(self, team: Team, *, bot_name: str | None = None) -> Team:
        """The workspace with this app in it; its bot joins channels that it is invited to."""
        bot: BotInstall = self._backend.world.add_bot(
            team.workspace, bot_name or self.name, app_id=self.app_id
        )
        view = copy.copy(team.workspace)
        view.bot = bot
        self.events.views[team.id] = view
        return Team(self._backend, view)

    def use_http(self, url: str) -> None:
        """Deliver to this request URL instead of sockets."""
        self.http.request_url = url
        self.events.mode = EventMode.HTTP


class _AppAnnouncer(Announcer):
    """Announces what happens in a workspace as another app hears it."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.views: dict[str, Workspace] = {}

    def posted(self, workspace: Workspace, message: Message) -> None:
        if view := self.views.get(workspace.id):
            super().posted(view, message)

    def changed(self, workspace: Workspace, message: Message, previous: Message) -> None:
        if view := self.views.get(workspace.id):
            super().changed(view, message, previous)

    def deleted(self, workspace: Workspace, message: Message) -> None:
        if view := self.views.get(workspace.id):
            super().deleted(view, message)

    def reaction(
        self, workspace: Workspace, kind: str, message: Message, *, user_id: str, name: str
    ) -> None:
        if view := self.views.get(workspace.id):
            super().reaction(view, kind, message, user_id=user_id, name=name)
