"""Owns the chat.* and reactions.* methods of fake Slack and how a call finds its channel and message."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import read_content
from tests.fakes.slack_shapes import message_json
from tests.fakes.slack_state import Channel, ChannelKind, Message
from tests.fakes.slack_wire import Call, SlackError

Json = dict[str, Any]

_TS = re.compile(r"\d{1,10}\.\d{1,6}")
_UNANSWERABLE = frozenset({"channel_join", "channel_leave", "channel_topic"})


def find_channel(backend: Backend, call: Call, name: str = "channel") -> Channel:
    """The channel a call names by id, name or user id, if the bot may know of it."""
    wanted = call.text(name)
    workspace = call.team
    channel = workspace.channels.get(wanted) or workspace.channel_named(wanted)
    if channel is None and wanted in workspace.accounts:
        channel = backend.world.open_direct_message(workspace, wanted, call.install)
    if channel is None:
        raise SlackError("channel_not_found")
    is_member = call.install.user_id in channel.members
    if channel.kind is not ChannelKind.CHANNEL and not is_member:
        raise SlackError("channel_not_found")
    return channel


def find_message(channel: Channel, ts: str) -> Message:
    message = channel.messages.get(ts)
    if message is None or message.subtype == "tombstone":
        raise SlackError("message_not_found")
    return message


def require_writable(call: Call, channel: Channel) -> None:
    if channel.is_archived:
        raise SlackError("is_archived")
    is_member = call.install.user_id in channel.members
    if not is_member and "chat:write.public" not in call.install.scopes:
        raise SlackError("not_in_channel")


def thread_of(backend: Backend, call: Call, channel: Channel) -> str | None:
    thread_ts = call.text("thread_ts") or None
    if thread_ts is None:
        return None
    if not _TS.fullmatch(thread_ts):
        raise SlackError(
            "invalid_thread_ts",
            response_metadata={"messages": [f"[ERROR] {thread_ts} is not a valid thread_ts"]},
        )
    root = channel.messages.get(thread_ts)
    if root is None and not backend.accepts_orphan_replies:
        raise SlackError("thread_not_found")
    if root is not None and root.subtype in _UNANSWERABLE:
        raise SlackError("cannot_reply_to_message")
    return thread_ts


def post_message(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    require_writable(call, channel)
    content = read_content(call, backend.world.new_id, is_update=False)
    message = backend.post_as_bot(
        call.team,
        call.install,
        channel,
        content,
        thread_ts=thread_of(backend, call, channel),
        broadcast=call.flag("reply_broadcast"),
        username=call.text("username") or None,
    )
    call.warnings.extend(content.warnings)
    return {
        "channel": channel.id,
        "ts": message.ts,
        "message": message_json(call.team, message, with_metadata=True),
    }


def update(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message = find_message(channel, call.text("ts"))
    if message.bot is not call.install:
        raise SlackError("cant_update_message")
    if channel.is_archived:
        raise SlackError("is_archived")
    if message.is_streaming_at(backend.clock.now()):
        raise SlackError("streaming_state_conflict")
    content = read_content(call, backend.world.new_id, is_update=True)
    backend.revise(call.team, message, content, edited_by=call.install.bot_id)
    call.warnings.extend(content.warnings)
    return {
        "channel": channel.id,
        "ts": message.ts,
        "text": message.text,
        "message": message_json(call.team, message, with_metadata=True),
    }


def delete(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message = find_message(channel, call.text("ts"))
    if message.bot is not call.install:
        raise SlackError("cant_delete_message")
    backend.erase(call.team, message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    require_writable(call, channel)
    user = call.text("user")
    if user not in channel.members:
        raise SlackError("user_not_in_channel")
    content = read_content(call, backend.world.new_id, is_update=False)
    message = backend.post_as_bot(
        call.team,
        call.install,
        channel,
        content,
        thread_ts=thread_of(backend, call, channel),
        visible_to=user,
    )
    call.warnings.extend(content.warnings)
    return {"message_ts": message.ts}


def get_permalink(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message = find_message(channel, call.text("message_ts"))
    link = f"https://{call.team.domain}.slack.com/archives/{channel.id}"
    link += f"/p{message.ts.replace('.', '')}"
    if message.is_reply:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


def _reaction_target(backend: Backend, call: Call) -> tuple[Channel, Message, str]:
    channel = find_channel(backend, call)
    ts = call.text("timestamp")
    if not _TS.fullmatch(ts):
        raise SlackError("bad_timestamp")
    name = call.text("name").strip(":")
    if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
        raise SlackError("invalid_name")
    return channel, find_message(channel, ts), name


def add_reaction(backend: Backend, call: Call) -> Json:
    channel, message, name = _reaction_target(backend, call)
    if call.install.user_id not in channel.members:
        raise SlackError("not_in_channel")
    if not backend.react(call.team, message, user_id=call.install.user_id, name=name):
        raise SlackError("already_reacted")
    return {}


def remove_reaction(backend: Backend, call: Call) -> Json:
    _, message, name = _reaction_target(backend, call)
    if not backend.unreact(call.team, message, user_id=call.install.user_id, name=name):
        raise SlackError("no_reaction")
    return {}


def get_reactions(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message = find_message(channel, call.text("timestamp"))
    return {"type": "message", "channel": channel.id, "message": message_json(call.team, message)}
