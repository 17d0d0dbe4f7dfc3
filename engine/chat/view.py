"""A chat as readers see it, and what one consistent read of it brings."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engine.chat.actions import RequiredAction
from engine.chat.changes import Versions
from engine.chat.content import Author, Message, QueuedMessage
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ChatId, OrganizationId
from engine.chat.snapshot import ChatStatus


class ShownStatus(StrEnum):
    """Status as readers are told it: the stored ones, and running split by whether anybody works."""

    PENDING = "pending"
    WAITING = "waiting"
    RUNNING = "running"
    INTERRUPTING = "interrupting"
    REQUIRES_ACTION = "requires_action"
    ERROR = "error"


def shown_status(status: ChatStatus, *, lease_live: bool) -> ShownStatus:
    """Running without a live lease is shown as pending."""
    if status is ChatStatus.RUNNING and not lease_live:
        return ShownStatus.PENDING
    return ShownStatus(status.value)


class ChatView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One chat without its messages. Times are UTC. `pin_order`: its place among the pinned, from 1 on.

    `channel`: where people talk with it, as platform:installation:channel.
    """

    id: ChatId
    organization_id: OrganizationId
    bot: str
    status: ShownStatus
    versions: Versions
    created_at: datetime
    updated_at: datetime
    title: str | None = None
    model: str | None = None
    owner: Author | None = None
    labels: dict[str, str] = {}
    archived: bool = False
    pinned: bool = False
    pin_order: int = 0
    channel: str | None = None
    records_calls: bool = False
    queue_length: int = 0
    actions_deadline_at: datetime | None = None
    last_error: ChatError | None = None
    retry: RetryState | None = None


class SyncRead(Struct, frozen=True, kw_only=True):
    """What is new in a chat for a reader with certain known versions, all of one snapshot.

    `messages`: those changed since the known history version, in id order; deleted ones only when
    a history version was known, those up to the reader's `after_id` only then too.
    `queue`: in queue order, None when it has not changed. `actions`: all open ones, in id order.
    """

    chat: ChatView
    messages: tuple[Message, ...] = ()
    queue: tuple[QueuedMessage, ...] | None = None
    actions: tuple[RequiredAction, ...] = ()
