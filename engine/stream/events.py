"""What a subscriber of a chat is told: the closed set of events, and the live parts among them.

A subscriber that applies them in order always shows the chat as it is:

- The first is a StatusEvent, then the full state: retry, parts of the episode that runs, messages,
  queue, actions, error. From then on only what changed.
- Parts are a preview. Append them as they come; drop them all at a PreviewReset. When they have
  become messages, a PreviewReset comes right before these.
- A MessageEvent with an id that is already shown replaces that message (it was amended).
- HistoryReset voids everything shown so far; the full state follows.
- A status comes after all that led to it: at `waiting` the answer is there.
"""

from enum import StrEnum

from msgspec import Struct

from engine.chat.actions import RequiredAction
from engine.chat.changes import Episode
from engine.chat.content import Message, QueuedMessage, ToolCallPart, ToolResultPart
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import MessageId, ToolCallId
from engine.chat.view import ShownStatus

# -- live parts ----------------------------------------------------------------------------------


class TextDelta(Struct, frozen=True, kw_only=True, tag="text-delta", tag_field="type"):
    """More text of the answer."""

    text: str


class ReasoningDelta(Struct, frozen=True, kw_only=True, tag="reasoning-delta", tag_field="type"):
    """More of the model's reasoning."""

    text: str


class ToolCallDelta(
    Struct, frozen=True, kw_only=True, tag="tool-call-delta", tag_field="type", omit_defaults=True
):
    """More of a call's arguments. The complete ToolCallPart of the same id replaces them."""

    tool_call_id: ToolCallId
    tool_name: str
    args_delta: str = ""


LivePart = TextDelta | ReasoningDelta | ToolCallDelta | ToolCallPart | ToolResultPart


# -- events --------------------------------------------------------------------------------------


class StatusEvent(Struct, frozen=True, kw_only=True, tag="status", tag_field="type"):
    """What the chat is doing, as of a snapshot."""

    status: ShownStatus
    archived: bool
    snapshot_version: int


class PartEvent(Struct, frozen=True, kw_only=True, tag="part", tag_field="type"):
    """The next part of an episode.

    `seq` counts parts as the model sent them, from 1, and only grows within an episode; it skips
    numbers where adjacent deltas were joined, `seq` being that of the last one joined.
    """

    episode: Episode
    seq: int
    part: LivePart


class MessageEvent(Struct, frozen=True, kw_only=True, tag="message", tag_field="type"):
    """A stored message: a new one, or one that was amended."""

    message: Message


class QueueEvent(Struct, frozen=True, kw_only=True, tag="queue", tag_field="type"):
    """The whole queue as it now is."""

    messages: tuple[QueuedMessage, ...]


class ErrorEvent(Struct, frozen=True, kw_only=True, tag="error", tag_field="type"):
    """Why the chat is in error. It holds until a status other than error."""

    error: ChatError


class RetryEvent(Struct, frozen=True, kw_only=True, tag="retry", tag_field="type"):
    """A retry that is being waited for; None: it is over."""

    retry: RetryState | None


class ActionsEvent(Struct, frozen=True, kw_only=True, tag="actions", tag_field="type"):
    """All actions that are open."""

    actions: tuple[RequiredAction, ...]


class PreviewResetReason(StrEnum):
    """Why the parts shown so far are void.

    `committed`: they are now messages, which follow. `retry`: the attempt failed or was given up,
    another begins. `history`: what they answered was changed. `ended`: the turn ended without
    keeping them. `overflow`: there were too many to keep, and those that follow begin in mid-text.
    `resent`: they follow again from the beginning.
    """

    COMMITTED = "committed"
    RETRY = "retry"
    HISTORY = "history"
    ENDED = "ended"
    OVERFLOW = "overflow"
    RESENT = "resent"


class PreviewReset(Struct, frozen=True, kw_only=True, tag="preview_reset", tag_field="type"):
    """Drop all parts shown so far."""

    reason: PreviewResetReason


class HistoryResetReason(StrEnum):
    """Why everything shown so far is void: messages were taken back.

    There is no overflow: a subscriber pulls, so being slow only makes its next events fewer.
    """

    TRUNCATED = "truncated"


class HistoryReset(Struct, frozen=True, kw_only=True, tag="history_reset", tag_field="type"):
    """Drop all messages with a greater id than `after_id`, and everything else; all of it follows.

    `after_id` is 0, or what the subscriber asked for where that part of the history still stands.
    """

    reason: HistoryResetReason
    after_id: MessageId = MessageId(0)


Event = (
    StatusEvent
    | PartEvent
    | MessageEvent
    | QueueEvent
    | ErrorEvent
    | RetryEvent
    | ActionsEvent
    | PreviewReset
    | HistoryReset
)
