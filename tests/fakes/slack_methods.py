"""Owns the way of a Web API call through fake Slack: wire, token, scope, rate, fault, method, answer, log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from tests.fakes import slack_methods_chat as chat
from tests.fakes import slack_methods_files as files
from tests.fakes import slack_methods_lookup as lookup
from tests.fakes import slack_methods_oauth as oauth
from tests.fakes import slack_methods_streams as streams
from tests.fakes import slack_methods_usergroups as usergroups
from tests.fakes import slack_methods_views as views
from tests.fakes.slack_backend import Backend
from tests.fakes.slack_rates import Fault
from tests.fakes.slack_wire import (
    METHODS,
    Call,
    SlackError,
    TokenKind,
    check_required,
    read_arguments,
)

Json = dict[str, Any]
Method = Callable[[Backend, Call], Json]


class _DroppedError(Exception):
    """The connection was cut on a test's order before the call was handled."""


def _api_test(_backend: Backend, call: Call) -> Json:
    if error := call.text("error"):
        raise SlackError(error, args=call.args)
    return {"args": call.args}


def _auth_test(_backend: Backend, call: Call) -> Json:
    team, bot = call.team, call.install
    return {
        "url": f"https://{team.domain}.slack.com/",
        "team": team.name,
        "user": bot.name.lower(),
        "team_id": team.id,
        "user_id": bot.user_id,
        "bot_id": bot.bot_id,
        "is_enterprise_install": team.is_org_install,
    }


def _open_connection(backend: Backend, call: Call) -> Json:
    sockets = backend.other_sockets.get(call.token or "", backend.sockets)
    return {"url": sockets.open_link(backend.origin)}


def _export_manifest(backend: Backend, call: Call) -> Json:
    if call.text("app_id") != backend.app_id:
        raise SlackError("invalid_app_id")
    return {"manifest": backend.manifest}


HANDLERS: dict[str, Method] = {
    "api.test": _api_test,
    "auth.test": _auth_test,
    "auth.revoke": oauth.revoke,
    "oauth.v2.access": oauth.access,
    "apps.connections.open": _open_connection,
    "apps.manifest.export": _export_manifest,
    "chat.postMessage": chat.post_message,
    "chat.update": chat.update,
    "chat.delete": chat.delete,
    "chat.startStream": streams.start,
    "chat.appendStream": streams.append,
    "chat.stopStream": streams.stop,
    "chat.postEphemeral": chat.post_ephemeral,
    "chat.getPermalink": chat.get_permalink,
    "reactions.add": chat.add_reaction,
    "reactions.remove": chat.remove_reaction,
    "reactions.get": chat.get_reactions,
    "conversations.replies": lookup.replies,
    "conversations.history": lookup.history,
    "conversations.info": lookup.info,
    "conversations.list": lookup.list_channels,
    "conversations.members": lookup.members,
    "conversations.open": lookup.open_channel,
    "conversations.join": lookup.join,
    "users.info": lookup.user_info,
    "users.list": lookup.list_users,
    "users.lookupByEmail": lookup.user_by_email,
    "usergroups.list": usergroups.list_groups,
    "usergroups.users.list": usergroups.list_users,
    "bots.info": lookup.bot_info,
    "team.info": lookup.team_info,
    "files.info": lookup.file_info,
    "files.getUploadURLExternal": files.get_upload_url,
    "files.completeUploadExternal": files.complete_upload,
    "views.open": views.open_view,
    "views.push": views.push_view,
    "views.update": views.update_view,
    "views.publish": views.publish_view,
    "assistant.threads.setStatus": views.set_status,
    "assistant.threads.setTitle": views.set_title,
    "assistant.threads.setSuggestedPrompts": views.set_prompts,
    "agents.sessions.setStatus": views.set_session_status,
}


