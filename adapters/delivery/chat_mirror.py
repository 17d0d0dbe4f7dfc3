"""A chat as one deliverer knows it, kept up to date by the events of a follower (pure).

It holds what a reply is made from and nothing else: messages since the last settled turn, the live
text, status, failures, and the questions that people were asked.
"""

from collections.abc import Iterable

from engine.chat.actions import RequiredAction
from engine.chat.content import Message, Role, ToolCallPart, ToolResultPart
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ActionId, MessageId, ToolCallId
from engine.chat.view import ShownStatus
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    HistoryReset,
    LivePart,
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    RetryEvent,
    StatusEvent,
    TextDelta,
    ToolCallDelta,
)

LIVE = frozenset({ShownStatus.PENDING, ShownStatus.RUNNING, ShownStatus.INTERRUPTING})
"""The statuses in which more of the reply may come without anybody doing anything."""

NO_MESSAGE = MessageId(0)
"""Before all messages."""


class ChatMirror:
    """The state that the events so far add up to."""

    __slots__ = (
        "_live_text",
        "actions",
        "failures",
        "has_changed",
        "live_calls",
        "live_results",
        "messages",
        "needs_actions",
        "preview_lost",
        "retry",
        "snapshot_version",
        "status",
        "was_reset",
    )

    def __init__(self) -> None:
        self.messages: dict[MessageId, Message] = {}
        self.actions: dict[ActionId, RequiredAction] = {}
        self.status = ShownStatus.PENDING
        self.snapshot_version = 0
        self.retry: RetryState | None = None
        # Invariant: by the user message whose turn failed; kept when the chat leaves error.
        self.failures: dict[MessageId, ChatError] = {}
        # By name, in the order in which the model makes them; and which results are errors.
        self.live_calls: dict[ToolCallId, str] = {}
        self.live_results: dict[ToolCallId, bool] = {}
        self.preview_lost = False
        self.needs_actions = False
        self.was_reset = False
        # Set by whatever could change what is shown; the reader clears it.
        self.has_changed = True
        self._live_text: list[str] = []

    @property
    def live_text(self) -> str:
        """The text of the step in flight, as far as it has come."""
        if len(self._live_text) > 1:
            self._live_text = ["".join(self._live_text)]
        return self._live_text[0] if self._live_text else ""

    @property
    def is_live(self) -> bool:
        """Whether more may come without anybody doing anything."""
        return self.status in LIVE

    def apply(self, events: Iterable[Event]) -> None:
        """Take in what a follower told, in order."""
        for event in events:
            self._apply(event)

    def put_actions(self, actions: Iterable[RequiredAction]) -> None:
        """Take in actions as they were read, closed ones included."""
        for action in actions:
            self.actions[action.id] = action
        self.needs_actions = False
        self.has_changed = True

    def _apply(self, event: Event) -> None:
        if isinstance(event, PartEvent):
            self._take_part(event.part)
            return
        self.has_changed = True
        match event:
            case MessageEvent(message=message):
                self.messages[message.id] = message
            case StatusEvent(status=status, snapshot_version=version):
                self.status, self.snapshot_version = status, version
            case PreviewReset(reason=reason):
                self._drop_preview()
                self.preview_lost = reason is PreviewResetReason.OVERFLOW
            case HistoryReset(after_id=after_id):
                self._reset(after_id)
            case ErrorEvent(error=error):
                self.failures[self._last_turn_id()] = error
            case RetryEvent(retry=retry):
                self.retry = retry
            case ActionsEvent(actions=actions):
                self._take_open_actions(actions)
            case _:
                # The queue is acknowledged where it arrives; a thread shows it anyway.
                pass

    def _take_part(self, part: LivePart) -> None:
        if isinstance(part, TextDelta):
            self._live_text.append(part.text)
            self.has_changed = True
        elif isinstance(part, ToolResultPart):
            self.live_results[part.tool_call_id] = part.is_error
            self.has_changed = True
        elif isinstance(part, ToolCallDelta | ToolCallPart) and (
            part.tool_call_id not in self.live_calls
        ):
            self.live_calls[part.tool_call_id] = part.tool_name
            self.has_changed = True

    def _drop_preview(self) -> None:
        self._live_text.clear()
        self.live_calls.clear()
        self.live_results.clear()
        self.preview_lost = False

    def _reset(self, after_id: MessageId) -> None:
        self.messages = {key: value for key, value in self.messages.items() if key <= after_id}
        self.retry = None
        self._drop_preview()
        self.needs_actions = True
        self.was_reset = True

    def _take_open_actions(self, actions: tuple[RequiredAction, ...]) -> None:
        open_ids = {action.id for action in actions}
        known_open = {key for key, action in self.actions.items() if action.closed_at is None}
        if known_open - open_ids:
            self.needs_actions = True
        for action in actions:
            self.actions[action.id] = action

    def _last_turn_id(self) -> MessageId:
        turns = (message.id for message in self.messages.values() if message.role is Role.USER)
        return max(turns, default=NO_MESSAGE)
