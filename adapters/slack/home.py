"""Publishes the app's home for one person. Who opens it, or presses in it, waits in line with themselves."""

import logging
from typing import Final

from adapters.errors import Denied
from adapters.slack.desk import Desk
from adapters.slack.home_view import CHANNELS_MAX, CHATS_MAX, ChannelLine, cursor_of, home_view
from adapters.slack.identity import PLATFORM
from adapters.slack.limits import PUBLISH
from adapters.slack.markup_inline import escape
from adapters.slack.permalinks import Permalinks
from adapters.slack.usage_text import usage_lines
from engine.api import ThreadChatCursor
from engine.chat.content import Author
from engine.chat.spending import amount

logger = logging.getLogger(__name__)

_TRIES: Final = 2
"""A home that was published meanwhile is published again."""


class Home:
    """Homes of one workspace."""

    def __init__(self, desk: Desk, permalinks: Permalinks) -> None:
        self._desk = desk
        self._permalinks = permalinks

    async def show(self, user_id: str, author: Author, *, page: str = "") -> None:
        """Show the person their chats from `page` on. Raises SurfaceError where it is worth a retry."""
        after = cursor_of(page)
        engine = self._desk.engine
        found = await engine.thread_chats.of_owner(
            PLATFORM,
            self._desk.identity.installation,
            author.identity,
            after=after,
            limit=CHATS_MAX + 1,
        )
        chats = found[:CHATS_MAX]
        following = None
        if len(found) > CHATS_MAX:
            last = chats[-1].chat
            following = ThreadChatCursor(created_at=last.created_at, chat_id=last.id)
        is_admin = user_id in self._desk.house.settings.admins
        view = home_view(
            chats,
            await self._permalinks.of(self._desk, [(c.channel, c.thread) for c in chats]),
            usage_lines(await engine.spending.status(author.identity)),
            is_first=after is None,
            following=following,
            channels=await self._channels() if is_admin else (),
            house_rules=self._house_rules() if is_admin else "",
        )
        await self._publish(user_id, view)

    async def _publish(self, user_id: str, view: dict[str, object]) -> None:
        for left in reversed(range(_TRIES)):
            try:
                async with self._desk.pace.call(PUBLISH, user_id):
                    await self._desk.client.publish_home(user_id, view)
            except Denied as error:
                if error.code == "hash_conflict" and left:
                    continue
                extra = {"action": "slack_home_not_shown", "code": error.code}
                logger.warning("home not shown", extra=extra)
            return

    async def _channels(self) -> list[ChannelLine]:
        installation = self._desk.identity.installation
        found = await self._desk.engine.thread_chats.channels(
            PLATFORM, installation, limit=CHANNELS_MAX
        )
        return [
            ChannelLine(chats=each, spending=await self._spent(f"{installation}:{each.channel}"))
            for each in found
        ]

    async def _spent(self, channel: str) -> str:
        status = await self._desk.engine.spending.status(channel=f"{PLATFORM}:{channel}")
        account = status.standing.channel
        if account is None:
            return ""
        limit = account.limit_micros
        of = "" if limit is None else f" of {amount(limit)}"
        return f"{amount(account.spent_micros)}{of} spent"

    def _house_rules(self) -> str:
        house = self._desk.house
        model = house.defaults.model or "its usual model"
        return (
            f"*{escape(house.defaults.bot)}* answers with {escape(model)}. What is said while it is "
            f"busy: {house.settings.busy_behavior.value}."
        )
