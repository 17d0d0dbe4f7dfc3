"""Owns how a Web API call reaches fake Slack: wire form, token, scopes; promises Slack's own refusals."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aiohttp import web

from tests.fakes.slack_state import BotInstall, Workspace

Json = dict[str, Any]


class WireForm(StrEnum):
    """How the Python SDK sends a method; a form body is always taken as well, as Slack does."""

    READ = "GET with a query string"
    QUERY = "POST with a query string and no body"
    JSON = "POST with a JSON body"


class TokenKind(StrEnum):
    BOT = "xoxb-"
    APP = "xapp-"
    CONFIG = "xoxe.xoxp-"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRule:
    """What Slack asks of a call before it looks at what the call says."""

    form: WireForm
    scope: str | None = None
    tier: int | None = None
    token: TokenKind = TokenKind.BOT
    required: tuple[str, ...] = ()


def _read(scope: str | None, tier: int, *required: str) -> MethodRule:
    return MethodRule(form=WireForm.READ, scope=scope, tier=tier, required=required)


def _query(scope: str | None, tier: int | None, *required: str) -> MethodRule:
    return MethodRule(form=WireForm.QUERY, scope=scope, tier=tier, required=required)


def _json(scope: str | None, tier: int | None, *required: str) -> MethodRule:
    return MethodRule(form=WireForm.JSON, scope=scope, tier=tier, required=required)


METHODS: dict[str, MethodRule] = {
    "api.test": MethodRule(form=WireForm.QUERY, token=TokenKind.NONE),
    "auth.test": _query(None, None),
    "auth.revoke": _read(None, 3),
    "oauth.v2.access": MethodRule(form=WireForm.QUERY, tier=4, token=TokenKind.NONE),
    "apps.connections.open": MethodRule(form=WireForm.QUERY, tier=3, token=TokenKind.APP),
    "apps.manifest.export": MethodRule(
        form=WireForm.QUERY, tier=3, token=TokenKind.CONFIG, required=("app_id",)
    ),
    "chat.postMessage": _json("chat:write", None, "channel"),
    "chat.update": _json("chat:write", 3, "channel", "ts"),
    "chat.delete": _query("chat:write", 3, "channel", "ts"),
    "chat.startStream": _json("chat:write", 2, "channel"),
    "chat.appendStream": _json("chat:write", 4, "channel", "ts"),
    "chat.stopStream": _json("chat:write", 2, "channel", "ts"),
    "chat.postEphemeral": _json("chat:write", 4, "channel", "user"),
    "chat.getPermalink": _read(None, 4, "channel", "message_ts"),
    # The scope of a channel read depends on the channel's kind; the method asks for it.
    "conversations.replies": _read(None, 3, "channel", "ts"),
    "conversations.history": _read(None, 3, "channel"),
    "conversations.info": _read(None, 3, "channel"),
    "conversations.list": _read(None, 2),
    "conversations.members": _read(None, 4, "channel"),
    "conversations.open": _query("im:write", 3),
    "conversations.join": _query("channels:join", 3, "channel"),
    "users.info": _read("users:read", 4, "user"),
    "users.list": _read("users:read", 2),
    "users.lookupByEmail": _read("users:read.email", 3, "email"),
    "usergroups.list": _read("usergroups:read", 2),
    "usergroups.users.list": _read("usergroups:read", 2, "usergroup"),
    "bots.info": _read("users:read", 3),
    "team.info": _read("team:read", 3),
    "files.info": _read("files:read", 4, "file"),
    "files.getUploadURLExternal": _query("files:write", 4, "filename", "length"),
    "files.completeUploadExternal": _query("files:write", 4, "files"),
    "reactions.add": _query("reactions:write", 3, "channel", "timestamp", "name"),
    "reactions.remove": _query("reactions:write", 2, "channel", "timestamp", "name"),
    "reactions.get": _read("reactions:read", 3, "channel", "timestamp"),
    "views.open": _json(None, 4, "view"),
    "views.push": _json(None, 4, "view"),
    "views.update": _json(None, 4, "view"),
    "views.publish": _json(None, 4, "view", "user_id"),
    "assistant.threads.setStatus": _json("chat:write", None, "channel_id", "thread_ts", "status"),
    "assistant.threads.setTitle": _query("assistant:write", 4, "channel_id", "thread_ts", "title"),
    "assistant.threads.setSuggestedPrompts": _json("assistant:write", 4, "channel_id", "prompts"),
    "agents.sessions.setStatus": _json("chat:write", 3, "channel_id", "status"),
}


class SlackError(Exception):
    """An `ok: false` answer; `extra` is merged into its body."""

    def __init__(self, error: str, **extra: object) -> None:
        super().__init__(error)
        self.error = error
        self.extra = extra


def invalid_arguments(*sentences: str) -> SlackError:
    messages = [f"[ERROR] {sentence}" for sentence in sentences]
    return SlackError("invalid_arguments", response_metadata={"messages": messages})


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One Web API call as it was made and, once answered, what it got; the log keeps every one."""

    method: str
    at: float
    http_method: str
    token: str | None = None
    args: Json = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    workspace: Workspace | None = None
    bot: BotInstall | None = None
    status: int | None = None
    response: Json | None = None

    @property
    def team(self) -> Workspace:
        if self.workspace is None:
            raise SlackError("not_authed")
        return self.workspace

    @property
    def install(self) -> BotInstall:
        if self.bot is None:
            raise SlackError("not_authed")
        return self.bot

    @property
    def error(self) -> str | None:
        return None if self.response is None else self.response.get("error")

    def text(self, name: str, default: str = "") -> str:
        value = self.args.get(name)
        return default if value is None else str(value)

    def number(self, name: str, default: int) -> int:
        value = self.args.get(name)
        try:
            return default if value in (None, "") else int(str(value))
        except ValueError:
            raise invalid_arguments(f"{name} must be an integer") from None

    def flag(self, name: str) -> bool:
        return self.args.get(name) in (True, 1, "1", "true", "True")

    def structure(self, name: str, broken: str) -> Any | None:
        """A JSON argument, parsed where it came as a string; unreadable JSON is error `broken`."""
        value = self.args.get(name)
        if not isinstance(value, str):
            return value
        if value == "":
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise SlackError(broken) from None

    def needs(self, scope: str) -> None:
        """Refuse with `missing_scope`, as Slack words it, unless the install was granted this."""
        granted = self.install.scopes
        if scope not in granted:
            provided = ",".join(sorted(granted))
            raise SlackError("missing_scope", needed=scope, provided=provided)


