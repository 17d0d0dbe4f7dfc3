"""Everything that Slack sends, over HTTP or a socket: verified, stored, and only then acknowledged.

Theory of operation. Both ways end in one bolt middleware that runs before all others. It stores what may
become a command and acknowledges; nothing is worked on here, so an acknowledgement takes one insert. If
it cannot be stored it is not acknowledged, and Slack sends it again. Only forms are served at once: what
opens one expires after three seconds, and Slack shows a form's errors only in its acknowledgement.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import SurfaceError
from adapters.slack.buttons import OpenPressed, origin_of_form, place_of_press, press_of
from adapters.slack.client import sdk_logger
from adapters.slack.command_desk import CommandDesk, is_form_of_ours
from adapters.slack.courtesy import Spawn
from adapters.slack.feedback import Rated, comment_view, rated_of
from adapters.slack.forms import FormDesk
from adapters.slack.identity import PLATFORM
from adapters.slack.in_order import InOrder
from adapters.slack.intake import Dropped, Kept, intake
from adapters.slack.wire import Json, object_at, text_at
from adapters.slack.workspaces import Workspace, Workspaces
from engine.api import Engine, InboxEvent, StoreUnavailable

logger = logging.getLogger(__name__)

STORE_SECONDS_MAX = 2.5
"""Slack takes silence for failure after three seconds; so do we, a little earlier."""
EVENTS_PATH = "/slack/events"


class SlackReceiver:
    """Takes Slack's deliveries for one app."""

    def __init__(
        self,
        engine: Engine,
        *,
        workspaces: Workspaces,
        forms: FormDesk,
        commands: CommandDesk,
        stop_reaction: str,
        spawn: Spawn,
        retry_reaction: str = "",
        answer_bots: bool = False,
    ) -> None:
        self._engine = engine
        self._workspaces = workspaces
        self._forms = forms
        self._commands = commands
        self._stop_reaction = stop_reaction
        self._retry_reaction = retry_reaction
        self._answer_bots = answer_bots
        self._in_order = InOrder()
        self._spawn = spawn
        self.app = AsyncApp(
            # Bolt makes no calls here; without a client of ours it would look for a token.
            client=AsyncWebClient(logger=sdk_logger()),
            logger=sdk_logger(),
            authorize=self._authorize,
            before_authorize=_StoreFirst(self._receive),
            # Requests are verified before they get here, sockets by their token.
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,
        )

    async def _authorize(self, **_: Any) -> AuthorizeResult:
        # Nothing that bolt goes on with asks who we are.
        return AuthorizeResult(enterprise_id=None, team_id=None)

    async def _receive(self, request: AsyncBoltRequest) -> BoltResponse | None:
        """The acknowledgement, or None for what bolt answers by itself."""
        body: Json = request.body
        kind = text_at(body, "type")
        if kind in ("url_verification", "") and "command" not in body:
            return None if kind else BoltResponse(status=200, body="")
        try:
            async with asyncio.timeout(STORE_SECONDS_MAX):
                return await self._take(kind, body)
        except (StoreUnavailable, SurfaceError, TimeoutError):
            logger.warning("not stored", extra={"action": "slack_event_not_stored", "kind": kind})
            return BoltResponse(status=503, body="")

    async def _take(self, kind: str, body: Json) -> BoltResponse:
        workspace = await self._workspaces.sent_to(body)
        if workspace is None:
            # Acknowledged, since it would be as unknown the next time.
            logger.warning("not installed", extra={"action": "slack_not_installed", "kind": kind})
            return BoltResponse(status=200, body="")
        answer = await self._answer_at_once(workspace, kind, body)
        if answer is not None:
            return BoltResponse(status=200, body=answer or "")
        if _tells_of_end(body):
            self._workspaces.told_of_end(body)
        await self._store(workspace, body)
        return BoltResponse(status=200, body="")

    async def _answer_at_once(
        self, workspace: Workspace, kind: str, body: Json
    ) -> dict[str, Any] | None:
        """The answer to what cannot wait; empty: it is done with. None: it is stored."""
        match kind:
            case "":
                return self._commands.answer(workspace, body)
            case "shortcut" | "message_action":
                self._commands.open_shortcut(workspace, body)
                return {}
            case "block_suggestion":
                return await self._forms.suggest(body)
            case "block_actions":
                return self._press_at_once(workspace, body)
            case "view_submission":
                return await self._refusal_of_form(workspace, body) or None
        return None

    async def _refusal_of_form(self, workspace: Workspace, body: Json) -> dict[str, Any]:
        if is_form_of_ours(body):
            return await self._commands.check(workspace, body)
        return {} if origin_of_form(body) is None else await self._forms.check(workspace, body)

    def _press_at_once(self, workspace: Workspace, body: Json) -> dict[str, Any] | None:
        pressed = press_of(body)
        if isinstance(pressed, OpenPressed):
            self._spawn(self._forms.open(workspace, pressed, place_of_press(body)))
            return {}
        if (rated := rated_of(body)) is not None and not rated.is_good:
            self._spawn(_ask_why(workspace, rated, text_at(body, "trigger_id")))
        return None

    async def _store(self, workspace: Workspace, body: Json) -> None:
        identity = workspace.identity
        match intake(
            body,
            identity,
            stop_reaction=self._stop_reaction,
            retry_reaction=self._retry_reaction,
            answer_bots=self._answer_bots,
        ):
            case Dropped(reason=reason):
                logger.debug("dropped", extra={"action": "slack_event_dropped", "reason": reason})
            case Kept() as kept:
                # Bolt and the SDK serve deliveries side by side, however they came.
                async with self._in_order.turn(f"{identity.installation}:{kept.thread_key}"):
                    await self._engine.receive(_event_of(kept, identity.installation, body))


