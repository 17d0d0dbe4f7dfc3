"""The app's home as a payload (pure): a person's chats, what they have spent, and for admins the channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from adapters.slack import limits
from adapters.slack.chat_cards import chat_blocks
from adapters.slack.orders import HOME_PAGE_PREFIX
from adapters.slack.plain_labels import plain_object
from adapters.slack.question_blocks import button, section
from engine.api import ChannelChats, ThreadChat, ThreadChatCursor
from engine.chat.ids import ChatId

CHATS_MAX: Final = 15
"""Of a page: each takes up to two blocks."""
CHANNELS_MAX: Final = 40
NO_CHATS: Final = "You have no chats yet. Mention me in a channel, or write me a direct message."
View = dict[str, Any]
Block = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLine:
    """A channel in the section for admins, with how much it has spent of what, as a sentence."""

    chats: ChannelChats
    spending: str = ""


def home_view(
    chats: Sequence[ThreadChat],
    links: Mapping[tuple[str, str], str],
    usage: Sequence[str],
    *,
    is_first: bool = True,
    following: ThreadChatCursor | None = None,
    channels: Sequence[ChannelLine] = (),
    house_rules: str = "",
) -> View:
    """The home. `following`: where the next page goes on. `house_rules`: how channels are set."""
    blocks: list[Block] = [_header("Your chats")]
    blocks += chat_blocks(chats, links, with_channel=True) if chats else [section(NO_CHATS)]
    turns = []
    if not is_first:
        turns.append(button(f"{HOME_PAGE_PREFIX}first", "Newest", ""))
    if following is not None:
        turns.append(button(f"{HOME_PAGE_PREFIX}next", "Older", cursor_text(following)))
    if turns:
        blocks.append({"type": "actions", "elements": turns})
    if usage:
        blocks += [_header("Usage"), section("\n".join(usage))]
    if channels or house_rules:
        blocks += [_header("Channels"), section(house_rules or "How channels are set:")]
        blocks += [section(_channel_said(line)) for line in channels[:CHANNELS_MAX]]
    return {"type": "home", "blocks": blocks[: limits.VIEW_BLOCKS_MAX]}


def cursor_text(cursor: ThreadChatCursor) -> str:
    """Where a page begins, as a button carries it."""
    return f"{cursor.created_at.isoformat()}|{cursor.chat_id}"


def cursor_of(text: str) -> ThreadChatCursor | None:
    """The same read back; None, the first page, where it is not readable."""
    created_at, _, chat_id = text.partition("|")
    try:
        cursor = ThreadChatCursor(
            created_at=datetime.fromisoformat(created_at), chat_id=ChatId(UUID(chat_id))
        )
    except ValueError:
        return None
    return cursor if cursor.created_at.tzinfo is not None else None


def _channel_said(line: ChannelLine) -> str:
    counts = f"{line.chats.chats} chats, {line.chats.open_chats} at work or waiting"
    named = f"<#{line.chats.channel}>" if line.chats.channel[:1] in "CG" else "direct messages"
    return f"{named}: {counts}{'; ' if line.spending else ''}{line.spending}"


def _header(text: str) -> Block:
    return {"type": "header", "text": plain_object(text, limits.HEADER_TEXT_MAX)}
