"""The workspaces that people have installed an app in, as they are in the database a moment ago.

Theory of operation. What was read is kept for KNOWN_SECONDS, so that a delivery costs no look into the
database and no call; another replica's installation or removal is seen after that time. Where Slack
refuses a token, what is known of it is forgotten at once, and Slack is asked about the stored token: only
when it refuses that one too is the installation over. So an event that comes late ends nothing that was
installed anew.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import aiohttp

from adapters.errors import Denied, SurfaceError, Unavailable
from adapters.slack.client import DEAD_TOKEN, SlackClient, web_client
from adapters.slack.courtesy import Spawn
from adapters.slack.identity import PLATFORM, SlackIdentity, app_of
from adapters.slack.in_order import InOrder
from adapters.slack.install_keys import keys_of
from adapters.slack.people import People
from adapters.slack.wire import Json, text_at
from adapters.slack.workspaces import Workspace
from config.secret import Secret
from engine.api import Engine, Installation, OpenInstallation, StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

KNOWN_SECONDS: Final = 30.0
UNKNOWN_SECONDS: Final = 2.0
"""Shorter, for a workspace that has just installed the app at another replica."""
WORKSPACES_MAX: Final = 2000
"""Kept by one process; what is more is read again when it is needed."""
EXPIRED: Final = "token_expired"
UNREADABLE: Final = "token_unreadable"
"""Our own word for a stored token that the secret key does not open."""


@dataclass(slots=True, kw_only=True)
class _Known:
    """What was read. `workspace` is None where there is none."""

    workspace: Workspace | None
    version: int
    is_expired: bool
    until: float


class StoredWorkspaces:
    """The installations of one app. Reads raise StoreUnavailable when they are not known."""

    def __init__(
        self,
        engine: Engine,
        *,
        app: str,
        api_url: str,
        session: aiohttp.ClientSession,
        clock: Callable[[], float],
        spawn: Spawn,
        renew: Callable[[str], Awaitable[object]],
    ) -> None:
        """`renew` asks for a new token of an installation whose token is past its time."""
        self._engine = engine
        self._app = app
        self._api_url = api_url
        self._session = session
        self._clock = clock
        self._spawn = spawn
        self._renew = renew
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._in_order = InOrder()
        self._checking: set[str] = set()

    async def find(self, installation: str) -> Workspace | None:
        """The workspace, with a token that is not past its time if one can be had."""
        if app_of(installation) != self._app:
            return None
        known = await self._look(installation)
        if known.is_expired:
            await self._renew(installation)
            self.forget(installation)
            known = await self._look(installation)
        return known.workspace

    async def sent_to(self, body: Json) -> Workspace | None:
        """The workspace that a delivery is for. Asks the database at most, never Slack."""
        for installation in keys_of(body, self._app):
            if workspace := (await self._look(installation)).workspace:
                return workspace
        return None

    def forget(self, installation: str) -> None:
        """Read it again when it is next asked for."""
        if known := self._known.get(installation):
            known.until = 0.0

    def told_of_end(self, body: Json) -> None:
        """An event says that an installation, or a token of it, is over: look whether it is so."""
        for installation in keys_of(body, self._app)[:1]:
            self._doubt(installation)

    async def check(self, installation: str) -> None:
        """Ask Slack about the stored token, and end the installation where Slack refuses it."""
        opened = await self._engine.installations.open(PLATFORM, installation)
        if opened is None:
            return
        try:
            await self._client(opened.token, None).identify()
        except Denied as error:
            if error.code == EXPIRED:
                await self._renew(installation)
            elif error.code in DEAD_TOKEN:
                await self._end(opened.installation, error.code)
        except SurfaceError as error:
            extra = {"action": "slack_token_not_checked", "code": error.code}
            logger.info("token not checked", extra=extra)

    # -- looking ---------------------------------------------------------------------------------

    async def _look(self, installation: str) -> _Known:
        known = self._known.get(installation)
        if known is not None and known.until > self._clock():
            self._known.move_to_end(installation)
            return known
        async with self._in_order.turn(installation):
            before = self._known.get(installation)
            if before is not None and before.until > self._clock():
                return before
            return await self._read(installation, before)

    async def _read(self, installation: str, before: _Known | None) -> _Known:
        try:
            opened = await self._engine.installations.open(PLATFORM, installation)
        except StoreUnavailable:
            if before is not None and before.workspace is not None:
                return before
            raise
        except StoreError as error:
            extra = {"action": "slack_token_unreadable", "installation": installation}
            logger.exception("token cannot be read", extra=extra)
            raise Unavailable(UNREADABLE, outcome_unknown=False) from error
        known = self._known_of(opened, before)
        self._known[installation] = known
        self._known.move_to_end(installation)
        while len(self._known) > WORKSPACES_MAX:
            self._known.popitem(last=False)
        return known

    def _known_of(self, opened: OpenInstallation | None, before: _Known | None) -> _Known:
        if opened is None:
            until = self._clock() + UNKNOWN_SECONDS
            return _Known(workspace=None, version=0, is_expired=False, until=until)
        found = opened.installation
        is_same = before is not None and before.version == found.token_version
        workspace = before.workspace if before is not None and is_same else None
        return _Known(
            workspace=workspace or self._workspace_of(opened),
            version=found.token_version,
            is_expired=found.is_expired and found.is_due,
            until=self._clock() + KNOWN_SECONDS,
        )

    def _workspace_of(self, opened: OpenInstallation) -> Workspace:
        found = opened.installation
        client = self._client(opened.token, lambda _code: self._doubt(found.installation))
        identity = SlackIdentity(
            team_id=text_at(found.identity, "team_id"),
            bot_user_id=text_at(found.identity, "bot_user_id"),
            bot_id=text_at(found.identity, "bot_id"),
            app=self._app,
        )
        people = People(client, clock=self._clock)
        return Workspace(identity=identity, client=client, people=people)

    def _client(self, token: Secret, on_refused: Callable[[str], None] | None) -> SlackClient:
        sdk = web_client(token.reveal(), api_url=self._api_url, session=self._session)
        return SlackClient(sdk, on_refused=on_refused)

    # -- doubting --------------------------------------------------------------------------------

    def _doubt(self, installation: str) -> None:
        """Look again soon, and let Slack say whether the stored token is the one that is dead."""
        self.forget(installation)
        if installation not in self._checking:
            self._spawn(self._check_once(installation))

    async def _check_once(self, installation: str) -> None:
        if installation in self._checking:
            return
        self._checking.add(installation)
        try:
            await self.check(installation)
        except StoreError as error:
            extra = {"action": "slack_token_not_checked", "code": type(error).__name__}
            logger.warning("token not checked", extra=extra)
        finally:
            self._checking.discard(installation)
            self.forget(installation)

    async def _end(self, seen: Installation, code: str) -> None:
        if await self._engine.installations.end(seen, code):
            extra = {
                "action": "slack_installation_ended",
                "installation": seen.installation,
                "code": code,
            }
            logger.error("installation ended", extra=extra)
