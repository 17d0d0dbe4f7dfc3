"""Slack as one part of a process: hears, answers and delivers for all its apps until it is drained."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from types import MappingProxyType

import aiohttp
from aiohttp import web

from adapters.contract import ChatDefaults
from adapters.delivery.call_times import CallTimes
from adapters.delivery.notification_pump import NotificationPump
from adapters.delivery.pump import DeliveryPump
from adapters.slack.agent_view import AgentStatus
from adapters.slack.answer_rights import AnswerRights
from adapters.slack.app import SlackApp
from adapters.slack.command_desk import CommandDesk
from adapters.slack.courtesy import Courtesies
from adapters.slack.desk import House
from adapters.slack.forms import FormDesk
from adapters.slack.identity import PLATFORM
from adapters.slack.inbox_worker import InboxWorker
from adapters.slack.intent_handler import IntentHandler
from adapters.slack.limits import RATES
from adapters.slack.markup import MrkdwnRenderer
from adapters.slack.notifier import SlackNotifier
from adapters.slack.reactions import Reactions
from adapters.slack.status_board import Sign, StatusBoard
from adapters.slack.streams import SlackStreams
from adapters.slack.surface import SlackSurface
from adapters.slack.workspaces import AllWorkspaces
from config.delivery_settings import DeliverySettings
from config.settings import SlackSettings
from config.side_settings import NotificationsSettings
from config.slack_agent_settings import AgentView
from config.slack_apps import slack_apps
from engine.api import Engine
from engine.budgets.budget import Budget
from engine.budgets.memory_budget import MemoryBudget


class SlackAdapter:
    """Serves the apps of the settings, each for itself: one that is broken stops no other.

    `run` runs until `drain`; `routes` are for the web server and answer 503 until Slack has told who
    we are.
    """

    def __init__(
        self,
        engine: Engine,
        settings: SlackSettings,
        delivery: DeliverySettings,
        *,
        defaults: ChatDefaults | None = None,
        app_defaults: Mapping[str, ChatDefaults] = MappingProxyType({}),
        notifications: NotificationsSettings | None = None,
        budget: Budget | None = None,
        public_url: str | None = None,
    ) -> None:
        """`app_defaults`: of apps that begin chats otherwise. `public_url`: where people reach us."""
        defaults = defaults or ChatDefaults()
        self._engine = engine
        self._settings = settings
        self._delivery = delivery
        self._notifications = notifications or NotificationsSettings()
        self._app_defaults = app_defaults
        self._apps = tuple(
            SlackApp(
                engine,
                settings,
                own,
                name=name,
                bot=app_defaults.get(name, defaults).bot,
                public_url=public_url,
            )
            for name, own in slack_apps(settings).items()
        )
        self._workspaces = AllWorkspaces(app.name for app in self._apps)
        self._times = CallTimes(
            budget or MemoryBudget(),
            platform=PLATFORM,
            rates={method: rate.times(settings.call_rate) for method, rate in RATES.items()},
        )
        self._courtesies = Courtesies()
        self._house = House(
            engine=engine,
            settings=settings,
            defaults=defaults,
            rights=AnswerRights(engine, clock=monotonic),
            spawn=self._courtesies.spawn,
            times=self._times,
        )
        self._board = StatusBoard(self._workspaces, _signs(engine, settings, self._times))
        self._pump: DeliveryPump | None = None
        self._ready = asyncio.Event()
        self._draining = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_started = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether Slack can reach every app, as far as we can tell."""
        return all(app.is_connected for app in self._apps)

    @property
    def trouble(self) -> str | None:
        """Why nobody can be served, if so: no app works, or one was not heard of at all yet."""
        works = any(app.trouble is None for app in self._apps)
        if works and not any(app.is_pending for app in self._apps):
            return None
        return _listed({_name_of(app): app.trouble for app in self._apps if app.trouble})

    @property
    def weakness(self) -> str | None:
        """What is wrong with single apps: they do not work, or Slack cannot reach them."""
        return _listed({_name_of(app): why for app in self._apps if (why := _trouble_of(app))})

    @property
    def deliveries_held(self) -> int:
        """Replies that this process brings into threads at present."""
        return 0 if self._pump is None else self._pump.held_count

    def routes(self) -> list[web.RouteDef]:
        """The routes that Slack posts to; none without a signing secret."""
        return [route for app in self._apps for route in app.routes()]

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
            self._close_apps()
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
        async with asyncio.TaskGroup() as tasks:
            for app in self._apps:
                forms = FormDesk(self._house)
                serving = app.serve(
                    self._workspaces,
                    session,
                    self._draining,
                    forms=forms,
                    commands=CommandDesk(self._house),
                    spawn=self._courtesies.spawn,
                )
                tasks.create_task(serving, name=f"slack app {app.name}".rstrip())
            if await self._is_any_open():
                await self._serve(*self._parts())

    async def _is_any_open(self) -> bool:
        """Return once any app takes deliveries. False when drained before."""
        waiting = [
            asyncio.create_task(event.wait())
            for event in (self._draining, *(app.opened for app in self._apps))
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        return any(app.opened.is_set() for app in self._apps)

    def _parts(self) -> tuple[InboxWorker, DeliveryPump, NotificationPump]:
        surface = SlackSurface(
            self._workspaces,
            edit_interval_ms_min=self._settings.edit_interval_ms_min,
            pages_max=self._delivery.pages_max,
            file_bytes_max=self._delivery.file_bytes_max,
            streaming=SlackStreams(
                self._workspaces, self._settings, asks_feedback=self._settings.feedback
            ),
            asks_feedback=self._settings.feedback,
            rights=self._house.rights,
        )
        pump = self._pump = DeliveryPump(
            self._engine,
            surface,
            MrkdwnRenderer(),
            self._delivery,
            times=self._times,
            on_status=self._board.show,
        )
        intents = IntentHandler(self._house, self._workspaces, defaults=self._app_defaults)
        worker = InboxWorker(self._engine, intents, self._delivery)
        notices = NotificationPump(
            self._engine,
            SlackNotifier(self._workspaces, notify=self._settings.notify, times=self._times),
            self._delivery,
            poll_seconds=self._notifications.poll_seconds,
        )
        return worker, pump, notices

    def _close_apps(self) -> None:
        for app in self._apps:
            app.close()

    async def _serve(
        self, worker: InboxWorker, pump: DeliveryPump, notices: NotificationPump
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            pacing = tasks.create_task(self._times.run(), name="slack pace")
            noticing = tasks.create_task(notices.run(), name="slack notices")
            working = tasks.create_task(worker.run(), name="slack inbox")
            pumping = tasks.create_task(pump.run(), name="slack pump")
            waiting = tasks.create_task(self._tell_when_connected())
            await self._draining.wait()
            self._close_apps()
            waiting.cancel()
            worker.drain()
            await working
            pump.drain()
            notices.drain()
            await pumping
            await noticing
            await self._board.close()
            await self._courtesies.close()
            pacing.cancel()

    async def _tell_when_connected(self) -> None:
        for app in self._apps:
            await app.opened.wait()
            if app.sockets is not None:
                await app.sockets.first_connected.wait()
        self._ready.set()


def _signs(engine: Engine, settings: SlackSettings, times: CallTimes) -> list[Sign]:
    """What shows beside replies how threads are getting on."""
    signs: list[Sign] = []
    if settings.agent_view is not AgentView.OFF:
        signs.append(AgentStatus(engine, settings.agent_view, times))
    reactions = Reactions(engine, settings, times)
    return [*signs, reactions] if reactions.is_any_set else signs


def _listed(troubles: Mapping[str, str]) -> str | None:
    return "; ".join(f"{name}: {why}" for name, why in troubles.items()) or None


def _trouble_of(app: SlackApp) -> str | None:
    if app.trouble is None and not app.is_connected:
        return "no socket is open"
    return app.trouble


def _name_of(app: SlackApp) -> str:
    return f"app {app.name}" if app.name else "the app without a name"
