"""Tells owners of chats on Slack: a direct message that links to the thread, or a mention in it."""

from datetime import datetime
from typing import Any

from adapters.errors import Denied, Gone
from adapters.slack.client import SlackClient
from adapters.slack.identity import PLATFORM
from adapters.slack.notices import (
    is_told_of,
    mention_arguments,
    message_arguments,
    nonce_of_notice,
    user_of,
)
from adapters.slack.surface import CLOCKS_APART_SECONDS
from adapters.slack.workspaces import AllWorkspaces
from config.side_settings import SlackNotify
from engine.chat.notification import Notification

PAGES_LOOKED_AT_MAX = 10
"""Pages of a conversation that are read for one notification: 2,000 messages since it was made."""


class SlackNotifier:
    """The notifier of all installations. See adapters.delivery.notification_pump."""

    platform = PLATFORM

    def __init__(self, workspaces: AllWorkspaces, *, notify: SlackNotify) -> None:
        self._workspaces = workspaces
        self._notify = notify

    async def send(self, notification: Notification) -> bool:
        """Tell the owner, once. False where they are no person of this workspace, or see it anyway."""
        user = user_of(notification)
        if user is None or not is_told_of(notification.channel, self._notify):
            return False
        client = (await self._workspaces.find(notification.installation)).client
        if self._notify is SlackNotify.MENTION:
            return await _mention(client, notification, user)
        channel = await client.open_direct_message(user)
        if notification.may_be_sent and await _is_in(client, channel, notification):
            return True
        link = await _link_of(client, notification)
        await client.post_message(message_arguments(notification, channel=channel, link=link))
        return True


async def _mention(client: SlackClient, notification: Notification, user: str) -> bool:
    if not notification.thread:
        return False
    if notification.may_be_sent and await _is_in_thread(client, notification):
        return True
    await client.post_message(mention_arguments(notification, user))
    return True


async def _link_of(client: SlackClient, notification: Notification) -> str | None:
    """The address of the thread; None where it is gone, which is no reason to say nothing."""
    if not notification.thread:
        return None
    try:
        return await client.permalink(notification.channel, notification.thread)
    except (Denied, Gone):
        return None


async def _is_in(client: SlackClient, channel: str, notification: Notification) -> bool:
    cursor, oldest = "", _oldest(notification.created_at)
    for _ in range(PAGES_LOOKED_AT_MAX):
        messages, cursor = await client.history(channel, oldest=oldest, cursor=cursor)
        if _has(messages, notification):
            return True
        if not cursor:
            break
    return False


async def _is_in_thread(client: SlackClient, notification: Notification) -> bool:
    cursor, oldest = "", _oldest(notification.created_at)
    for _ in range(PAGES_LOOKED_AT_MAX):
        messages, cursor = await client.replies(
            notification.channel, notification.thread, oldest=oldest, cursor=cursor
        )
        if _has(messages, notification):
            return True
        if not cursor:
            break
    return False


def _oldest(created_at: datetime) -> str:
    return f"{max(0.0, created_at.timestamp() - CLOCKS_APART_SECONDS):.6f}"


def _has(messages: list[dict[str, Any]], notification: Notification) -> bool:
    wanted = str(notification.nonce)
    return any(nonce_of_notice(message) == wanted for message in messages)
