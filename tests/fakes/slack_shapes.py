"""Owns the JSON fake Slack puts on the wire: API objects, event envelopes, interaction payloads; pure."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.fakes.slack_state import (
    Account,
    BotInstall,
    Channel,
    ChannelKind,
    FileRecord,
    Message,
    View,
    Workspace,
)

Json = dict[str, Any]

VERIFICATION_TOKEN = "verification-token"
TOMBSTONE_TEXT = "This message was deleted."


def bot_profile(bot: BotInstall) -> Json:
    icon = "https://a.slack-edge.com/80588/img/plugins/app"
    return {
        "id": bot.bot_id,
        "deleted": False,
        "name": bot.name,
        "updated": 1607307935,
        "app_id": bot.app_id,
        "icons": {
            "image_36": f"{icon}/bot_36.png",
            "image_48": f"{icon}/bot_48.png",
            "image_72": f"{icon}/service_72.png",
        },
        "team_id": bot.team_id,
    }


def file_json(file: FileRecord, domain: str) -> Json:
    return {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.name,
        "mimetype": file.mimetype,
        "filetype": file.name.rpartition(".")[2],
        "pretty_type": file.name.rpartition(".")[2].upper(),
        "user": file.user,
        "editable": False,
        "size": len(file.content),
        "mode": "hosted",
        "is_external": False,
        "external_type": "",
        "is_public": True,
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": file.url_private,
        "url_private_download": file.url_private.replace("/files-pri/", "/files-pri-download/"),
        "media_display_type": "unknown",
        "permalink": f"https://{domain}.slack.com/files/{file.user}/{file.id}/{file.name}",
        "permalink_public": f"https://slack-files.com/{file.id}",
        "has_rich_preview": False,
    } | file.shown


def file_in_message(file: FileRecord, domain: str) -> Json:
    """A file as messages tell of it: all, or only that there is something to be asked about."""
    return file_json(file, domain) if file.in_events is None else file.in_events


def message_json(workspace: Workspace, message: Message, *, with_metadata: bool = False) -> Json:
    """A message as the Web API and `message_changed` show it, thread counters included."""
    shown: Json = {"type": "message", "text": message.text, "ts": message.ts}
    if message.user is not None:
        shown["user"] = message.user
    if message.subtype is not None:
        shown["subtype"] = message.subtype
    if message.subtype == "tombstone":
        shown["hidden"] = True
    elif message.subtype is None:
        shown["team"] = message.team_id
    _add_authorship(shown, message)
    _add_content(shown, workspace, message)
    if with_metadata and message.metadata:
        shown["metadata"] = message.metadata
    if message.edited_ts is not None:
        shown["edited"] = {"user": message.edited_by, "ts": message.edited_ts}
    _add_thread(shown, workspace.channels[message.channel_id], message)
    return shown


def _add_authorship(shown: Json, message: Message) -> None:
    if message.client_msg_id is not None:
        shown["client_msg_id"] = message.client_msg_id
    if message.username is not None:
        shown["username"] = message.username
    if message.bot is None:
        return
    shown["bot_id"] = message.bot.bot_id
    if message.subtype != "bot_message":
        shown["app_id"] = message.bot.app_id
        shown["bot_profile"] = bot_profile(message.bot)


def _add_content(shown: Json, workspace: Workspace, message: Message) -> None:
    if message.blocks:
        shown["blocks"] = message.blocks
    if message.attachments:
        shown["attachments"] = message.attachments
    if message.files:
        shown["files"] = [file_in_message(file, workspace.domain) for file in message.files]
        shown["upload"] = False
        shown["display_as_bot"] = False
    if message.reactions:
        shown["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)}
            for name, users in message.reactions.items()
        ]


def _add_thread(shown: Json, channel: Channel, message: Message) -> None:
    if message.is_reply:
        shown["thread_ts"] = message.thread_ts
        root = channel.messages.get(str(message.thread_ts))
        if message.subtype == "thread_broadcast" and root is not None:
            shown["root"] = root_json(channel, root)
        elif root is not None and root.user is not None:
            shown["parent_user_id"] = root.user
        return
    replies = channel.replies(message.ts)
    if replies and message.visible_to is None:
        shown |= _counters(message, replies)


def _counters(root: Message, replies: list[Message]) -> Json:
    authors = list(dict.fromkeys(m.user for m in replies if m.user is not None))
    return {
        "thread_ts": root.ts,
        "reply_count": len(replies),
        "reply_users_count": len(authors),
        "latest_reply": replies[-1].ts,
        "reply_users": authors[:5],
        "is_locked": False,
    }


def root_json(channel: Channel, root: Message) -> Json:
    """The thread's parent as a broadcast reply carries it."""
    shown: Json = {"type": "message", "text": root.text, "ts": root.ts, "team": root.team_id}
    if root.user is not None:
        shown["user"] = root.user
    if root.client_msg_id is not None:
        shown["client_msg_id"] = root.client_msg_id
    return shown | _counters(root, channel.replies(root.ts))


