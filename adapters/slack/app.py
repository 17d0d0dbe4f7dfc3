"""One Slack app: the doors that its deliveries come in by, and the workspaces that it is installed in."""

import asyncio
import logging

import aiohttp
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import SurfaceError
from adapters.slack.client import SlackClient, web_client
from adapters.slack.courtesy import Spawn
from adapters.slack.forms import FormDesk
from adapters.slack.identity import SlackIdentity
from adapters.slack.people import People
from adapters.slack.receiver import HttpDoor, SlackReceiver
from adapters.slack.sockets import SocketMode
from adapters.slack.workspaces import OneWorkspace, Workspace, Workspaces
from config.settings import SlackSettings
from engine.api import Engine

logger = logging.getLogger(__name__)

IDENTIFY_SECONDS_MIN = 1.0
IDENTIFY_SECONDS_MAX = 60.0


class SlackApp:
    """An app with a bot token. Deaf until `open`, and again after `close`.

    With an app-level token it listens on sockets, with a signing secret over HTTP.
    """

    def __init__(self, settings: SlackSettings, *, name: str = "") -> None:
        if settings.bot_token is None:
            raise ValueError("Slack needs a bot token")
        self.name = name
        self._settings = settings
        self._bot_token = settings.bot_token
        self._receiver: SlackReceiver | None = None
        self.sockets: SocketMode | None = None

    @property
    def is_connected(self) -> bool:
        """Whether Slack can reach us, as far as we can tell."""
        if self._receiver is None:
            return False
        return self.sockets is None or self.sockets.is_connected

    def routes(self) -> list[web.RouteDef]:
        """The routes that Slack posts to; none without a signing secret. 503 while deaf."""
        if self._settings.signing_secret is None:
            return []
        secret = self._settings.signing_secret.reveal()
        return HttpDoor(secret, lambda: self._receiver).routes()

    async def find_workspaces(
        self, session: aiohttp.ClientSession, draining: asyncio.Event
    ) -> Workspaces | None:
        """Ask Slack who we are until it tells; None when drained before."""
        client = SlackClient(self._sdk(session))
        delay = IDENTIFY_SECONDS_MIN
        while not draining.is_set():
            try:
                identity = await self._identify(client)
            except SurfaceError as error:
                logger.warning(
                    "Slack does not say who we are",
                    extra={"action": "slack_not_identified", "code": error.code},
                )
            else:
                people = People(client, clock=asyncio.get_running_loop().time)
                return OneWorkspace(Workspace(identity=identity, client=client, people=people))
            try:
                async with asyncio.timeout(delay):
                    await draining.wait()
            except TimeoutError:
                delay = min(delay * 2, IDENTIFY_SECONDS_MAX)
        return None

    def open(
        self,
        engine: Engine,
        workspaces: Workspaces,
        session: aiohttp.ClientSession,
        *,
        forms: FormDesk,
        spawn: Spawn,
    ) -> None:
        """Take deliveries over HTTP from now on; `sockets`, if there are any, are to be run."""
        receiver = SlackReceiver(
            engine,
            workspaces=workspaces,
            forms=forms,
            stop_reaction=self._settings.stop_reaction,
            answer_bots=self._settings.answer_bots,
            spawn=spawn,
        )
        if self._settings.app_token is not None:
            token = self._settings.app_token.reveal()
            self.sockets = SocketMode(
                receiver.app, token, self._sdk(session), sockets=self._settings.sockets
            )
        self._receiver = receiver

    def close(self) -> None:
        """Take no more over HTTP; what was taken is stored."""
        self._receiver = None

    def _sdk(self, session: aiohttp.ClientSession) -> AsyncWebClient:
        return web_client(self._bot_token.reveal(), api_url=self._settings.api_url, session=session)

    async def _identify(self, client: SlackClient) -> SlackIdentity:
        who = await client.identify()
        return SlackIdentity(
            team_id=str(who["team_id"]),
            bot_user_id=str(who["user_id"]),
            bot_id=str(who.get("bot_id") or ""),
            app=self.name,
        )
