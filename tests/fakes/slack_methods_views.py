"""Owns views.* and what agents set about a thread: modal stacks of three, hashes, status, title, prompts."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import dressed
from tests.fakes.slack_limits import (
    LOADING_MESSAGE_CHARS_MAX,
    LOADING_MESSAGES_MAX,
    VIEW_STACK_MAX,
    check_view,
    view_is_too_large,
)
from tests.fakes.slack_limits_initial import check_initials
from tests.fakes.slack_methods_chat import find_channel
from tests.fakes.slack_shapes import view_json
from tests.fakes.slack_state import BotInstall, ThreadExtras, View, Workspace
from tests.fakes.slack_wire import Call, SlackError, invalid_arguments

Json = dict[str, Any]

SESSION_TITLE_MAX = 200
SESSION_STATUSES = frozenset({"active", "processing", "suspended", "closed"})


def read_view(raw: object, backend: Backend, known_users: Collection[str]) -> Json:
    """A modal's content, checked and dressed; raises SlackError as views.* does."""
    if not isinstance(raw, dict):
        raise invalid_arguments("must provide an object [json-pointer:/view]")
    if view_is_too_large(raw):
        raise SlackError("view_too_large")
    if problems := check_view(raw):
        raise invalid_arguments(*(str(problem) for problem in problems))
    if problems := check_initials(raw["blocks"], known_users):
        raise invalid_arguments(*(str(problem) for problem in problems))
    content: Json = json.loads(json.dumps(raw))
    content["blocks"] = dressed(content["blocks"], backend.world.new_id)
    return content


def make_view(
    backend: Backend, user_id: str, content: Json, bot: BotInstall, *, below: View | None
) -> View:
    view_id = backend.world.new_id("V")
    return View(
        id=view_id,
        user_id=user_id,
        content=content,
        hash=f"{backend.world.new_ts()}.h",
        root_view_id=below.root_view_id if below else view_id,
        previous_view_id=below.id if below else None,
        bot=bot,
    )


def show_view(workspace: Workspace, view: View, *, on_top: bool) -> None:
    """Put a modal in front of its person, alone or on top of the open ones."""
    stack = workspace.stacks.setdefault(view.user_id, [])
    if not on_top:
        for old in stack:
            old.is_open = False
        stack.clear()
    stack.append(view)
    workspace.views[view.id] = view


def _given_view(backend: Backend, call: Call) -> Json:
    return read_view(call.structure("view", "invalid_arguments"), backend, call.team.accounts)


def _spend_trigger(backend: Backend, call: Call) -> str:
    trigger_id = call.text("trigger_id")
    if not trigger_id:
        raise invalid_arguments("missing required field: trigger_id")
    return backend.triggers.spend(trigger_id, team_id=call.team.id).user_id


def open_view(backend: Backend, call: Call) -> Json:
    content = _given_view(backend, call)
    _refuse_taken_external_id(call.team, content)
    user_id = _spend_trigger(backend, call)
    view = make_view(backend, user_id, content, call.install, below=None)
    show_view(call.team, view, on_top=False)
    return {"view": view_json(view)}


def push_view(backend: Backend, call: Call) -> Json:
    content = _given_view(backend, call)
    _refuse_taken_external_id(call.team, content)
    user_id = _spend_trigger(backend, call)
    stack = call.team.stacks.get(user_id) or []
    if not stack:
        raise SlackError("not_found")
    if len(stack) >= VIEW_STACK_MAX:
        raise SlackError("push_limit_reached")
    view = make_view(backend, user_id, content, call.install, below=stack[-1])
    show_view(call.team, view, on_top=True)
    return {"view": view_json(view)}


def update_view(backend: Backend, call: Call) -> Json:
    view = _find_view(call)
    wanted = call.text("hash")
    if wanted and wanted != view.hash:
        raise SlackError("hash_conflict")
    replace_view(backend, view, _given_view(backend, call))
    return {"view": view_json(view)}


def replace_view(backend: Backend, view: View, content: Json) -> None:
    view.content = content
    view.hash = f"{backend.world.new_ts()}.h"
    view.errors = {}


def publish_view(_backend: Backend, call: Call) -> Json:
    user_id = call.text("user_id")
    if user_id not in call.team.accounts:
        raise SlackError("user_not_found")
    content = _given_view(_backend, call)
    if content["type"] != "home":
        raise invalid_arguments("must be a home view [json-pointer:/view/type]")
    call.team.homes[user_id] = content
    view = make_view(_backend, user_id, content, call.install, below=None)
    return {"view": view_json(view)}


def _find_view(call: Call) -> View:
    views = call.team.views
    if view_id := call.text("view_id"):
        view = views.get(view_id)
    elif external_id := call.text("external_id"):
        view = next(
            (
                v
                for v in views.values()
                if v.is_open and v.content.get("external_id") == external_id
            ),
            None,
        )
    else:
        raise invalid_arguments("missing required field: view_id")
    if view is None or not view.is_open or view.bot is not call.install:
        raise SlackError("not_found")
    return view


def _refuse_taken_external_id(workspace: Workspace, content: Json) -> None:
    external_id = content.get("external_id")
    if external_id and any(
        v.is_open and v.content.get("external_id") == external_id for v in workspace.views.values()
    ):
        raise SlackError("duplicate_external_id")


def _extras(backend: Backend, call: Call) -> ThreadExtras:
    channel = find_channel(backend, call, "channel_id")
    thread_ts = call.text("thread_ts")
    if thread_ts and thread_ts not in channel.messages:
        raise SlackError("thread_not_found")
    return call.team.extras(channel.id, thread_ts)


def set_status(backend: Backend, call: Call) -> Json:
    extras = _extras(backend, call)
    lines = call.structure("loading_messages", "invalid_arguments") or []
    if len(lines) > LOADING_MESSAGES_MAX:
        raise invalid_arguments(
            f"no more than {LOADING_MESSAGES_MAX} items allowed [json-pointer:/loading_messages]"
        )
    if any(len(line) > LOADING_MESSAGE_CHARS_MAX for line in lines):
        raise invalid_arguments(
            f"must be less than {LOADING_MESSAGE_CHARS_MAX + 1} characters"
            " [json-pointer:/loading_messages]"
        )
    extras.status = call.text("status")
    extras.status_at = backend.clock.now()
    extras.loading_messages = list(lines)
    backend.world.touch()
    return {}


def set_title(backend: Backend, call: Call) -> Json:
    _extras(backend, call).title = call.text("title")
    backend.world.touch()
    return {}


def set_prompts(backend: Backend, call: Call) -> Json:
    prompts = call.structure("prompts", "invalid_arguments")
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= 4:
        raise invalid_arguments("prompts must hold one to four entries")
    _extras(backend, call).prompts = prompts
    backend.world.touch()
    return {}


def set_session_status(backend: Backend, call: Call) -> Json:
    status = call.text("status")
    if status not in SESSION_STATUSES:
        raise invalid_arguments(f"unknown status {status}")
    title = call.text("title")
    if len(title) > SESSION_TITLE_MAX:
        raise invalid_arguments("title is too long [json-pointer:/title]")
    extras = _extras(backend, call)
    extras.session_status = status
    extras.title = title or extras.title
    backend.world.touch()
    return {}
