"""Owns the reading methods of fake Slack: conversations.*, users.*, bots, team, files; pages by opaque cursors."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_methods_chat import find_channel
from tests.fakes.slack_shapes import bot_profile, channel_json, file_json, message_json, user_json
from tests.fakes.slack_state import Channel, ChannelKind, Message
from tests.fakes.slack_wire import Call, SlackError, invalid_arguments

Json = dict[str, Any]
Item = TypeVar("Item")

_SCOPE_FAMILY = {
    ChannelKind.CHANNEL: "channels",
    ChannelKind.GROUP: "groups",
    ChannelKind.IM: "im",
    ChannelKind.MPIM: "mpim",
}
_LISTED_AS = {
    "public_channel": ChannelKind.CHANNEL,
    "private_channel": ChannelKind.GROUP,
    "im": ChannelKind.IM,
    "mpim": ChannelKind.MPIM,
}
_PAGE_MAX = 1000


def _page(call: Call, items: Sequence[Item], *, default: int) -> tuple[list[Item], str]:
    """One page and the cursor of the next, empty at the end."""
    limit = call.number("limit", default)
    if not 1 <= limit <= _PAGE_MAX:
        raise SlackError("invalid_limit")
    start = 0
    if cursor := call.text("cursor"):
        try:
            start = int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
        except (ValueError, binascii.Error):
            raise SlackError("invalid_cursor") from None
    stop = start + limit
    more = base64.b64encode(f"next:{stop}".encode()).decode() if stop < len(items) else ""
    return list(items[start:stop]), more


def _readable(backend: Backend, call: Call, scope: str) -> Channel:
    channel = find_channel(backend, call)
    call.needs(f"{_SCOPE_FAMILY[channel.kind]}:{scope}")
    return channel


def _history_channel(backend: Backend, call: Call) -> Channel:
    channel = _readable(backend, call, "history")
    if call.install.user_id not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def _within(call: Call, message: Message) -> bool:
    ts = float(message.ts)
    oldest = float(call.text("oldest") or 0)
    latest = float(call.text("latest") or "inf")
    if call.flag("inclusive"):
        return oldest <= ts <= latest
    return oldest < ts < latest


def _messages_page(call: Call, messages: list[Message], *, default: int) -> Json:
    page, more = _page(call, messages, default=default)
    with_metadata = call.flag("include_all_metadata")
    shown: Json = {
        "messages": [message_json(call.team, m, with_metadata=with_metadata) for m in page],
        "has_more": bool(more),
    }
    if more:
        shown["response_metadata"] = {"next_cursor": more}
    return shown


def replies(backend: Backend, call: Call) -> Json:
    """The root first whatever `oldest` says, then the replies, oldest first."""
    channel = _history_channel(backend, call)
    root = channel.messages.get(call.text("ts"))
    if root is None:
        raise SlackError("thread_not_found")
    if root.is_reply:
        return _messages_page(call, [root], default=_PAGE_MAX)
    wanted = [m for m in channel.replies(root.ts) if _within(call, m)]
    return _messages_page(call, [root, *wanted], default=_PAGE_MAX)


def history(backend: Backend, call: Call) -> Json:
    """What the channel itself shows, newest first."""
    channel = _history_channel(backend, call)
    wanted = [m for m in reversed(channel.top_level()) if _within(call, m)]
    return _messages_page(call, wanted, default=100) | {"pin_count": 0}


def info(backend: Backend, call: Call) -> Json:
    channel = _readable(backend, call, "read")
    shown = channel_json(channel, call.install)
    if not call.flag("include_num_members"):
        shown.pop("num_members", None)
    return {"channel": shown}


def list_channels(_backend: Backend, call: Call) -> Json:
    kinds = []
    for word in call.text("types", "public_channel").split(","):
        if word.strip() not in _LISTED_AS:
            raise SlackError("invalid_types")
        kinds.append(_LISTED_AS[word.strip()])
        call.needs(f"{_SCOPE_FAMILY[kinds[-1]]}:read")
    me = call.install.user_id
    seen = [
        c
        for c in call.team.channels.values()
        if c.kind in kinds
        and (c.kind is ChannelKind.CHANNEL or me in c.members)
        and not (call.flag("exclude_archived") and c.is_archived)
    ]
    page, more = _page(call, seen, default=100)
    return {
        "channels": [channel_json(c, call.install) for c in page],
        "response_metadata": {"next_cursor": more},
    }


def members(backend: Backend, call: Call) -> Json:
    channel = _readable(backend, call, "read")
    page, more = _page(call, channel.members, default=100)
    return {"members": page, "response_metadata": {"next_cursor": more}}


def open_channel(backend: Backend, call: Call) -> Json:
    if call.text("channel"):
        channel = find_channel(backend, call)
    else:
        users = [u for u in call.text("users").split(",") if u]
        if not users:
            raise SlackError("users_list_not_supplied")
        if any(user not in call.team.accounts for user in users):
            raise SlackError("user_not_found")
        if len(users) > 1:
            raise invalid_arguments("this fake opens direct messages with one person only")
        channel = backend.world.open_direct_message(call.team, users[0], call.install)
    shown: Json = {"id": channel.id}
    if call.flag("return_im"):
        shown = channel_json(channel, call.install)
    return {"channel": shown}


def join(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    if channel.kind is not ChannelKind.CHANNEL:
        raise SlackError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise SlackError("is_archived")
    me = call.install.user_id
    if me not in channel.members:
        channel.members.append(me)
        backend.announcer.joined(call.team, channel, user_id=me, inviter=me)
    return {"channel": channel_json(channel, call.install)}


def user_info(_backend: Backend, call: Call) -> Json:
    account = call.team.accounts.get(call.text("user"))
    if account is None:
        raise SlackError("user_not_found")
    return {"user": user_json(account)}


def user_by_email(_backend: Backend, call: Call) -> Json:
    wanted = call.text("email")
    people = (a for a in call.team.accounts.values() if a.bot_id is None)
    account = next((a for a in people if a.email == wanted), None)
    if account is None:
        raise SlackError("users_not_found")
    return {"user": user_json(account)}


def list_users(backend: Backend, call: Call) -> Json:
    page, more = _page(call, list(call.team.accounts.values()), default=_PAGE_MAX)
    return {
        "members": [user_json(account) for account in page],
        "cache_ts": int(backend.clock.now()),
        "response_metadata": {"next_cursor": more},
    }


def bot_info(_backend: Backend, call: Call) -> Json:
    bot = call.team.bot_by_bot_id(call.text("bot", call.install.bot_id))
    if bot is None:
        raise SlackError("bot_not_found")
    shown = bot_profile(bot) | {"user_id": bot.user_id}
    del shown["team_id"]
    return {"bot": shown}


def team_info(_backend: Backend, call: Call) -> Json:
    team = call.team
    return {
        "team": {
            "id": team.id,
            "name": team.name,
            "domain": team.domain,
            "url": f"https://{team.domain}.slack.com/",
            "email_domain": "",
            "icon": {"image_default": True},
        }
    }


def file_info(_backend: Backend, call: Call) -> Json:
    file = call.team.files.get(call.text("file"))
    if file is None:
        raise SlackError("file_not_found")
    return {"file": file_json(file, call.team.domain), "comments": []}