async def _ask_why(workspace: Workspace, rated: Rated, trigger_id: str) -> None:
    """Open the form for what was wrong; the rating itself does not depend on it."""
    try:
        await workspace.client.open_view(trigger_id, comment_view(rated))
    except SurfaceError as error:
        logger.info("not asked", extra={"action": "slack_comment_not_asked", "code": error.code})


def _tells_of_end(body: Json) -> bool:
    """Whether our bot's token may be gone. Tokens of persons are none of ours."""
    match text_at(body, "event", "type"):
        case "app_uninstalled":
            return True
        case "tokens_revoked":
            return bool(object_at(body, "event", "tokens").get("bot"))
        case _:
            return False


def _event_of(kept: Kept, installation: str, body: Json) -> InboxEvent:
    return InboxEvent(
        platform=PLATFORM,
        installation=installation,
        event_key=kept.event_key,
        message_key=kept.message_key,
        thread_key=kept.thread_key,
        kind=kept.kind.value,
        payload=dict(body),
    )


class _StoreFirst(AsyncMiddleware):
    """Answers in place of all that bolt would do, where there is an answer."""

    def __init__(
        self, receive: Callable[[AsyncBoltRequest], Awaitable[BoltResponse | None]]
    ) -> None:
        self._receive = receive

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - bolt names its arguments
    ) -> BoltResponse | None:
        """Acknowledge, or let bolt go on."""
        answer = await self._receive(req)
        if answer is not None:
            return answer
        await next()
        return resp


class HttpDoor:
    """The route that Slack posts to. Nothing unsigned gets past it, whatever it holds."""

    def __init__(
        self,
        signing_secret: str,
        receiver: Callable[[], SlackReceiver | None],
        *,
        path: str = EVENTS_PATH,
    ) -> None:
        self._verifier = SignatureVerifier(signing_secret)
        self._receiver = receiver
        self._path = path

    def routes(self) -> list[web.RouteDef]:
        """For the one web server."""
        return [web.post(self._path, self.serve)]

    async def serve(self, request: web.Request) -> web.Response:
        """200 once stored, 401 unsigned, 400 unreadable, 503 when it must be sent again."""
        raw = await request.read()
        is_form = request.content_type == "application/x-www-form-urlencoded"
        if is_form and raw.startswith(b"ssl_check=1"):
            return web.Response(status=200)
        if not self._is_signed(request, raw):
            return web.Response(status=401)
        receiver = self._receiver()
        if receiver is None:
            return web.Response(status=503)
        try:
            bolt_request = AsyncBoltRequest(
                body=raw.decode(),
                query=request.query_string,
                headers=dict(request.headers),
            )
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return web.Response(status=400)
        return _web_response(await receiver.app.async_dispatch(bolt_request))

    def _is_signed(self, request: web.Request, raw: bytes) -> bool:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        if not (timestamp.isascii() and timestamp.isdecimal() and signature.isascii()):
            return False
        try:
            return self._verifier.is_valid(body=raw, timestamp=timestamp, signature=signature)
        except ValueError:
            # A body that is not UTF-8, or a number too long to be one.
            return False


def _web_response(answer: BoltResponse) -> web.Response:
    body = answer.body or ""
    if body.startswith("{"):
        return web.json_response(json.loads(body), status=answer.status)
    return web.Response(status=answer.status, text=body)
