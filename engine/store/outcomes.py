"""What asking the chat machine comes to, beside a Refusal."""

from dataclasses import dataclass

from engine.chat.decision import Effect
from engine.chat.ids import ActionId, ChatId, MessageId, QueuedId
from engine.chat.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The command took effect, and is stored.

    `snapshot`: the chat afterwards. `message_ids`: messages that were inserted, in history order.
    `queued_id`: the message that was queued. `action_ids`: actions that were opened, in call order.
    """

    effect: Effect
    snapshot: Snapshot
    message_ids: tuple[MessageId, ...] = ()
    queued_id: QueuedId | None = None
    action_ids: tuple[ActionId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The chat exists and waits for a worker. The last of `message_ids` is the person's message."""

    chat_id: ChatId
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """The thread, or the id, has its chat already; nothing was inserted."""

    chat_id: ChatId
