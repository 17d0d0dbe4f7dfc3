"""Where people install one app: an invitation, the way to Slack's question, and the way back from it.

An installation comes back once, within ten minutes, to the browser that began it. Who may not have the app
gets no token kept: what Slack gave is given back. No page repeats what an address held.
"""

import logging
import re
import secrets
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode, urlsplit

from aiohttp import web

from adapters.errors import Denied, SurfaceError
from adapters.slack import install_pages as pages
from adapters.slack.identity import PLATFORM, team_of
from adapters.slack.install_pages import PAGE_HEADERS, InstallPage, html_of
from adapters.slack.manifest import ESSENTIALS, FEATURES, REDIRECT_PATH
from adapters.slack.oauth import Credentials, SlackOAuth, consent_address
from config.slack_app_settings import InstallPolicy, SlackAppSettings
from engine.api import Engine, NewInstallation, Return, StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

INSTALL_PATH: Final = "/slack/install"
COOKIE: Final = "threadwright_slack_install"
COOKIE_SECONDS: Final = 3600
_BROWSER: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VALUE_MAX: Final = 1000
"""Longer than any state or code of Slack's."""
# Slack's words for a code that is none, or none any more.
_WRONG_CODE: Final = frozenset({"invalid_code", "code_already_used", "expired_code"})
OnInstalled = Callable[[str], None]


class InstallDoor:
    """The pages of one app. `oauth` gives None until the process can ask Slack."""

    def __init__(
        self,
        engine: Engine,
        settings: SlackAppSettings,
        credentials: Credentials,
        *,
        bot: str,
        public_url: str,
        oauth: Callable[[], SlackOAuth | None],
        on_installed: OnInstalled,
    ) -> None:
        """`public_url`: where people reach the server. `on_installed` is told the installation."""
        suffix = f"/{credentials.name}" if credentials.name else ""
        self._engine = engine
        self._settings = settings
        self._credentials = credentials
        self._bot = bot
        self._path = f"{INSTALL_PATH}{suffix}"
        self._return_path = f"{REDIRECT_PATH}{suffix}"
        self._redirect_uri = f"{public_url.rstrip('/')}{self._return_path}"
        self._is_secure = urlsplit(public_url).scheme == "https"
        self._oauth = oauth
        self._on_installed = on_installed

    def routes(self) -> list[web.RouteDef]:
        """For the one web server."""
        return [
            web.get(self._path, self.serve_start),
            web.get(self._return_path, self.serve_return),
        ]

    async def serve_start(self, request: web.Request) -> web.Response:
        """The invitation; with `?to=slack`, as its button leads, the way to Slack."""
        if request.query.get("to") != "slack":
            return _response(pages.invitation(self._bot, start=f"{self._path}?to=slack"))
        browser = _browser_of(request) or secrets.token_urlsafe(32)
        try:
            state = await self._engine.install_states.begin(
                PLATFORM, self._credentials.name, browser
            )
        except StoreUnavailable:
            return _response(pages.STORE_AWAY)
        address = consent_address(
            self._credentials, scopes=self._scopes(), state=state, redirect_uri=self._redirect_uri
        )
        response = web.Response(status=302, headers={**PAGE_HEADERS, "Location": address})
        response.set_cookie(
            COOKIE,
            browser,
            max_age=COOKIE_SECONDS,
            path="/slack",
            httponly=True,
            secure=self._is_secure,
            # Slack's redirect is a navigation from elsewhere, which a strict cookie stays away from.
            samesite="Lax",
        )
        return response

    async def serve_return(self, request: web.Request) -> web.Response:
        """Whatever Slack sends the person back with, or somebody else made up."""
        oauth = self._oauth()
        if oauth is None:
            return _response(pages.STARTING)
        try:
            page = await self._come_back(oauth, request)
        except StoreUnavailable:
            page = pages.STORE_AWAY
        except StoreError as error:
            extra = {"action": "slack_not_installed", "code": type(error).__name__}
            logger.exception("cannot store an installation", extra=extra)
            page = pages.misconfigured()
        return _response(page)

    async def _come_back(self, oauth: SlackOAuth, request: web.Request) -> InstallPage:
        state = request.query.get("state", "")[:_VALUE_MAX]
        returned = await self._engine.install_states.take(
            PLATFORM, self._credentials.name, state, _browser_of(request)
        )
        if returned is Return.OTHER_BROWSER:
            return pages.other_browser(again=self._path)
        if "error" in request.query:
            # Whoever made this up has changed nothing by it.
            return pages.denied(again=self._path)
        if returned is Return.UNKNOWN:
            return pages.stale(again=self._path)
        return await self._exchange(oauth, request.query.get("code", ""))

    async def _exchange(self, oauth: SlackOAuth, code: str) -> InstallPage:
        if not 0 < len(code) <= _VALUE_MAX:
            return pages.wrong_code(again=self._path)
        try:
            new = await oauth.exchange(code, self._redirect_uri)
        except Denied as error:
            if error.code in _WRONG_CODE:
                return pages.wrong_code(again=self._path)
            _log_failure("slack_install_refused", error.code)
            return pages.misconfigured()
        except SurfaceError as error:
            _log_failure("slack_install_failed", error.code)
            return pages.slack_away(again=self._path)
        return await self._admit(oauth, new)

    async def _admit(self, oauth: SlackOAuth, new: NewInstallation) -> InstallPage:
        place = new.name or "your workspace"
        about = {"installation": new.installation}
        if not self._is_open_to(new):
            await _give_back(oauth, new)
            extra = {"action": "slack_install_not_open", **about}
            logger.warning("a workspace that is not listed wants the app", extra=extra)
            return pages.not_open(place)
        # Where this fails the token is not given back: an earlier installation may live by the same.
        await self._engine.installations.save(new)
        self._on_installed(new.installation)
        logger.info("installed", extra={"action": "slack_installed", **about})
        asked = {"team": team_of(new.installation), "app": str(new.identity["app_id"])}
        return pages.installed(
            self._bot, place, address=f"https://slack.com/app_redirect?{urlencode(asked)}"
        )

    def _is_open_to(self, new: NewInstallation) -> bool:
        if self._settings.install is InstallPolicy.OPEN:
            return True
        named = (team_of(new.installation), str(new.identity["enterprise_id"]))
        return any(place in self._settings.install_teams for place in named if place)

    def _scopes(self) -> tuple[str, ...]:
        if self._settings.scopes:
            return self._settings.scopes
        features = (ESSENTIALS, *FEATURES.values())
        return tuple(sorted({scope for each in features for scope in each.scopes}))


async def _give_back(oauth: SlackOAuth, new: NewInstallation) -> None:
    try:
        await oauth.give_back(new.tokens.token)
    except SurfaceError as error:
        _log_failure("slack_token_not_given_back", error.code)


def _log_failure(action: str, code: str) -> None:
    logger.warning("an installation failed", extra={"action": action, "code": code})


def _browser_of(request: web.Request) -> str:
    """The browser's secret, if it has one of ours."""
    value = request.cookies.get(COOKIE, "")
    return value if _BROWSER.fullmatch(value) else ""


def _response(page: InstallPage) -> web.Response:
    return web.Response(
        text=html_of(page), status=page.status, content_type="text/html", headers=PAGE_HEADERS
    )
