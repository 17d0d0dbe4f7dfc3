"""What a decision changes besides the chat's own row. The store applies them in order."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.chat.commands import NewAction, Reservation
from engine.chat.content import Author, Content, NewMessage
from engine.chat.ids import MessageId, QueuedId, ToolCallId
from engine.chat.notification import NotificationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertMessages:
    """Append to the history, in this order."""

    messages: tuple[NewMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMessage:
    """Change the content of a message where it stands."""

    message_id: MessageId
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateHistory:
    """Mark this message and all later ones deleted."""

    from_message_id: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertReplacement:
    """Append the edited form of a message, keeping its source key, visibility and author."""

    replaces: MessageId
    content: Content
    author: Author | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueue:
    """Append to the queue."""

    content: Content
    author: Author | None
    source_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceQueued:
    """Change the content of a queued message."""

    queued_id: QueuedId
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQueued:
    """Remove from the queue."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveToHead:
    """Make this the first of the queue."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteQueued:
    """Take from the queue and append to the history, atomically. None: the head."""

    queued_id: QueuedId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearQueue:
    """Empty the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveToolCalls:
    """Enter calls with side effects in the ledger, under the last assistant message inserted."""

    reservations: tuple[Reservation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenActions:
    """Ask people, a client or a callback."""

    actions: tuple[NewAction, ...]


class ActionState(StrEnum):
    """How a required action stands."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseActions:
    """Close open actions. `answers` maps call id to its answer, for state answered."""

    state: ActionState
    tool_call_ids: tuple[ToolCallId, ...]
    by: Author | None = None
    answers: tuple[tuple[ToolCallId, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkContextCleared:
    """The model's prompt starts after everything stored so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNotification:
    """Have the owner told, where the chat has one and is shown in a channel. Once for a history."""

    kind: NotificationKind


Write = (
    InsertMessages
    | ReplaceMessage
    | TruncateHistory
    | InsertReplacement
    | Enqueue
    | ReplaceQueued
    | DeleteQueued
    | MoveToHead
    | PromoteQueued
    | ClearQueue
    | ReserveToolCalls
    | OpenActions
    | CloseActions
    | MarkContextCleared
    | QueueNotification
)