def user_json(account: Account) -> Json:
    profile: Json = {
        "real_name": account.name,
        "display_name": account.name,
        "real_name_normalized": account.name,
        "display_name_normalized": account.name,
        "team": account.team_id,
    }
    if account.bot_id is None:
        profile["email"] = account.email
    else:
        profile |= {"bot_id": account.bot_id, "api_app_id": account.app_id}
    return {
        "id": account.id,
        "team_id": account.team_id,
        "name": account.username,
        "deleted": account.deleted,
        "real_name": account.name,
        "tz": "Europe/Amsterdam",
        "tz_label": "Central European Time",
        "tz_offset": 3600,
        "profile": profile,
        "is_admin": False,
        "is_owner": False,
        "is_bot": account.bot_id is not None,
        "is_app_user": False,
        "updated": 1607307935,
    }


def channel_json(channel: Channel, viewer: BotInstall) -> Json:
    kind = channel.kind
    shown: Json = {
        "id": channel.id,
        "created": channel.created,
        "is_channel": kind is ChannelKind.CHANNEL,
        "is_group": kind is ChannelKind.GROUP,
        "is_im": kind is ChannelKind.IM,
        "is_mpim": kind is ChannelKind.MPIM,
        "is_private": kind is not ChannelKind.CHANNEL,
        "is_archived": channel.is_archived,
        "is_org_shared": False,
        "is_ext_shared": channel.is_ext_shared,
        "context_team_id": channel.team_id,
    }
    if kind is ChannelKind.IM:
        shown["user"] = next(m for m in channel.members if m != viewer.user_id)
        return shown
    empty = {"value": "", "creator": "", "last_set": 0}
    return shown | {
        "name": channel.name,
        "name_normalized": channel.name,
        "is_general": False,
        "is_member": viewer.user_id in channel.members,
        "topic": dict(empty),
        "purpose": dict(empty),
        "num_members": len(channel.members),
    }


def view_json(view: View, *, values: Json | None = None) -> Json:
    content = view.content
    return {
        "id": view.id,
        "team_id": view.bot.team_id,
        "type": content["type"],
        "blocks": content["blocks"],
        "private_metadata": content.get("private_metadata", ""),
        "callback_id": content.get("callback_id", ""),
        "state": {"values": values or {}},
        "hash": view.hash,
        "title": content.get("title"),
        "clear_on_close": bool(content.get("clear_on_close", False)),
        "notify_on_close": bool(content.get("notify_on_close", False)),
        "close": content.get("close"),
        "submit": content.get("submit"),
        "previous_view_id": view.previous_view_id,
        "root_view_id": view.root_view_id,
        "app_id": view.bot.app_id,
        "external_id": content.get("external_id", ""),
        "app_installed_team_id": view.bot.team_id,
        "bot_id": view.bot.bot_id,
    }


def event_envelope(workspace: Workspace, event: Json, *, event_id: str, event_time: int) -> Json:
    """The outer body of one Events API delivery for the app under test."""
    context = {"et": event["type"], "tid": workspace.id, "aid": workspace.bot.app_id}
    if isinstance(event.get("channel"), str):
        context["cid"] = event["channel"]
    channel = workspace.channels.get(str(event.get("channel")))
    packed = base64.b64encode(json.dumps(context, separators=(",", ":")).encode()).decode()
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": workspace.id,
        "api_app_id": workspace.bot.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": event_time,
        "authorizations": [
            {
                "enterprise_id": workspace.enterprise_id,
                "team_id": None if workspace.is_org_install else workspace.id,
                "user_id": workspace.bot.user_id,
                "is_bot": True,
                "is_enterprise_install": workspace.is_org_install,
            }
        ],
        "is_ext_shared_channel": channel is not None and channel.is_ext_shared,
        "event_context": f"4-{packed}",
    }


def interaction(workspace: Workspace, account: Account, kind: str, trigger_id: str) -> Json:
    """The part every interaction payload shares."""
    return {
        "type": kind,
        "user": {
            "id": account.id,
            "username": account.username,
            "name": account.username,
            "team_id": account.team_id,
        },
        "api_app_id": workspace.bot.app_id,
        "token": VERIFICATION_TOKEN,
        "trigger_id": trigger_id,
        "team": None
        if workspace.is_org_install
        else {"id": workspace.id, "domain": workspace.domain},
        "enterprise": {"id": workspace.enterprise_id} if workspace.enterprise_id else None,
        "is_enterprise_install": workspace.is_org_install,
    }
