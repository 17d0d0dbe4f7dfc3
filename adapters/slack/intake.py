"""Which of Slack's deliveries are worth keeping, and under which keys (pure).

Most of what Slack sends to an app that sits in channels is none of its business: what people say to
each other, its own messages coming back, link previews. That is acknowledged and forgotten, so that
the inbox holds only what may become a command. What is kept has keys under which every repetition
of it is recognised: by delivery, and by message for the several events that one message causes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from adapters.slack.agent_events import view_event
from adapters.slack.buttons import (
    AnswerPressed,
    ForeignPressed,
    OpenPressed,
    StopPressed,
    origin_of_form,
    place_of_press,
    press_of,
)
from adapters.slack.feedback import Rated, rated_of
from adapters.slack.identity import SlackIdentity
from adapters.slack.inbound_text import mentions_us
from adapters.slack.orders import order_of
from adapters.slack.wire import Json, object_at, objects_at, text_at


class EventKind(StrEnum):
    """What a kept delivery is, as the inbox lists it."""

    MESSAGE = "message"
    EDIT = "edit"
    DELETION = "deletion"
    REACTION = "reaction"
    STOPPED = "stopped"
    CLICK = "click"
    FORM = "form"
    VIEW = "view"
    COMMAND = "command"
    RETRY = "retry"
    RATING = "rating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A delivery for the inbox. What shares `thread_key` is handled in order."""

    kind: EventKind
    event_key: str
    thread_key: str
    message_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A delivery that nobody needs to remember, and why."""

    reason: str


SAID_SUBTYPES = ("", "file_share", "thread_broadcast")
"""Subtypes of a message that a person wrote. All others tell of something that happened."""
APP_SUBTYPES = (*SAID_SUBTYPES, "bot_message")
"""Subtypes of a message that an app wrote; the last one is of classic apps, which have no user."""
TOMBSTONE = "tombstone"
"""What a parent with replies becomes when it is deleted: an edit, as far as Slack tells."""


def intake(
    body: Json,
    identity: SlackIdentity,
    *,
    stop_reaction: str,
    retry_reaction: str = "",
    answer_bots: bool = False,
) -> Kept | Dropped:
    """Decide on any delivery whatsoever. Never raises. `answer_bots`: mentions by other apps count."""
    if (order := order_of(body)) is not None:
        thread_key = f"command:{order.at.user_id}"
        return Kept(kind=EventKind.COMMAND, event_key=_event_key(body), thread_key=thread_key)
    match text_at(body, "type"):
        case "event_callback":
            reactions = {stop_reaction: EventKind.REACTION}
            if retry_reaction:
                reactions.setdefault(retry_reaction, EventKind.RETRY)
            return _intake_event(body, identity, reactions, answer_bots=answer_bots)
        case "block_actions":
            return _intake_press(body)
        case "view_submission":
            return _intake_form(body)
        case kind:
            return Dropped(reason=f"not handled: {kind or 'no type'}")


def is_from_person(message: Json, identity: SlackIdentity) -> bool:
    """Whether a person wrote it: not us, not another app, not Slack."""
    user = text_at(message, "user")
    if not user or user in (identity.bot_user_id, "USLACKBOT"):
        return False
    return not (text_at(message, "bot_id") or object_at(message, "bot_profile"))


def is_from_other_app(message: Json, identity: SlackIdentity) -> bool:
    """Whether another app's bot wrote it. Where we do not know our own bot id, nothing is."""
    bot_id = text_at(message, "bot_id")
    if not bot_id or not identity.bot_id or bot_id == identity.bot_id:
        return False
    return text_at(message, "user") != identity.bot_user_id


def thread_of(message: Json) -> str:
    """The thread that a message belongs to, or that a reply to it would open."""
    return text_at(message, "thread_ts") or text_at(message, "ts")


