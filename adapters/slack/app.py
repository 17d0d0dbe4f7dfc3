"""One Slack app: the doors that its deliveries come in by, and the workspaces that it is installed in."""

import asyncio
import logging
from typing import Final

import aiohttp
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import SurfaceError
from adapters.slack.client import SlackClient, web_client
from adapters.slack.command_desk import CommandDesk
from adapters.slack.courtesy import Spawn
from adapters.slack.forms import FormDesk
from adapters.slack.identity import SlackIdentity
from adapters.slack.install_door import InstallDoor
from adapters.slack.manifest import EVENTS_PATH
from adapters.slack.oauth import Credentials, SlackOAuth
from adapters.slack.people import People
from adapters.slack.receiver import HttpDoor, SlackReceiver
from adapters.slack.sockets import SocketMode
from adapters.slack.stored_workspaces import StoredWorkspaces
from adapters.slack.token_renewal import TokenRenewal
from adapters.slack.workspaces import AllWorkspaces, OneWorkspace, Workspace, Workspaces
from config.settings import SlackSettings
from config.slack_app_settings import SlackAppSettings
from config.slack_surface_settings import emoji
from engine.api import Engine

logger = logging.getLogger(__name__)

IDENTIFY_SECONDS_MIN = 1.0
IDENTIFY_SECONDS_MAX = 60.0
NOT_ASKED: Final = "Slack has not said yet who we are"
DRAINED: Final = "it has stopped"


