"""Slack's payloads, as small as they can be, in the story's workspace."""

from typing import Any

from adapters.slack.identity import SlackIdentity
from adapters.slack.intake import Dropped, EventKind, Kept, intake
from adapters.slack.translate import Intent, translate

Json = dict[str, Any]
WREN = SlackIdentity(team_id="T1", bot_user_id="UWREN", bot_id="BWREN")
STOP_WORDS = ("stop", "!stop")
TS, REPLY_TS = "1700000000.000100", "1700000009.000200"


def event(kind: str, *, event_id: str = "Ev1", **fields: Any) -> Json:
    return {
        "type": "event_callback",
        "team_id": "T1",
        "event_id": event_id,
        "event": {"type": kind, **fields},
    }


def said(text: str = "<@UWREN> hi", *, kind: str = "message", **fields: Any) -> Json:
    given = {"channel": "C1", "user": "UADA", "text": text, "ts": TS, "channel_type": "channel"}
    return event(kind, **(given | fields))


def changed(text: str, before: str, *, edited: str = "1700000005.000000", **fields: Any) -> Json:
    message = {"user": "UADA", "ts": TS, "text": text, "edited": {"user": "UADA", "ts": edited}}
    previous = {"user": "UADA", "ts": TS, "text": before}
    return event(
        "message",
        subtype="message_changed",
        channel="C1",
        channel_type="channel",
        hidden=True,
        ts="1700000005.000001",
        message=message | fields,
        previous_message=previous,
    )


def deleted(**fields: Any) -> Json:
    previous = {"user": "UADA", "ts": REPLY_TS, "thread_ts": TS, "text": "wait"} | fields
    return event(
        "message",
        subtype="message_deleted",
        channel="C1",
        deleted_ts=REPLY_TS,
        previous_message=previous,
        ts="1700000011.000001",
    )


def pressed(action: Json, **fields: Any) -> Json:
    return {
        "type": "block_actions",
        "user": {"id": "UBO", "username": "bo"},
        "trigger_id": "1.2.3",
        "channel": {"id": "C1"},
        "container": {"type": "message", "message_ts": REPLY_TS, "thread_ts": TS},
        "actions": [action],
    } | fields


def take_in(body: Any) -> Kept | Dropped:
    return intake(body, WREN, stop_reaction="octagonal_sign")


def asked(body: Json, *, twin: Json | None = None, names: dict[str, str] | None = None) -> Intent:
    """What a body asks for after intake, as the inbox worker sees it."""
    kept = take_in(body)
    assert isinstance(kept, Kept), kept
    return translate(kept.kind, body, identity=WREN, stop_words=STOP_WORDS, twin=twin, names=names)


def kind_of(body: Json) -> EventKind | None:
    kept = take_in(body)
    return kept.kind if isinstance(kept, Kept) else None
