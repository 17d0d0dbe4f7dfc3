"""Owns what an app answers to interactions: response URLs, command replies, what a submission does to modals."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import read_content
from tests.fakes.slack_methods_views import make_view, read_view, replace_view, show_view
from tests.fakes.slack_state import Message, View, Workspace
from tests.fakes.slack_triggers import ResponseUrl
from tests.fakes.slack_wire import Call, SlackError

Json = dict[str, Any]


async def answer_response_url(backend: Backend, request: web.Request) -> web.Response:
    """A POST to a response URL: no token, JSON in, `ok` out."""
    try:
        url = backend.triggers.spend_url(request.path)
    except SlackError as refusal:
        return web.json_response({"ok": False, "error": refusal.error}, status=404)
    try:
        body = json.loads(await request.read())
    except ValueError:
        return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
    try:
        respond(backend, url, body)
    except SlackError as refusal:
        return web.json_response({"ok": False, "error": refusal.error})
    return web.Response(text="ok")


def respond(backend: Backend, url: ResponseUrl, body: Json) -> None:
    """Do what the app's answer asks: replace, delete, or add a message seen by one or by all."""
    workspace = backend.world.workspaces[url.team_id]
    source = _source(workspace, url)
    if body.get("delete_original"):
        if source is not None:
            backend.erase(workspace, source)
        return
    call = Call(method="response_url", at=backend.clock.now(), http_method="POST", args=body)
    if body.get("replace_original") and source is not None:
        content = read_content(call, backend.world.new_id, is_update=True)
        backend.revise(workspace, source, content, edited_by=workspace.bot.bot_id)
        return
    content = read_content(call, backend.world.new_id, is_update=False)
    is_public = body.get("response_type") == "in_channel"
    backend.post_as_bot(
        workspace,
        workspace.bot,
        workspace.channels[url.channel_id],
        content,
        thread_ts=body.get("thread_ts") or url.thread_ts,
        visible_to=None if is_public else url.user_id,
    )


def _source(workspace: Workspace, url: ResponseUrl) -> Message | None:
    if url.message_ts is None:
        return None
    stored = workspace.channels[url.channel_id].messages.get(url.message_ts)
    if stored is not None:
        return stored
    return next((m for m in workspace.ephemerals if m.ts == url.message_ts), None)


def apply_submission(backend: Backend, workspace: Workspace, view: View, response: object) -> None:
    """What the person sees after submitting: the modal closed, refused, replaced or covered."""
    stack = workspace.stacks.get(view.user_id, [])
    action = response if isinstance(response, dict) else {}
    match action.get("response_action"):
        case "errors":
            view.errors = {str(k): str(v) for k, v in action.get("errors", {}).items()}
            _check_error_blocks(view)
        case "update":
            replace_view(backend, view, read_view(action.get("view"), backend, workspace.accounts))
        case "push":
            content = read_view(action.get("view"), backend, workspace.accounts)
            pushed = make_view(backend, view.user_id, content, view.bot, below=view)
            show_view(workspace, pushed, on_top=True)
        case "clear":
            _close(stack, len(stack))
        case None:
            _close(stack, 1)
        case other:
            raise AssertionError(f"unknown response_action {other!r}")
    backend.world.touch()


def _check_error_blocks(view: View) -> None:
    inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
    stray = set(view.errors) - inputs
    if stray:
        raise AssertionError(f"errors for blocks that are no inputs of the view: {sorted(stray)}")


def _close(stack: list[View], count: int) -> None:
    for _ in range(min(count, len(stack))):
        stack.pop().is_open = False
