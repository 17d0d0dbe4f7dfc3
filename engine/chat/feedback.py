"""What people think of replies, as values (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from engine.chat.ids import ChatId, MessageId

COMMENT_MAX = 3000
"""Characters of a comment: what Slack's input takes."""


class FeedbackBy(StrEnum):
    """What a row of a count stands for."""

    BOT = "bot"
    MODEL = "model"
    CHANNEL = "channel"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One person's last word on one reply. `turn_id`: the user message that the reply answers."""

    chat_id: ChatId
    turn_id: MessageId
    identity: str
    name: str
    is_good: bool
    comment: str
    bot: str
    model: str | None
    channel: str | None
    rated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackCount:
    """How many people found replies good or bad. `key` is None where it is not known."""

    key: str | None
    good: int
    bad: int