def _intake_event(
    body: Json,
    identity: SlackIdentity,
    reactions: Mapping[str, EventKind],
    *,
    answer_bots: bool,
) -> Kept | Dropped:
    event = object_at(body, "event")
    kind, subtype = text_at(event, "type"), text_at(event, "subtype")
    if kind == "app_mention" or (kind == "message" and subtype in APP_SUBTYPES):
        return _intake_said(body, event, identity, answer_bots=answer_bots)
    if kind == "message" and subtype == "message_changed":
        return _intake_edit(body, event, identity)
    if kind == "message" and subtype == "message_deleted":
        return _intake_deletion(body, event, identity)
    if kind == "reaction_added":
        return _intake_reaction(body, event, identity, reactions)
    if kind == "agent_session_stopped":
        return _kept(body, EventKind.STOPPED, event, text_at(event, "thread_ts"))
    return _intake_view(body, event)


def _intake_view(body: Json, event: Json) -> Kept | Dropped:
    seen = view_event(event)
    if seen is None:
        what = f"{text_at(event, 'type')} {text_at(event, 'subtype')}".rstrip()
        return Dropped(reason=f"not handled: {what}")
    thread_key = f"{seen.channel}:{seen.thread}:view"
    return Kept(kind=EventKind.VIEW, event_key=_event_key(body), thread_key=thread_key)


def _intake_said(
    body: Json, event: Json, identity: SlackIdentity, *, answer_bots: bool
) -> Kept | Dropped:
    channel, ts = text_at(event, "channel"), text_at(event, "ts")
    if not channel or not ts:
        return Dropped(reason="no channel or no timestamp")
    if not is_from_person(event, identity):
        # What an app says in a thread of ours is no reply: two bots would talk for ever.
        asks_us = text_at(event, "type") == "app_mention" or mentions_us(event, identity)
        if not (answer_bots and asks_us and is_from_other_app(event, identity)):
            return Dropped(reason="not written by a person")
    elif text_at(event, "subtype") not in SAID_SUBTYPES:
        return Dropped(reason="not a message that a person wrote")
    if not _may_concern_us(event, event, identity):
        return Dropped(reason="not addressed to the bot")
    key = identity.message_key(channel, ts)
    edited = text_at(event, "edited", "ts")
    if edited:
        # A mention that was added by an edit; its twin is the message_changed of the same edit.
        return _kept(body, EventKind.EDIT, event, thread_of(event), f"{key}:edit:{edited}")
    if text_at(event, "type") == "message" and objects_at(event, "files"):
        # Its app_mention may come first and without the files: then this one brings them.
        key = f"{key}:files"
    return _kept(body, EventKind.MESSAGE, event, thread_of(event), key)


def _intake_edit(body: Json, event: Json, identity: SlackIdentity) -> Kept | Dropped:
    message, previous = object_at(event, "message"), object_at(event, "previous_message")
    channel, ts = text_at(event, "channel"), text_at(message, "ts")
    edited = text_at(message, "edited", "ts")
    if text_at(message, "subtype") == TOMBSTONE:
        return _intake_deletion(body, event, identity)
    if not channel or not ts or not edited:
        return Dropped(reason="not edited by anybody")
    is_said = text_at(message, "subtype") in SAID_SUBTYPES
    if not is_said or not is_from_person(message, identity):
        return Dropped(reason="not written by a person")
    if text_at(message, "text") == text_at(previous, "text"):
        return Dropped(reason="the text is as it was")
    if not (_may_concern_us(event, message, identity) or mentions_us(previous, identity)):
        return Dropped(reason="not addressed to the bot")
    key = f"{identity.message_key(channel, ts)}:edit:{edited}"
    return _kept(body, EventKind.EDIT, event, thread_of(message), key)


def _intake_deletion(body: Json, event: Json, identity: SlackIdentity) -> Kept | Dropped:
    previous = object_at(event, "previous_message")
    channel = text_at(event, "channel")
    ts = text_at(event, "deleted_ts") or text_at(previous, "ts")
    if not channel or not ts:
        return Dropped(reason="no channel or no timestamp")
    if not is_from_person(previous, identity):
        return Dropped(reason="not written by a person")
    if not _may_concern_us(event, previous, identity):
        return Dropped(reason="not addressed to the bot")
    key = f"{identity.message_key(channel, ts)}:deleted"
    return _kept(body, EventKind.DELETION, event, thread_of(previous) or ts, key)


