"""Owns the fake Slack as one server on loopback: the Web API, sockets, files and the people in it.

    async with FakeSlack.start() as slack:
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: len(slack.thread(harbour, question)) == 2)

Time is `slack.clock`; the app hears through sockets, or over HTTP after `slack.use_http(url)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

from tests.fakes.slack_announce import Announcer, EventMode
from tests.fakes.slack_apps import FakeApp
from tests.fakes.slack_backend import Backend
from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_deliveries import Delivery, DeliveryKind
from tests.fakes.slack_methods import answer
from tests.fakes.slack_methods_files import show_held, take_bytes
from tests.fakes.slack_oauth import OAuthClient
from tests.fakes.slack_people import OtherBot, Person
from tests.fakes.slack_rates import Fault
from tests.fakes.slack_responses import answer_response_url
from tests.fakes.slack_shown import ShownMessage, describe
from tests.fakes.slack_state import (
    BotInstall,
    Channel,
    ChannelKind,
    FileRecord,
    Message,
    View,
)
from tests.fakes.slack_team import HasUserId, Team
from tests.fakes.slack_wire import Call

Json = dict[str, Any]
Found = TypeVar("Found")

BOT_TOKEN = "xoxb-harbour-1"
APP_TOKEN = "xapp-harbour-1"
SIGNING_SECRET = "harbour-signing-secret"
FILE_DOWNLOAD = "file download"
"""What getting a file's bytes is called among the calls, and to `fail_next`."""
CLIENT_ID = "11.22"
CLIENT_SECRET = "harbour-client-secret"
LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Slack: log in</title></head></html>"