async def read_arguments(request: web.Request, call: Call) -> None:
    """Fill the call's token and arguments, or refuse the wire form."""
    header = request.headers.get("Authorization", "")
    call.token = header.removeprefix("Bearer ").strip() or None
    rule = METHODS.get(call.method)
    if rule is None:
        raise SlackError("unknown_method", req_method=call.method)
    if request.method == "GET":
        if rule.form is not WireForm.READ and rule.token is not TokenKind.NONE:
            raise SlackError("invalid_form_data")
        call.args = dict(request.query)
        return
    body = await request.read()
    if not body:
        if rule.form is WireForm.JSON and request.query:
            raise SlackError("invalid_form_data")
        call.args = dict(request.query)
        return
    call.args = await _body_arguments(request, call, rule, body)
    form_token = call.args.pop("token", None)
    if call.token is None and isinstance(form_token, str):
        call.token = form_token


async def _body_arguments(request: web.Request, call: Call, rule: MethodRule, body: bytes) -> Json:
    match request.content_type:
        case "application/json":
            if rule.form is WireForm.READ:
                # Slack does not read JSON on its reading methods: every argument goes unseen.
                return {}
            if request.charset is None:
                call.warnings.append("missing_charset")
            elif request.charset.lower() not in ("utf-8", "utf8"):
                raise SlackError("invalid_charset")
            return _json_arguments(body)
        case "application/x-www-form-urlencoded" | "multipart/form-data":
            try:
                form = await request.post()
            except ValueError:
                raise SlackError("invalid_form_data") from None
            return {**request.query, **form}
        case _:
            raise SlackError("invalid_post_type")


def _json_arguments(body: bytes) -> Json:
    try:
        parsed = json.loads(body)
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(parsed, dict):
        raise SlackError("json_not_object")
    return parsed


def check_required(call: Call) -> None:
    missing = [n for n in METHODS[call.method].required if call.args.get(n) is None]
    if missing:
        raise invalid_arguments(*(f"missing required field: {name}" for name in missing))