async def answer(backend: Backend, request: web.Request) -> web.StreamResponse:
    """Answer one call as Slack would: HTTP 200 for success and refusal alike, 429 when too fast."""
    call = Call(
        method=request.match_info["method"], at=backend.clock.now(), http_method=request.method
    )
    backend.calls.append(call)
    fault: Fault | None = None
    try:
        await read_arguments(request, call)
        _authenticate(backend, call)
        fault = backend.faults.take(call.method, call.args)
        if fault is not None:
            await _before(fault, request)
            if fault.refuses:
                return _answer_fault(backend, call, fault)
        retry_after = backend.rates.admit(call.method, *_counted_for(call), call.args)
        if retry_after is not None:
            return _too_fast(backend, call, retry_after)
        check_required(call)
        _succeed(call, HANDLERS[call.method](backend, call))
    except SlackError as refusal:
        call.response = {"ok": False, "error": refusal.error, **refusal.extra}
    except _DroppedError:
        return web.Response()
    call.status = 200
    backend.world.touch()
    if fault is not None and await _after(fault, request):
        return web.Response()
    return web.json_response(call.response, headers=_headers(call))


def _authenticate(backend: Backend, call: Call) -> None:
    rule = METHODS[call.method]
    if rule.token is TokenKind.NONE:
        return
    if call.token is None:
        raise SlackError("not_authed")
    if call.token in backend.revoked_tokens:
        raise SlackError("token_revoked")
    if rule.token is TokenKind.APP:
        if call.token != backend.app_token and call.token not in backend.other_sockets:
            known = backend.world.install_for(call.token) is not None
            raise SlackError("not_allowed_token_type" if known else "invalid_auth")
        return
    if rule.token is TokenKind.CONFIG:
        if call.token != backend.config_token:
            raise SlackError("not_allowed_token_type")
        return
    if call.token in (backend.app_token, backend.config_token):
        raise SlackError("not_allowed_token_type")
    if (grant := backend.oauth.install_for(call.token)) is not None:
        if backend.oauth.is_expired(grant):
            raise SlackError("token_expired")
        call.workspace, call.bot = grant.workspace, grant.bot
    elif (found := backend.world.install_for(call.token)) is not None:
        call.workspace, call.bot = found
    else:
        raise SlackError("invalid_auth")
    if rule.scope is not None:
        call.needs(rule.scope)


def _counted_for(call: Call) -> tuple[str, str]:
    """The workspace and the app that a call is counted for."""
    if call.workspace is None or call.bot is None:
        return "", ""
    return call.workspace.id, call.bot.app_id


def _succeed(call: Call, body: Json) -> None:
    call.response = {"ok": True, **body}
    if call.warnings:
        call.response["warning"] = ",".join(call.warnings)
        details = {"warnings": list(call.warnings)}
        call.response["response_metadata"] = {**body.get("response_metadata", {}), **details}


def _headers(call: Call) -> dict[str, str]:
    if call.bot is None:
        return {}
    headers = {"X-OAuth-Scopes": ",".join(sorted(call.bot.scopes))}
    if (scope := METHODS[call.method].scope) is not None:
        headers["X-Accepted-OAuth-Scopes"] = scope
    return headers


def _too_fast(backend: Backend, call: Call, retry_after: int | str) -> web.Response:
    call.status = 429
    call.response = {"ok": False, "error": "ratelimited"}
    backend.world.touch()
    headers = {"Retry-After": str(retry_after)}
    return web.json_response(call.response, status=429, headers=headers)


def _answer_fault(backend: Backend, call: Call, fault: Fault) -> web.Response:
    call.status = fault.status or 200
    if call.status == 429:
        return _too_fast(backend, call, fault.retry_after or 1)
    call.response = {"ok": False, "error": fault.error or "internal_error"}
    backend.world.touch()
    if call.status >= 500:
        return web.Response(status=call.status, text="upstream connect error")
    return web.json_response(call.response, status=call.status)


async def _before(fault: Fault, request: web.Request) -> None:
    if fault.hang_before_handling:
        await fault.released.wait()
    if fault.drop_before_handling:
        _abort(request)
        raise _DroppedError


async def _after(fault: Fault, request: web.Request) -> bool:
    """Whether the connection was dropped, so that the answer goes nowhere."""
    if fault.hang_after_handling:
        await fault.released.wait()
    if fault.drop_after_handling:
        _abort(request)
    return fault.drop_after_handling


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