class FakeSlack:
    """A running fake. The first workspace answers the shortcuts; `add_team` makes more."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._teams: dict[str, Team] = {}
        self.clock = backend.clock
        self.sockets = backend.sockets
        self.http = backend.http
        self.rate_limits = backend.rates
        self.app_id = backend.app_id
        self.app_token = backend.app_token
        self.config_token = backend.config_token
        self.signing_secret = backend.http.signing_secret
        self.oauth = backend.oauth
        self.client = OAuthClient(
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            app_id=backend.app_id,
            bot_of=lambda workspace: workspace.bot,
        )
        backend.oauth.clients[CLIENT_ID] = self.client
        self._apps: list[FakeApp] = []

    @staticmethod
    @asynccontextmanager
    async def start(
        *,
        team_id: str = "T1",
        bot_name: str = "Wren",
        token: str = BOT_TOKEN,
        app_token: str = APP_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        clock: SlackClock | None = None,
        seed: int = 1,
        port: int = 0,
    ) -> AsyncIterator[FakeSlack]:
        """Listen on 127.0.0.1 until the block ends; nothing of the fake outlives it."""
        backend = Backend(
            clock=clock or SlackClock(),
            app_id="A0HARBOUR1",
            app_token=app_token,
            signing_secret=signing_secret,
            mode=EventMode.SOCKET,
            seed=seed,
        )
        slack = FakeSlack(backend)
        runner = web.AppRunner(slack._application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            backend.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
            slack.add_team(team_id, bot_name=bot_name, token=token)
            yield slack
        finally:
            backend.faults.clear()
            for sockets, http in (
                (backend.sockets, backend.http),
                *((app.sockets, app.http) for app in slack._apps),
            ):
                sockets.drop()
                await http.close()
            await runner.cleanup()
            await backend.background.close()

    @property
    def backend(self) -> Backend:
        """For other rooms of the fake."""
        return self._backend

    @property
    def origin(self) -> str:
        return self._backend.origin

    @property
    def base_url(self) -> str:
        """What slack_sdk takes as `base_url`."""
        return f"{self._backend.origin}/api/"

    @property
    def events(self) -> Announcer:
        """Which events go out and in which order; its attributes are settings."""
        return self._backend.announcer

    @property
    def deliveries(self) -> list[Delivery]:
        return self._backend.announcer.deliveries

    @property
    def manifest(self) -> dict[str, Any]:
        """The app's settings, as its owner may export them; a test fills it."""
        return self._backend.manifest

    @property
    def team(self) -> Team:
        return next(iter(self._teams.values()))

    @property
    def bot(self) -> BotInstall:
        return self.team.bot

    def add_team(self, team_id: str, *, bot_name: str = "Wren", token: str | None = None) -> Team:
        """Another workspace in which the same app is installed, with a token of its own."""
        workspace = self._backend.world.add_workspace(
            team_id,
            bot_name=bot_name,
            app_id=self.app_id,
            token=token or f"xoxb-{team_id.lower()}",
        )
        self._teams[team_id] = Team(self._backend, workspace)
        return self._teams[team_id]

    def add_app(self, name: str) -> FakeApp:
        """Another app under test, beside the first; install it in workspaces."""
        app = FakeApp(self._backend, name)
        self._apps.append(app)
        self._backend.other_sockets[app.app_token] = app.sockets
        return app

    def uninstall(self, team: Team, *, tells: bool = True) -> None:
        """Its people take the app away: its tokens are dead, and it is told so, unless that gets lost."""
        self.oauth.kill(self.client, team.workspace)
        bot = team.bot.user_id
        for event in (
            {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot]}},
            {"type": "app_uninstalled"},
        ):
            if tells:
                self._backend.announcer.event(team.workspace, event)
        self.touch()

    def user(self, name: str) -> Person:
        return self.team.user(name)

    def channel(
        self,
        name: str,
        *,
        members: Iterable[HasUserId] | None = None,
        kind: ChannelKind = ChannelKind.CHANNEL,
    ) -> Channel:
        return self.team.channel(name, members=members, kind=kind)

    def dm(self, person: Person) -> Channel:
        return self.team.dm(person)

    def other_bot(self, name: str) -> OtherBot:
        return self.team.other_bot(name)

    def file(self, name: str, content: bytes, *, mimetype: str = "text/plain") -> FileRecord:
        return self.team.file(name, content, mimetype=mimetype)

    def hold_shares(self) -> None:
        """From now on, completed uploads are not shown before `release_shares`."""
        self._backend.uploads.holds_shares = True

    def release_shares(self) -> None:
        """Show the completed uploads that were held back."""
        show_held(self._backend)

    def thread(self, channel: Channel, root: str | Message | ShownMessage) -> list[ShownMessage]:
        return self._of(channel).thread(channel, root)

    def replies(self, channel: Channel, root: str | Message | ShownMessage) -> list[ShownMessage]:
        return self._of(channel).replies(channel, root)

    def timeline(self, channel: Channel) -> list[ShownMessage]:
        return self._of(channel).timeline(channel)

    def status(self, channel: Channel, root: str | Message) -> str:
        return self._of(channel).status(channel, root)

    def ephemerals(self, person: Person) -> list[ShownMessage]:
        return self.team.ephemerals(person)

    def modal(self, person: Person) -> View | None:
        return person.open_view()

    def calls(self, method: str | None = None) -> list[Call]:
        """Every call the app made, oldest first, refused ones included."""
        return [c for c in self._backend.calls if method in (None, c.method)]

    def revoke(self, token: str) -> None:
        self._backend.revoked_tokens.add(token)

    def accept_orphan_replies(self) -> None:
        """Let replies through whose root is gone, instead of `thread_not_found`."""
        self._backend.accepts_orphan_replies = True

    def fail_next(
        self,
        method: str,
        *,
        times: int = 1,
        status: int | None = None,
        error: str | None = None,
        retry_after: int | str | None = None,
        drop_connection_before_handling: bool = False,
        drop_connection_after_handling: bool = False,
        hang: bool = False,
        hang_after_handling: bool = False,
        when: Callable[[Json], bool] | None = None,
    ) -> Fault:
        """Make the next calls of a method (`*` for any) fail; the Fault tells when one did.

        `status=429` answers as a rate limit, a 5xx without a JSON body, `error` with `ok: false`.
        Dropped after handling, the call took effect and only its answer is lost. A hang ends with
        `release()`, after which the call goes on.
        """
        return self._backend.faults.order(
            Fault(
                method=method,
                times=times,
                status=status,
                error=error,
                retry_after=retry_after,
                drop_before_handling=drop_connection_before_handling,
                drop_after_handling=drop_connection_after_handling,
                hang_before_handling=hang,
                hang_after_handling=hang_after_handling,
                when=when,
            )
        )

    def use_http(self, url: str) -> None:
        """Deliver to this request URL instead of sockets."""
        self._backend.http.request_url = url
        self._backend.announcer.mode = EventMode.HTTP

    async def deliver_http(
        self, url: str, body: Json, *, kind: DeliveryKind = DeliveryKind.EVENT
    ) -> Delivery:
        """Post any body, signed and with Slack's repeats; returns after the first try has its outcome."""
        delivery_id = str(body.get("event_id") or body.get("trigger_id") or "delivery")
        delivery = Delivery(id=delivery_id, kind=kind, body=body)
        self.deliveries.append(delivery)
        self._backend.http.send(delivery, url=url)
        await delivery.tried.wait()
        return delivery

    async def emit(self, event: Json, *, team: Team | None = None) -> Delivery | None:
        """Send any inner event to the app in its proper envelope."""
        return self._backend.announcer.event((team or self.team).workspace, event)

    async def replay(self, delivery: Delivery, *, with_new_event_id: bool = False) -> Delivery:
        """Send the same payload again, unasked: the duplicate every app gets some day."""
        event_id = self._backend.world.new_id("Ev") if with_new_event_id else None
        return self._backend.announcer.replay(delivery, event_id=event_id)

    def touch(self) -> None:
        """Wake waiting tests after a change outside the fake that their predicates look at."""
        self._backend.world.touch()

    async def wait_until(
        self,
        predicate: Callable[[], Found],
        *,
        timeout: float = 10.0,  # noqa: ASYNC109
    ) -> Found:
        """Wait, woken by every change, until the predicate holds; what it returned is returned."""
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    await self._backend.world.changed()
        except TimeoutError:
            raise AssertionError(
                f"waited {timeout} s in vain; Slack shows\n{self.screen()}"
            ) from None
        return found

    async def wait_until_settled(self, *, timeout: float = 10.0) -> None:  # noqa: ASYNC109
        """Wait until everything sent to the app is acknowledged or given up."""
        await self.wait_until(
            lambda: all(d.done.is_set() for d in self.deliveries), timeout=timeout
        )

    def screen(self) -> str:
        """All channels with all threads as text, for people reading a failed test."""
        lines = []
        for team in self._teams.values():
            for channel in team.workspace.channels.values():
                lines.append(f"#{channel.name or channel.id}")
                lines += [describe(team.thread(channel, root)) for root in channel.top_level()]
        calls = [f"{c.method}: {c.error or c.status}" for c in self._backend.calls[-20:]]
        return "\n".join([*lines, "last calls:", *calls])

    def _of(self, channel: Channel) -> Team:
        return self._teams[channel.team_id]

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._serve_method)
        app.router.add_get("/link/", self._serve_link)
        app.router.add_get("/oauth/v2/authorize", self.oauth.ask)
        app.router.add_post("/response/{rest:.+}", self._serve_response_url)
        app.router.add_post("/upload/v1/{file_id}", self._take_bytes)
        app.router.add_get("/{kind:files-pri|files-pri-download}/{key}/{name}", self._serve_file)
        return app

    async def _serve_method(self, request: web.Request) -> web.StreamResponse:
        return await answer(self._backend, request)

    async def _serve_link(self, request: web.Request) -> web.StreamResponse:
        wanted = request.query.get("app_id")
        sockets = next((app.sockets for app in self._apps if app.app_id == wanted), self.sockets)
        return await sockets.serve(request)

    async def _serve_response_url(self, request: web.Request) -> web.StreamResponse:
        return await answer_response_url(self._backend, request)

    async def _take_bytes(self, request: web.Request) -> web.StreamResponse:
        return await take_bytes(self._backend, request)

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        """The bytes for a bearer with files:read; anyone else gets the login page, with status 200."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        found = self._backend.world.install_for(token)
        team_id, _, file_id = request.match_info["key"].partition("-")
        if found is None or found[0].id != team_id or "files:read" not in found[1].scopes:
            return web.Response(text=LOGIN_PAGE, content_type="text/html")
        call = Call(method=FILE_DOWNLOAD, at=self.clock.now(), http_method="GET", token=token)
        self._backend.calls.append(call)
        fault = self._backend.faults.take(FILE_DOWNLOAD, {"file": file_id})
        if fault is not None and fault.status is not None:
            return web.Response(status=fault.status)
        file = found[0].files.get(file_id)
        if file is None:
            return web.Response(status=404)
        if file.redirect:
            raise web.HTTPFound(file.redirect)
        return web.Response(body=file.content, content_type=file.mimetype)
