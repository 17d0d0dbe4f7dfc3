"""Slack as one part of a process: hears, answers and delivers for one installation until it is drained."""

import asyncio
import logging

import aiohttp
from aiohttp import web

from adapters.contract import ChatDefaults
from adapters.delivery.notification_pump import NotificationPump
from adapters.delivery.pump import DeliveryPump
from adapters.errors import SurfaceError
from adapters.slack.client import SlackClient, web_client
from adapters.slack.courtesy import Courtesies
from adapters.slack.forms import FormDesk
from adapters.slack.identity import SlackIdentity
from adapters.slack.inbox_worker import InboxWorker
from adapters.slack.intent_handler import IntentHandler
from adapters.slack.markup import MrkdwnRenderer
from adapters.slack.notifier import SlackNotifier
from adapters.slack.people import People
from adapters.slack.questions import MayAnswer, anybody_may_answer
from adapters.slack.receiver import HttpDoor, SlackReceiver
from adapters.slack.sockets import SocketMode
from adapters.slack.surface import SlackSurface
from config.settings import DeliverySettings, SlackSettings
from config.side_settings import NotificationsSettings
from engine.api import Engine

logger = logging.getLogger(__name__)

IDENTIFY_SECONDS_MIN = 1.0
IDENTIFY_SECONDS_MAX = 60.0


class SlackAdapter:
    """Serves the workspace of one bot token.

    `run` runs until `drain`; `routes` are for the web server and answer 503 until Slack has told who
    we are. With an app-level token it listens on sockets, with a signing secret over HTTP.
    """

    def __init__(
        self,
        engine: Engine,
        settings: SlackSettings,
        delivery: DeliverySettings,
        *,
        defaults: ChatDefaults | None = None,
        may_answer: MayAnswer = anybody_may_answer,
        notifications: NotificationsSettings | None = None,
    ) -> None:
        if settings.bot_token is None:
            raise ValueError("Slack needs a bot token")
        self._engine = engine
        self._settings = settings
        self._delivery = delivery
        self._defaults = defaults or ChatDefaults()
        self._may_answer = may_answer
        self._notifications = notifications or NotificationsSettings()
        self._bot_token = settings.bot_token
        self._receiver: SlackReceiver | None = None
        self._sockets: SocketMode | None = None
        self._pump: DeliveryPump | None = None
        self._courtesies = Courtesies()
        self._ready = asyncio.Event()
        self._draining = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_started = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether Slack can reach us, as far as we can tell."""
        if self._receiver is None:
            return False
        return self._sockets is None or self._sockets.is_connected

    @property
    def deliveries_held(self) -> int:
        """Replies that this process brings into threads at present."""
        return 0 if self._pump is None else self._pump.held_count

    def routes(self) -> list[web.RouteDef]:
        """The routes that Slack posts to; none without a signing secret."""
        if self._settings.signing_secret is None:
            return []
        secret = self._settings.signing_secret.reveal()
        return HttpDoor(secret, lambda: self._receiver).routes()

    def start(self) -> None:
        """Run in a task of its own; `drain` ends it."""
        self._task = asyncio.get_running_loop().create_task(self.run(), name="slack")

    async def wait_until_ready(self) -> None:
        """Return once deliveries are taken, over HTTP at least or on a first socket.

        Raises what ended `run` before, if that is what happened.
        """
        await self._ready.wait()
        if self._ended.is_set() and self._task is not None:
            await self._task

    async def run(self) -> None:
        """Hear, answer and deliver until `drain`."""
        self._is_started = True
        try:
            async with aiohttp.ClientSession() as session:
                await self._run(session)
        finally:
            self._receiver = None
            self._ended.set()
            self._ready.set()

    async def drain(self) -> None:
        """Hear no more, finish what has been begun, and let go of every delivery."""
        self._draining.set()
        if self._is_started:
            await self._ended.wait()
        if self._task is not None:
            await self._task

    async def _run(self, session: aiohttp.ClientSession) -> None:
        clock = asyncio.get_running_loop().time
        api_url = self._settings.api_url
        sdk = web_client(self._bot_token.reveal(), api_url=api_url, session=session)
        client = SlackClient(sdk)
        identity = await self._identify(client)
        if identity is None:
            return
        surface = SlackSurface(client, edit_interval_ms_min=self._settings.edit_interval_ms_min)
        pump = self._pump = DeliveryPump(self._engine, surface, MrkdwnRenderer(), self._delivery)
        intents = IntentHandler(
            self._engine,
            client,
            People(client, clock=clock),
            identity=identity,
            settings=self._settings,
            defaults=self._defaults,
            may_answer=self._may_answer,
            spawn=self._courtesies.spawn,
        )
        worker = InboxWorker(self._engine, intents, self._delivery)
        receiver = SlackReceiver(
            self._engine,
            identity=identity,
            forms=FormDesk(self._engine, client, identity, self._may_answer),
            stop_reaction=self._settings.stop_reaction,
            spawn=self._courtesies.spawn,
        )
        if self._settings.app_token is not None:
            token = self._settings.app_token.reveal()
            self._sockets = SocketMode(receiver.app, token, sdk, clock=clock)
        self._receiver = receiver
        notifier = SlackNotifier(
            client, installation=identity.team_id, notify=self._settings.notify
        )
        notices = NotificationPump(
            self._engine,
            notifier,
            self._delivery,
            poll_seconds=self._notifications.poll_seconds,
        )
        await self._run_parts(worker, pump, notices)

    async def _run_parts(
        self, worker: InboxWorker, pump: DeliveryPump, notices: NotificationPump
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            noticing = tasks.create_task(notices.run(), name="slack notices")
            working = tasks.create_task(worker.run(), name="slack inbox")
            pumping = tasks.create_task(pump.run(), name="slack pump")
            listening: asyncio.Task[None] | None = None
            if self._sockets is not None:
                listening = tasks.create_task(self._sockets.run(), name="slack sockets")
                tasks.create_task(self._tell_when_connected(self._sockets))
            else:
                self._ready.set()
            await self._draining.wait()
            self._receiver = None
            if listening is not None:
                listening.cancel()
            worker.drain()
            await working
            pump.drain()
            notices.drain()
            await pumping
            await noticing
            await self._courtesies.close()
            if self._sockets is not None:
                self._sockets.first_connected.set()

    async def _tell_when_connected(self, sockets: SocketMode) -> None:
        await sockets.first_connected.wait()
        self._ready.set()

    async def _identify(self, client: SlackClient) -> SlackIdentity | None:
        """Ask Slack who we are until it tells; None when drained before."""
        delay = IDENTIFY_SECONDS_MIN
        while not self._draining.is_set():
            try:
                who = await client.identify()
            except SurfaceError as error:
                logger.warning(
                    "Slack does not say who we are",
                    extra={"action": "slack_not_identified", "code": error.code},
                )
            else:
                return SlackIdentity(
                    team_id=str(who["team_id"]),
                    bot_user_id=str(who["user_id"]),
                    bot_id=str(who.get("bot_id") or ""),
                )
            try:
                async with asyncio.timeout(delay):
                    await self._draining.wait()
            except TimeoutError:
                delay = min(delay * 2, IDENTIFY_SECONDS_MAX)
        return None
