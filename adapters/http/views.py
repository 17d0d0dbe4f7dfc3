"""From the engine's values to the JSON of the API (pure). Every key is always there; unknown is null.

What is internal stays inside: source keys, signatures of reasoning, message revisions.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_never

import msgspec

from adapters.http.errors import Problem
from adapters.http.queries import encode_cursor
from engine.api import Applied, ListedChat, Recording, TokenInfo
from engine.chat.actions import RequiredAction
from engine.chat.answerers import Answerers
from engine.chat.content import Author, Message, Part, QueuedMessage, ReasoningPart
from engine.chat.errors import ChatError, RetryState
from engine.chat.view import shown_status
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    HistoryReset,
    MessageEvent,
    PartEvent,
    PreviewReset,
    QueueEvent,
    RetryEvent,
    StatusEvent,
)

Json = dict[str, Any]


def problem(found: Problem) -> Json:
    """An error answer."""
    body: Json = {"code": found.code, "message": found.message}
    if found.detail:
        body["detail"] = found.detail
    if found.validations:
        body["validations"] = [
            {"field": item.field, "detail": item.detail} for item in found.validations
        ]
    return {**found.facts, **body}


def chat(listed: ListedChat) -> Json:
    """One chat without its messages, as the caller sees it."""
    view = listed.chat
    return {
        "id": str(view.id),
        "bot": view.bot,
        "title": view.title,
        "model": view.model,
        "status": view.status.value,
        "archived": view.archived,
        "labels": view.labels,
        "pin_order": view.pin_order,
        "has_unread": listed.has_unread,
        "channel": view.channel,
        "records_calls": view.records_calls,
        "owner": _author(view.owner),
        "queue_length": view.queue_length,
        "actions_deadline_at": _time(view.actions_deadline_at),
        "last_error": _error(view.last_error),
        "retry": _retry(view.retry),
        "snapshot_version": view.versions.snapshot_version,
        "created_at": _time(view.created_at),
        "updated_at": _time(view.updated_at),
    }


def chats(page: Sequence[ListedChat], limit: int) -> Json:
    """A page of chats, given one more than asked for if there is one."""
    shown = page[:limit]
    cursor = encode_cursor(shown[-1].cursor) if len(page) > limit else None
    return {"chats": [_found(listed) for listed in shown], "next_cursor": cursor}


def _found(listed: ListedChat) -> Json:
    pieces = [{"text": piece.text, "is_match": piece.is_match} for piece in listed.snippet]
    return {**chat(listed), "snippet": pieces or None}


def recording(call: Recording) -> Json:
    """A recorded call of a model."""
    return {
        "id": call.id,
        "kind": call.kind.value,
        "model": call.model,
        "status": call.status.value,
        "request": call.request,
        "response": call.response,
        "error": _error(call.error),
        "started_at": _time(call.started_at),
        "finished_at": _time(call.finished_at),
    }


def recordings(page: Sequence[Recording], limit: int) -> Json:
    """A page of recorded calls, given one more than asked for if there is one."""
    shown = [recording(call) for call in page[:limit]]
    without = [
        {key: value for key, value in call.items() if key not in ("request", "response")}
        for call in shown
    ]
    return {"recordings": without, "has_more": len(page) > limit}


def message(stored: Message) -> Json:
    """A message of the history."""
    usage = stored.usage
    return {
        "id": stored.id,
        "role": stored.role.value,
        "content": [part(item) for item in stored.content],
        "author": _author(stored.author),
        "model": stored.model,
        "finish": None if stored.finish is None else stored.finish.value,
        "usage": None if usage is None else msgspec.to_builtins(usage),
        "cost_micros": stored.cost_micros,
        "runtime_ms": stored.runtime_ms,
        "created_at": _time(stored.created_at),
    }


def messages(page: Sequence[Message], limit: int, *, forward: bool) -> Json:
    """A page of the history in order, given one more than asked for if there is one."""
    more = len(page) > limit
    shown = page[:limit] if forward else page[-limit:]
    return {"messages": [message(stored) for stored in shown], "has_more": more}


def queued(waiting: QueuedMessage) -> Json:
    """A message that waits."""
    return {
        "id": waiting.id,
        "content": [part(item) for item in waiting.content],
        "author": _author(waiting.author),
        "created_at": _time(waiting.created_at),
    }


def queue(waiting: Sequence[QueuedMessage]) -> Json:
    """What waits, in the order in which it will be answered."""
    return {"queued_messages": [queued(item) for item in waiting]}


def action(asked: RequiredAction) -> Json:
    """What people or programs are asked. `args` is JSON text, as the model wrote it."""
    return {
        "id": asked.id,
        "tool_call_id": asked.tool_call_id,
        "tool_name": asked.tool_name,
        "executor": asked.executor.value,
        "args": asked.args,
        "form": None if asked.form is None else msgspec.to_builtins(asked.form),
        "answerers": None if asked.answerers is None else _answerers(asked.answerers),
        "asker": _author(asked.asker),
        "state": asked.state.value,
        "answer": asked.answer,
        "answered_by": _author(asked.answered_by),
        "deadline_at": _time(asked.deadline_at),
        "created_at": _time(asked.created_at),
        "closed_at": _time(asked.closed_at),
    }


def _answerers(answerers: Answerers) -> Json:
    return {
        "asker": answerers.asker,
        "people": list(answerers.people),
        "groups": list(answerers.groups),
    }


def actions(asked: Sequence[RequiredAction]) -> Json:
    """Actions, in the order of their calls."""
    return {"actions": [action(item) for item in asked]}


def applied(outcome: Applied) -> Json:
    """What became of a command, and the chat afterwards."""
    after = outcome.snapshot
    return {
        "effect": outcome.effect.value,
        "message_ids": list(outcome.message_ids),
        "queued_id": outcome.queued_id,
        "status": shown_status(after.status, lease_live=after.lease_live).value,
        "archived": after.archived,
        "snapshot_version": after.snapshot_version,
    }


def token(info: TokenInfo) -> Json:
    """An API token without its secret."""
    return {
        "id": info.id,
        "name": info.name,
        "role": info.role,
        "created_at": _time(info.created_at),
        "last_used_at": _time(info.last_used_at),
        "revoked_at": _time(info.revoked_at),
    }


def part(item: Part) -> Any:
    """A part of a message, without what only its provider needs."""
    if isinstance(item, ReasoningPart):
        return {"type": "reasoning", "text": item.text}
    return msgspec.to_builtins(item)


def event(told: Event) -> Json:
    """What a subscriber is told."""
    match told:
        case StatusEvent() | PreviewReset() | HistoryReset() | PartEvent():
            body: Json = msgspec.to_builtins(told)
            return body
        case MessageEvent():
            return {"type": "message", "message": message(told.message)}
        case QueueEvent():
            return {"type": "queue", **queue(told.messages)}
        case ActionsEvent():
            return {"type": "actions", **actions(told.actions)}
        case RetryEvent():
            return {"type": "retry", "retry": _retry(told.retry)}
        case ErrorEvent():
            return {"type": "error", "error": _error(told.error)}
        case _:
            assert_never(told)


def encode(body: Any) -> bytes:
    """JSON, as UTF-8."""
    return msgspec.json.encode(body)


def _author(who: Author | None) -> Json | None:
    return None if who is None else {"identity": who.identity, "name": who.name}


def _error(error: ChatError | None) -> Json | None:
    return None if error is None else msgspec.to_builtins(error)


def _retry(retry: RetryState | None) -> Json | None:
    return None if retry is None else msgspec.to_builtins(retry)


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
