"""Slack's OAuth for one app: a code or a refresh token becomes tokens, a token is given back.

Calls are made once, with their failures in the contract's terms; no token or code is ever logged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urljoin

import aiohttp

from adapters.errors import Denied
from adapters.slack.client import SlackClient, answer_of, web_client
from adapters.slack.identity import PLATFORM, installation_of
from adapters.slack.wire import text_at
from config.secret import Secret
from engine.api import AppTokens, NewInstallation

NO_BOT = "no_bot_token"
"""Our own word for an installation that gives the app no bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What tells Slack which app asks. `name`: the app's in the settings."""

    name: str
    client_id: str
    client_secret: Secret
    api_url: str


class SlackOAuth:
    """Asks for tokens of one app."""

    def __init__(self, credentials: Credentials, session: aiohttp.ClientSession) -> None:
        self.name = credentials.name
        self._credentials = credentials
        self._session = session
        self._sdk = web_client("", api_url=credentials.api_url, session=session)

    async def exchange(self, code: str, redirect_uri: str) -> NewInstallation:
        """What a person's consent gives us. Raises SurfaceError."""
        answer = await self._access(code=code, redirect_uri=redirect_uri)
        tokens = _tokens_of(answer)
        who = await self._client(tokens.token).identify()
        return _installation_of(answer, tokens, str(who.get("bot_id") or ""), self.name)

    async def renew(self, refresh_token: Secret) -> AppTokens:
        """New tokens; the refresh token is used up by it. Raises SurfaceError."""
        answer = await self._access(
            grant_type="refresh_token", refresh_token=refresh_token.reveal()
        )
        return _tokens_of(answer)

    async def give_back(self, token: Secret) -> None:
        """Have a token revoked. Raises SurfaceError."""
        await answer_of(self._web_client(token).auth_revoke())

    async def _access(self, **given: str) -> dict[str, Any]:
        # The SDK's own method sends the secret by a class of aiohttp's that is going away.
        form = {
            "client_id": self._credentials.client_id,
            "client_secret": self._credentials.client_secret.reveal(),
            **given,
        }
        return await answer_of(self._sdk.api_call("oauth.v2.access", data=form))

    def _client(self, token: Secret) -> SlackClient:
        return SlackClient(self._web_client(token))

    def _web_client(self, token: Secret) -> Any:
        api_url = self._credentials.api_url
        return web_client(token.reveal(), api_url=api_url, session=self._session)


def consent_address(
    credentials: Credentials, *, scopes: tuple[str, ...], state: str, redirect_uri: str
) -> str:
    """Where a person is asked whether the app may be installed."""
    asked = {
        "client_id": credentials.client_id,
        "scope": ",".join(scopes),
        "user_scope": "",
        "state": state,
        "redirect_uri": redirect_uri,
    }
    return f"{urljoin(credentials.api_url, '/oauth/v2/authorize')}?{urlencode(asked)}"


def _tokens_of(answer: Mapping[str, Any]) -> AppTokens:
    token = text_at(answer, "access_token")
    if not token or text_at(answer, "token_type") not in ("bot", ""):
        raise Denied(NO_BOT)
    refresh, lives = text_at(answer, "refresh_token"), answer.get("expires_in")
    if not refresh or not isinstance(lives, int) or lives <= 0:
        return AppTokens(token=Secret(token))
    return AppTokens(token=Secret(token), refresh_token=Secret(refresh), lives_seconds=float(lives))


def _installation_of(
    answer: Mapping[str, Any], tokens: AppTokens, bot_id: str, app: str
) -> NewInstallation:
    is_organization = answer.get("is_enterprise_install") is True
    place = "enterprise" if is_organization else "team"
    place_id = text_at(answer, place, "id")
    if not place_id or not text_at(answer, "bot_user_id"):
        raise Denied(NO_BOT)
    return NewInstallation(
        platform=PLATFORM,
        installation=installation_of(place_id, app),
        app=app,
        name=text_at(answer, place, "name"),
        identity={
            "team_id": place_id,
            "bot_user_id": text_at(answer, "bot_user_id"),
            "bot_id": bot_id,
            "app_id": text_at(answer, "app_id"),
            "enterprise_id": text_at(answer, "enterprise", "id"),
            "is_organization": is_organization,
        },
        scopes=tuple(s for s in text_at(answer, "scope").split(",") if s),
        tokens=tokens,
        installed_by=f"{PLATFORM}:{place_id}:{text_at(answer, 'authed_user', 'id')}",
    )