class SlackApp:
    """An app with a bot token of its own, or one that people install. Deaf until `serve` opens it.

    With an app-level token it listens on sockets, with a signing secret over HTTP. `trouble`: why it does
    not work, for operators; None while it does. `is_pending`: Slack has not answered at all yet.
    """

    def __init__(
        self,
        engine: Engine,
        settings: SlackSettings,
        own: SlackAppSettings,
        *,
        name: str = "",
        bot: str = "assistant",
        public_url: str | None = None,
    ) -> None:
        """`own`: what is this app's alone. `bot` and `public_url` are for the pages of an installation."""
        if own.bot_token is None and not own.can_be_installed:
            raise ValueError("a Slack app needs a bot token or a client id")
        self.name = name
        self.trouble: str | None = NOT_ASKED
        self.is_pending = True
        self.opened = asyncio.Event()
        self.sockets: SocketMode | None = None
        self._engine = engine
        self._settings = settings
        self._own = own
        self._bot = bot
        self._public_url = public_url
        self._receiver: SlackReceiver | None = None
        self._oauth: SlackOAuth | None = None
        self._stored: StoredWorkspaces | None = None

    @property
    def is_connected(self) -> bool:
        """Whether Slack can reach us, as far as we can tell."""
        if self._receiver is None:
            return False
        return self.sockets is None or self.sockets.is_connected

    def routes(self) -> list[web.RouteDef]:
        """What Slack posts to, with a signing secret, and the pages of an installation. 503 while deaf."""
        found: list[web.RouteDef] = []
        if self._own.signing_secret is not None:
            secret = self._own.signing_secret.reveal()
            path = f"{EVENTS_PATH}/{self.name}" if self.name else EVENTS_PATH
            found += HttpDoor(secret, lambda: self._receiver, path=path).routes()
        if self._own.can_be_installed and self._public_url is not None:
            door = InstallDoor(
                self._engine,
                self._own,
                self._credentials(),
                bot=self._bot,
                public_url=self._public_url,
                oauth=lambda: self._oauth,
                on_installed=self._forget,
            )
            found += door.routes()
        return found

    async def serve(
        self,
        workspaces: AllWorkspaces,
        session: aiohttp.ClientSession,
        draining: asyncio.Event,
        *,
        forms: FormDesk,
        commands: CommandDesk,
        spawn: Spawn,
    ) -> None:
        """Take deliveries from when Slack has told who we are until drained; what was taken is stored."""
        renewal = self._begin_renewing(session)
        found: Workspaces | None
        if renewal is None:
            found = await self._find_workspace(session, draining)
        else:
            found = self._stored = self._open_store(session, renewal, spawn)
        if found is None:
            return
        workspaces.add(self.name, found)
        self._open(found, session, forms=forms, commands=commands, spawn=spawn)
        try:
            async with asyncio.TaskGroup() as tasks:
                if renewal is not None:
                    # Ends by itself, since a token that is got must be stored.
                    tasks.create_task(renewal.run(draining), name="slack tokens")
                listening = None
                if self.sockets is not None:
                    listening = tasks.create_task(self.sockets.run(), name="slack sockets")
                await draining.wait()
                self.close()
                if listening is not None:
                    listening.cancel()
        finally:
            self.close()

    def close(self) -> None:
        """Take no more over HTTP."""
        self._receiver = None
        self.trouble = DRAINED

    def _open(
        self,
        workspaces: Workspaces,
        session: aiohttp.ClientSession,
        *,
        forms: FormDesk,
        commands: CommandDesk,
        spawn: Spawn,
    ) -> None:
        receiver = SlackReceiver(
            self._engine,
            workspaces=workspaces,
            forms=forms,
            commands=commands,
            stop_reaction=self._settings.stop_reaction,
            retry_reaction=emoji(self._settings.retry_reaction),
            answer_bots=self._settings.answer_bots,
            spawn=spawn,
        )
        if self._own.app_token is not None:
            token = self._own.app_token.reveal()
            self.sockets = SocketMode(
                receiver.app, token, self._sdk(session), sockets=self._own.sockets
            )
        self._receiver = receiver
        self.trouble, self.is_pending = None, False
        self.opened.set()

    # -- an app that people install --------------------------------------------------------------

    def _begin_renewing(self, session: aiohttp.ClientSession) -> TokenRenewal | None:
        if not self._own.can_be_installed:
            return None
        self._oauth = SlackOAuth(self._credentials(), session)
        return TokenRenewal(self._engine, {self.name: self._oauth})

    def _open_store(
        self, session: aiohttp.ClientSession, renewal: TokenRenewal, spawn: Spawn
    ) -> StoredWorkspaces:
        return StoredWorkspaces(
            self._engine,
            app=self.name,
            api_url=self._settings.api_url,
            session=session,
            clock=asyncio.get_running_loop().time,
            spawn=spawn,
            renew=renewal.renew,
        )

    def _credentials(self) -> Credentials:
        client_id, secret = self._own.client_id, self._own.client_secret
        if client_id is None or secret is None:
            raise ValueError("a Slack app that people install needs a client id and its secret")
        return Credentials(
            name=self.name,
            client_id=client_id,
            client_secret=secret,
            api_url=self._settings.api_url,
        )

    def _forget(self, installation: str) -> None:
        if self._stored is not None:
            self._stored.forget(installation)

    # -- an app with a token ---------------------------------------------------------------------

    async def _find_workspace(
        self, session: aiohttp.ClientSession, draining: asyncio.Event
    ) -> OneWorkspace | None:
        """Ask Slack who we are until it tells; None when drained before."""
        client = SlackClient(self._sdk(session))
        delay = IDENTIFY_SECONDS_MIN
        while not draining.is_set():
            try:
                identity = await self._identify(client)
            except SurfaceError as error:
                self.trouble = f"Slack does not say who we are: {error.code}"
                self.is_pending = False
                extra = {"action": "slack_not_identified", "code": error.code, "app": self.name}
                logger.warning("Slack does not say who we are", extra=extra)
            else:
                people = People(client, clock=asyncio.get_running_loop().time)
                return OneWorkspace(Workspace(identity=identity, client=client, people=people))
            try:
                async with asyncio.timeout(delay):
                    await draining.wait()
            except TimeoutError:
                delay = min(delay * 2, IDENTIFY_SECONDS_MAX)
        return None

    def _sdk(self, session: aiohttp.ClientSession) -> AsyncWebClient:
        token = "" if self._own.bot_token is None else self._own.bot_token.reveal()
        return web_client(token, api_url=self._settings.api_url, session=session)

    async def _identify(self, client: SlackClient) -> SlackIdentity:
        who = await client.identify()
        return SlackIdentity(
            team_id=str(who["team_id"]),
            bot_user_id=str(who["user_id"]),
            bot_id=str(who.get("bot_id") or ""),
            app=self.name,
        )