def _intake_reaction(
    body: Json, event: Json, identity: SlackIdentity, reactions: Mapping[str, EventKind]
) -> Kept | Dropped:
    kind = reactions.get(text_at(event, "reaction"))
    if kind is None:
        return Dropped(reason="not a reaction that means anything")
    user = text_at(event, "user")
    if not user or user == identity.bot_user_id:
        return Dropped(reason="not made by a person")
    ts = text_at(event, "item", "ts")
    channel = text_at(event, "item", "channel")
    if not ts or not channel:
        return Dropped(reason="not on a message")
    return Kept(
        kind=kind,
        event_key=_event_key(body),
        thread_key=f"{identity.message_key(channel, ts)}:reaction",
    )


def _intake_rating(body: Json, rated: Rated) -> Kept:
    return Kept(
        kind=EventKind.RATING,
        event_key=_event_key(body),
        thread_key=f"rating:{rated.turn_id}:{rated.user_id}",
    )


def _intake_press(body: Json) -> Kept | Dropped:
    if (rated := rated_of(body)) is not None:
        return _intake_rating(body, rated)
    pressed = press_of(body)
    if isinstance(pressed, ForeignPressed):
        return Dropped(reason="not a control of ours")
    if isinstance(pressed, OpenPressed):
        return Dropped(reason="opens a form, which cannot wait")
    place = place_of_press(body)
    if not place.user_id or not place.channel:
        return Dropped(reason="nobody pressed it, or nowhere")
    match pressed:
        case AnswerPressed(action_id=action_id):
            thread_key = f"action:{action_id}"
        case StopPressed():
            thread_key = f"{place.channel}:{place.thread}:stop"
    return Kept(kind=EventKind.CLICK, event_key=_event_key(body), thread_key=thread_key)


def _intake_form(body: Json) -> Kept | Dropped:
    if (rated := rated_of(body)) is not None:
        return _intake_rating(body, rated)
    origin = origin_of_form(body)
    if origin is None or not text_at(body, "user", "id"):
        return Dropped(reason="not a form of ours")
    return Kept(
        kind=EventKind.FORM,
        event_key=_event_key(body),
        thread_key=f"action:{origin.action_id}",
    )


def _may_concern_us(event: Json, message: Json, identity: SlackIdentity) -> bool:
    """Direct messages, mentions, and replies, whose thread may be one of ours."""
    return (
        text_at(event, "type") == "app_mention"
        or text_at(event, "channel_type") == "im"
        or text_at(event, "channel").startswith("D")
        or bool(text_at(message, "thread_ts"))
        or mentions_us(message, identity)
    )


def _kept(
    body: Json, kind: EventKind, event: Json, thread: str, message_key: str | None = None
) -> Kept | Dropped:
    channel = text_at(event, "channel")
    if not channel or not thread:
        return Dropped(reason="no channel or no thread")
    return Kept(
        kind=kind,
        event_key=_event_key(body),
        thread_key=f"{channel}:{thread}",
        message_key=message_key,
    )


def _event_key(body: Json) -> str:
    """Slack's id of the delivery; for what has none, a digest that repetitions share."""
    if event_id := text_at(body, "event_id"):
        return event_id
    if trigger_id := text_at(body, "trigger_id"):
        return f"trigger:{trigger_id}"
    what: object = body.get("event") or [
        text_at(body, "type"),
        text_at(body, "user", "id"),
        text_at(body, "view", "id"),
        text_at(body, "view", "hash"),
        [text_at(action, "action_ts") for action in objects_at(body, "actions")],
    ]
    canonical = json.dumps(what, sort_keys=True, default=dict if isinstance(what, Mapping) else str)
    return f"digest:{sha256(canonical.encode('utf-8', 'surrogatepass')).hexdigest()}"
