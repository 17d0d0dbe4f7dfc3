"""Owns oauth.v2.access and auth.revoke of fake Slack, with the refusals that the reference lists."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_oauth import OAuthClient
from tests.fakes.slack_state import Workspace
from tests.fakes.slack_wire import Call, SlackError

Json = dict[str, Any]


def access(backend: Backend, call: Call) -> Json:
    """A code, or a refresh token, for tokens. Both work once."""
    client = _client_of(backend, call)
    if call.text("grant_type") == "refresh_token":
        workspace = _refreshed(backend, client, call.text("refresh_token"))
        return _answer(backend, client, workspace, user_id="")
    if call.text("grant_type") not in ("", "authorization_code"):
        raise SlackError("invalid_grant_type")
    found = backend.oauth.codes.get(call.text("code"))
    if found is None or found.client_id != client.client_id:
        raise SlackError("invalid_code")
    if found.is_used or found.expires <= backend.clock.now():
        raise SlackError("code_already_used" if found.is_used else "invalid_code")
    if call.text("redirect_uri") != found.redirect_uri:
        raise SlackError("bad_redirect_uri")
    found.is_used = True
    return _answer(backend, client, found.workspace, user_id=found.user_id)


def revoke(backend: Backend, call: Call) -> Json:
    """The token that asks is dead afterwards."""
    if not call.flag("test") and call.token is not None:
        backend.revoked_tokens.add(call.token)
    return {"revoked": not call.flag("test")}


def _client_of(backend: Backend, call: Call) -> OAuthClient:
    client_id, secret = call.text("client_id"), call.text("client_secret")
    if call.token is not None and call.token.startswith("Basic "):
        try:
            given = base64.b64decode(call.token.removeprefix("Basic ")).decode()
        except (binascii.Error, ValueError):
            raise SlackError("invalid_client_id") from None
        client_id, _, secret = given.partition(":")
    client = backend.oauth.clients.get(client_id)
    if client is None:
        raise SlackError("invalid_client_id")
    if secret != client.client_secret:
        raise SlackError("bad_client_secret")
    return client


def _refreshed(backend: Backend, client: OAuthClient, refresh_token: str) -> Workspace:
    client_id, workspace = backend.oauth.refresh_tokens.get(refresh_token, ("", None))
    if workspace is None or client_id != client.client_id:
        raise SlackError("invalid_refresh_token")
    del backend.oauth.refresh_tokens[refresh_token]
    return workspace


def _answer(backend: Backend, client: OAuthClient, workspace: Workspace, *, user_id: str) -> Json:
    bot = client.bot_of(workspace)
    token, refresh, seconds = backend.oauth.grant(client, workspace)
    enterprise = workspace.enterprise_id
    answer: Json = {
        "app_id": client.app_id,
        "authed_user": {"id": user_id} if user_id else {},
        "scope": ",".join(sorted(bot.scopes)),
        "token_type": "bot",
        "access_token": token,
        "bot_user_id": bot.user_id,
        "team": None if workspace.is_org_install else {"id": workspace.id, "name": workspace.name},
        "enterprise": {"id": enterprise, "name": f"Harbours {enterprise}"} if enterprise else None,
        "is_enterprise_install": workspace.is_org_install,
    }
    if refresh:
        answer |= {"refresh_token": refresh, "expires_in": seconds}
    return answer
