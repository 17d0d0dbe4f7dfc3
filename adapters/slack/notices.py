"""What owners are told on Slack, as payloads (pure). Nobody is called in it but the owner."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from adapters.slack.identity import PLATFORM, team_of
from adapters.slack.markup import render_mrkdwn
from adapters.slack.markup_inline import LABEL_BAR
from adapters.slack.plain_labels import label_of
from config.side_settings import SlackNotify
from engine.chat.notification import Notification, NotificationKind

METADATA_EVENT = "threadwright_notice"
TITLE_MAX = 120
UNTITLED = "your thread"
_DIRECT_MESSAGE = "D"
_MARKS = {
    NotificationKind.FINISHED: "✅",
    NotificationKind.NEEDS_ANSWER: "❓",
    NotificationKind.FAILED: "⚠️",
}


def is_told_of(channel: str, notify: SlackNotify) -> bool:
    """Whether owners of chats in this channel are told. In a direct message the reply tells them."""
    return notify is not SlackNotify.OFF and not channel.startswith(_DIRECT_MESSAGE)


def user_of(notification: Notification) -> str | None:
    """The owner's id, if they are a person of this workspace."""
    start = f"{PLATFORM}:{team_of(notification.installation)}:"
    identity = notification.owner.identity
    user = identity.removeprefix(start)
    return user if identity.startswith(start) and user.isalnum() else None


def message_arguments(
    notification: Notification, *, channel: str, link: str | None
) -> dict[str, Any]:
    """The arguments of chat.postMessage for a direct message: what, and where."""
    title = label_of(notification.title or UNTITLED, TITLE_MAX)
    # A bar in a link would begin its label; what stands for it looks the same.
    named = f"<{link}|{title.replace('|', LABEL_BAR)}>" if link else title
    text = f"{_MARKS[notification.kind]} {named}\n{_sentence(notification)}"
    return _arguments(channel, text, notification.nonce)


def mention_arguments(notification: Notification, user: str) -> dict[str, Any]:
    """The arguments of chat.postMessage for a mention in the chat's own thread."""
    text = f"{_MARKS[notification.kind]} <@{user}> {_sentence(notification)}"
    arguments = _arguments(notification.channel, text, notification.nonce)
    return arguments | {"thread_ts": notification.thread}


def nonce_of_notice(message: Mapping[str, Any]) -> str | None:
    """The nonce that a notification of ours was sent with."""
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != METADATA_EVENT:
        return None
    payload = metadata.get("event_payload")
    nonce = payload.get("nonce") if isinstance(payload, Mapping) else None
    return nonce if isinstance(nonce, str) else None


def _sentence(notification: Notification) -> str:
    return render_mrkdwn(notification.text)


def _arguments(channel: str, text: str, nonce: UUID) -> dict[str, Any]:
    return {
        "channel": channel,
        "text": text,
        "metadata": {"event_type": METADATA_EVENT, "event_payload": {"nonce": str(nonce)}},
        "unfurl_links": False,
        "unfurl_media": False,
    }
