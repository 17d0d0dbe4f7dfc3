"""A chat as a subscriber shows it: the fold of its events. Pure.

For consumers with a pace of their own, who want to know how things stand rather than what happened.
"""

from collections.abc import Iterable
from typing import assert_never

from engine.chat.actions import RequiredAction
from engine.chat.changes import Episode
from engine.chat.content import (
    Content,
    Message,
    Part,
    QueuedMessage,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import MessageId
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
    QueueEvent,
    ReasoningDelta,
    RetryEvent,
    StatusEvent,
    TextDelta,
    ToolCallDelta,
)


class Preview:
    """The parts on show, as the content of the message that they may become.

    `in_mid_text`: their beginning is lost. A call whose arguments still come has those so far.
    """

    def __init__(self, *, in_mid_text: bool = False) -> None:
        self.episode: Episode | None = None
        self.in_mid_text = in_mid_text
        self._parts: list[Part] = []

    @property
    def content(self) -> Content:
        """All parts, adjacent deltas joined."""
        return tuple(self._parts)

    @property
    def text(self) -> str:
        """The answer so far, without reasoning and calls."""
        return text_of(self.content)

    def add(self, episode: Episode, part: LivePart) -> None:
        """Take in the next part."""
        self.episode = episode
        last = self._parts[-1] if self._parts else None
        match part:
            case TextDelta(text=text):
                if isinstance(last, TextPart):
                    self._parts[-1] = TextPart(text=last.text + text)
                else:
                    self._parts.append(TextPart(text=text))
            case ReasoningDelta(text=text):
                if isinstance(last, ReasoningPart):
                    self._parts[-1] = ReasoningPart(text=last.text + text)
                else:
                    self._parts.append(ReasoningPart(text=text))
            case ToolCallDelta():
                self._add_args(part)
            case ToolCallPart():
                self._put_call(part)
            case ToolResultPart():
                self._parts.append(part)
            case _:
                assert_never(part)

    def _add_args(self, delta: ToolCallDelta) -> None:
        held = self._find_call(delta.tool_call_id)
        before = self._parts[held] if held is not None else None
        args = before.args if isinstance(before, ToolCallPart) else ""
        self._put_call(
            ToolCallPart(
                tool_call_id=delta.tool_call_id,
                tool_name=delta.tool_name,
                args=args + delta.args_delta,
            )
        )

    def _put_call(self, call: ToolCallPart) -> None:
        held = self._find_call(call.tool_call_id)
        if held is None:
            self._parts.append(call)
        else:
            self._parts[held] = call

    def _find_call(self, call_id: str) -> int | None:
        for index in range(len(self._parts) - 1, -1, -1):
            part = self._parts[index]
            if isinstance(part, ToolCallPart) and part.tool_call_id == call_id:
                return index
        return None


class LiveChat:
    """How a chat stands after the events applied so far. `messages` is in id order."""

    def __init__(self) -> None:
        self.status = ShownStatus.PENDING
        self.archived = False
        self.snapshot_version = 0
        self.preview = Preview()
        self.queue: tuple[QueuedMessage, ...] = ()
        self.actions: tuple[RequiredAction, ...] = ()
        self.error: ChatError | None = None
        self.retry: RetryState | None = None
        self._messages: dict[MessageId, Message] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that were told and stand."""
        return tuple(self._messages[key] for key in sorted(self._messages))

    def apply_all(self, events: Iterable[Event]) -> None:
        """Apply events in order."""
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        match event:
            case PartEvent(episode=episode, part=part):
                self.preview.add(episode, part)
            case MessageEvent(message=message):
                self._messages[message.id] = message
            case StatusEvent():
                self._apply_status(event)
            case PreviewReset(reason=reason):
                self.preview = Preview(in_mid_text=reason is PreviewResetReason.OVERFLOW)
            case QueueEvent(messages=messages):
                self.queue = messages
            case ActionsEvent(actions=actions):
                self.actions = actions
            case ErrorEvent(error=error):
                self.error = error
            case RetryEvent(retry=retry):
                self.retry = retry
            case HistoryReset(after_id=after_id):
                self._start_again(after_id)
            case _:
                assert_never(event)

    def _apply_status(self, event: StatusEvent) -> None:
        self.status = event.status
        self.archived = event.archived
        self.snapshot_version = event.snapshot_version
        if event.status is not ShownStatus.ERROR:
            self.error = None

    def _start_again(self, after_id: MessageId) -> None:
        self._messages = {key: m for key, m in self._messages.items() if key <= after_id}
        self.preview = Preview()
        self.queue, self.actions = (), ()
        self.error = self.retry = None
