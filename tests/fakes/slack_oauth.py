"""Owns installing by OAuth v2 in the fake: Slack's question, codes, tokens that expire, what an uninstall does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from aiohttp import web

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_state import BotInstall, Workspace, World

CODE_SECONDS = 600.0
TOKEN_SECONDS = 43_200


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """An app as OAuth knows it. `bot_of`: its bot in a workspace."""

    client_id: str
    client_secret: str
    app_id: str
    bot_of: Callable[[Workspace], BotInstall]


@dataclass(slots=True, kw_only=True)
class _Code:
    client_id: str
    redirect_uri: str
    workspace: Workspace
    user_id: str
    expires: float
    is_used: bool = False


@dataclass(slots=True, kw_only=True)
class Grant:
    """A token beside a bot's first one; `expires` by the fake's clock."""

    workspace: Workspace
    bot: BotInstall
    expires: float | None


@dataclass(slots=True)
class OAuth:
    """Settings are plain attributes: who consents where, and whether tokens rotate."""

    world: World
    clock: SlackClock
    revoked: set[str]
    clients: dict[str, OAuthClient] = field(default_factory=dict)
    # Whom Slack's question is answered by, and how.
    team_id: str = ""
    user_id: str = "UINSTALLER"
    consents: bool = True
    rotates: bool = False
    token_seconds: int = TOKEN_SECONDS
    codes: dict[str, _Code] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    refresh_tokens: dict[str, tuple[str, Workspace]] = field(default_factory=dict)
    questions: list[dict[str, str]] = field(default_factory=list)
    _serial: int = 0

    def install_for(self, token: str) -> Grant | None:
        return self.grants.get(token)

    def is_expired(self, grant: Grant) -> bool:
        return grant.expires is not None and grant.expires <= self.clock.now()

    async def ask(self, request: web.Request) -> web.StreamResponse:
        """Slack's page, with a person who answers at once: back to the app with a code, or without."""
        asked = {name: str(value) for name, value in request.query.items()}
        self.questions.append(asked)
        client = self.clients.get(asked.get("client_id", ""))
        if client is None or not asked.get("scope") or not asked.get("redirect_uri"):
            return web.Response(status=400, text="Something went wrong when authorizing this app.")
        back = {"state": asked.get("state", "")}
        if self.consents:
            back["code"] = self.new_code(client.client_id, asked["redirect_uri"])
        else:
            back["error"] = "access_denied"
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(back)}")

    def new_code(self, client_id: str, redirect_uri: str) -> str:
        """What a person's consent gives: good once, for ten minutes."""
        code = f"{self._next()}.code"
        self.codes[code] = _Code(
            client_id=client_id,
            redirect_uri=redirect_uri,
            workspace=self.world.workspaces[self.team_id or next(iter(self.world.workspaces))],
            user_id=self.user_id,
            expires=self.clock.now() + CODE_SECONDS,
        )
        return code

    def grant(self, client: OAuthClient, workspace: Workspace) -> tuple[str, str, int | None]:
        """A token, its refresh token and life; without rotation the one there is, unless it is dead."""
        bot = client.bot_of(workspace)
        if not self.rotates:
            if bot.token in self.revoked:
                bot.token = f"xoxb-{workspace.id.lower()}-{self._next()}"
            return bot.token, "", None
        token, refresh = f"xoxe.xoxb-{self._next()}", f"xoxe-1-{self._next()}"
        expires = self.clock.now() + self.token_seconds
        self.grants[token] = Grant(workspace=workspace, bot=bot, expires=expires)
        self.refresh_tokens[refresh] = (client.client_id, workspace)
        return token, refresh, self.token_seconds

    def kill(self, client: OAuthClient, workspace: Workspace) -> None:
        """All tokens of an app in a workspace are dead from now on, and none can be renewed."""
        bot = client.bot_of(workspace)
        self.revoked.add(bot.token)
        self.revoked.update(token for token, grant in self.grants.items() if grant.bot is bot)
        for refresh, (client_id, place) in list(self.refresh_tokens.items()):
            if (client_id, place) == (client.client_id, workspace):
                del self.refresh_tokens[refresh]

    def _next(self) -> int:
        self._serial += 1
        return self._serial
