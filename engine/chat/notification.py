"""What owners of chats are told when they have waited long, as values."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from engine.chat.content import Author
from engine.chat.ids import ChatId


class NotificationKind(StrEnum):
    """Why somebody is told: the agent has finished, has failed, or asks something."""

    FINISHED = "finished"
    NEEDS_ANSWER = "needs_answer"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One thing to tell an owner, with the words for it.

    `channel` and `thread` are where the chat is shown; `thread` is empty when it is shown nowhere
    any more. `nonce` travels with what is sent, so that the platform can be asked for it.
    `may_be_sent`: somebody has tried before and did not come to say what became of it.
    """

    id: int
    chat_id: ChatId
    kind: NotificationKind
    owner: Author
    installation: str
    channel: str
    thread: str
    title: str
    text: str
    nonce: UUID
    created_at: datetime
    attempts: int
    may_be_sent: bool
