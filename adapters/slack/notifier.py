"""Tells owners of chats on Slack: a direct message that links to the thread, or a mention in it."""

from datetime import datetime
from typing import Any

from adapters.delivery.call_gates import FIND, POST
from adapters.delivery.call_times import CallTimes
from adapters.errors import Denied, Gone
from adapters.slack.client import SlackClient
from adapters.slack.identity import PLATFORM
from adapters.slack.limits import LINK, OPEN, READ
from adapters.slack.notices import (
    is_told_of,
    mention_arguments,
    message_arguments,
    nonce_of_notice,
    user_of,
)
from adapters.slack.pace import Pace
from adapters.slack.surface import CLOCKS_APART_SECONDS
from adapters.slack.workspaces import AllWorkspaces
from config.side_settings import SlackNotify
from engine.chat.notification import Notification

PAGES_LOOKED_AT_MAX = 10
"""Pages of a conversation that are read for one notification: 2,000 messages since it was made."""


class SlackNotifier:
    """The notifier of all installations. See adapters.delivery.notification_pump."""

    platform = PLATFORM

    def __init__(self, workspaces: AllWorkspaces, *, notify: SlackNotify, times: CallTimes) -> None:
        self._workspaces = workspaces
        self._notify = notify
        self._times = times

    async def send(self, notification: Notification) -> bool:
        """Tell the owner, once. False where they are no person of this workspace, or see it anyway."""
        user = user_of(notification)
        if user is None or not is_told_of(notification.channel, self._notify):
            return False
        client = (await self._workspaces.find(notification.installation)).client
        pace = Pace(self._times, notification.installation)
        notice = _Notice(client, pace, notification)
        if self._notify is SlackNotify.MENTION:
            return await notice.mention(user)
        return await notice.write_to(user)


class _Notice:
    """One notification on its way. What may be there already is looked for before it is sent."""

    def __init__(self, client: SlackClient, pace: Pace, notification: Notification) -> None:
        self._client = client
        self._pace = pace
        self._notification = notification

    async def mention(self, user: str) -> bool:
        """Mention the owner in the thread."""
        notification = self._notification
        if not notification.thread:
            return False
        if not (notification.may_be_sent and await self._is_in_thread()):
            async with self._pace.call(POST, notification.channel):
                await self._client.post_message(mention_arguments(notification, user))
        return True

    async def write_to(self, user: str) -> bool:
        """Write to the owner directly."""
        notification = self._notification
        async with self._pace.call(OPEN, user):
            channel = await self._client.open_direct_message(user)
        if notification.may_be_sent and await self._is_in(channel):
            return True
        link = await self._link()
        async with self._pace.call(POST, channel):
            await self._client.post_message(
                message_arguments(notification, channel=channel, link=link)
            )
        return True

    async def _link(self) -> str | None:
        """The address of the thread; None where it is gone, which is no reason to say nothing."""
        channel, thread = self._notification.channel, self._notification.thread
        if not thread:
            return None
        try:
            async with self._pace.call(LINK, channel):
                return await self._client.permalink(channel, thread)
        except (Denied, Gone):
            return None

    async def _is_in(self, channel: str) -> bool:
        cursor = ""
        for _ in range(PAGES_LOOKED_AT_MAX):
            async with self._pace.call(READ, channel):
                messages, cursor = await self._client.history(
                    channel, oldest=_oldest(self._notification.created_at), cursor=cursor
                )
            if _has(messages, self._notification):
                return True
            if not cursor:
                break
        return False

    async def _is_in_thread(self) -> bool:
        cursor, channel = "", self._notification.channel
        for _ in range(PAGES_LOOKED_AT_MAX):
            async with self._pace.call(FIND, channel):
                messages, cursor = await self._client.replies(
                    channel,
                    self._notification.thread,
                    oldest=_oldest(self._notification.created_at),
                    cursor=cursor,
                )
            if _has(messages, self._notification):
                return True
            if not cursor:
                break
        return False


def _oldest(created_at: datetime) -> str:
    return f"{max(0.0, created_at.timestamp() - CLOCKS_APART_SECONDS):.6f}"


def _has(messages: list[dict[str, Any]], notification: Notification) -> bool:
    wanted = str(notification.nonce)
    return any(nonce_of_notice(message) == wanted for message in messages)
