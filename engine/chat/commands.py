"""Everything that can be asked of a chat: people's commands, then the worker's.

A worker's command carries a Fence; it is refused when another worker, an edit or an interrupt has
overtaken it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from engine.chat.answerers import Answerers
from engine.chat.content import Author, Content, NewMessage, ToolResultPart
from engine.chat.errors import ChatError, RetryState
from engine.chat.form import Form
from engine.chat.ids import (
    DEFAULT_ORGANIZATION,
    ActionId,
    ChatId,
    MessageId,
    OrganizationId,
    QueuedId,
    RunnerId,
    ToolCallId,
)
from engine.chat.snapshot import Executor, OpenCall

QUEUE_MAX = 20
"""Messages that may wait in one chat. More is refused: somebody is talking to a wall."""


class BusyBehavior(StrEnum):
    """What a message does to a chat that is busy: wait its turn, or stop the turn."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a worker believed when it began. `history_version` None: any history will do."""

    runner_id: RunnerId
    history_version: int | None = None


class NewAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that somebody outside the engine must answer. `form` is what people are shown.

    `answerers`: who of them may answer; None: anyone.
    """

    tool_call_id: ToolCallId
    tool_name: str
    executor: Executor
    args: str
    form: Form | None = None
    answerers: Answerers | None = None


# -- people's commands ---------------------------------------------------------------------------


class ThreadBinding(Struct, frozen=True, kw_only=True):
    """The platform thread that a new chat belongs to."""

    platform: str
    installation: str
    channel: str
    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateChat:
    """A new chat with its first message; it runs at once."""

    chat_id: ChatId
    content: Content
    organization_id: OrganizationId = DEFAULT_ORGANIZATION
    author: Author | None = None
    source_key: str | None = None
    bot: str = "assistant"
    title: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    dynamic_tools: tuple[dict[str, Any], ...] = ()
    binding: ThreadBinding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage:
    """A message to an existing chat. The same `source_key` twice is one message."""

    content: Content
    author: Author | None = None
    source_key: str | None = None
    busy: BusyBehavior = BusyBehavior.QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class EditMessage:
    """Replace a user message. `rerun`: forget all that followed and answer anew; otherwise amend."""

    message_id: MessageId
    content: Content
    author: Author | None = None
    rerun: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQueuedMessage:
    """Replace the text of a message that still waits."""

    queued_id: QueuedId
    content: Content


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQueuedMessage:
    """Take a message out of the queue."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteQueuedMessage:
    """Answer this queued message next, stopping what runs."""

    queued_id: QueuedId


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Stop. What was streamed so far is kept."""

    by: Author | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitToolResults:
    """Answers to all pending dynamic calls at once; ids must match exactly.

    `message_id`: the assistant's message that made the calls. Ids of calls may come back in later
    messages; without it a late submission could answer another question. `groups`: see AnswerAction.
    """

    results: tuple[ToolResultPart, ...]
    by: Author | None = None
    message_id: MessageId | None = None
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAction:
    """The answer to one pending dynamic call; the chat goes on when none is left.

    `groups`: groups of a platform that `by` is in, as whoever asked the platform says; the engine
    knows its own.
    """

    action_id: ActionId
    result: Any
    is_error: bool = False
    by: Author | None = None
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Put the chat away; what runs is stopped, what is queued stays.

    `unless_changed_since`: only a chat that still stands at this snapshot version.
    """

    unless_changed_since: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unarchive:
    """Take the chat back out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCompaction:
    """Summarise the history for the model."""

    by: Author | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearContext:
    """Let the model forget what came before; people still see it."""


# -- the worker's commands -----------------------------------------------------------------------


class Reservation(Struct, frozen=True, kw_only=True):
    """A ledger entry for a call with side effects: it is started at most once."""

    tool_call_id: ToolCallId
    tool_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStep:
    """Store a step: the assistant's message with its calls, or the results of calls."""

    fence: Fence
    messages: tuple[NewMessage, ...]
    open_calls: tuple[OpenCall, ...] = ()
    reserve: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterRequiresAction:
    """Store what is done and wait for answers from outside until `deadline_at`.

    `notify`: the owner has waited long and is told, if people are asked.
    """

    fence: Fence
    messages: tuple[NewMessage, ...]
    open_calls: tuple[OpenCall, ...]
    actions: tuple[NewAction, ...]
    deadline_at: datetime
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishTurn:
    """The turn is over; the head of the queue, if any, is next.

    `notify`: the owner has waited long and is told, unless the chat goes on at once.
    """

    fence: Fence
    messages: tuple[NewMessage, ...] = ()
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactHistory:
    """Store a summary, and what people are told of it.

    `ends_turn`: the turn is over as well; `notify` is then what it is to FinishTurn.
    """

    fence: Fence
    messages: tuple[NewMessage, ...]
    ends_turn: bool = False
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishInterruption:
    """The interrupted turn is put away with everything it had streamed."""

    fence: Fence
    messages: tuple[NewMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishError:
    """The turn failed. The chat is usable again with the next message.

    `notify`: the owner has waited long and is told, unless somebody had stopped the turn.
    """

    fence: Fence
    error: ChatError
    messages: tuple[NewMessage, ...] = ()
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAttempt:
    """A new generation attempt begins: a new episode, and the retry that was shown is over."""

    fence: Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRetry:
    """An attempt failed in a way worth repeating; say so while waiting."""

    fence: Fence
    retry: RetryState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLease:
    """Give the chat back unfinished: it stays running, without error, for the next worker."""

    fence: Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireActions:
    """Answer actions whose deadline has passed. Safe to send at any time by anybody."""


UserCommand = (
    SendMessage
    | EditMessage
    | EditQueuedMessage
    | DeleteQueuedMessage
    | PromoteQueuedMessage
    | Interrupt
    | SubmitToolResults
    | AnswerAction
    | Archive
    | Unarchive
    | RequestCompaction
    | ClearContext
)
WorkerCommand = (
    CommitStep
    | EnterRequiresAction
    | FinishTurn
    | CompactHistory
    | FinishInterruption
    | FinishError
    | RecordAttempt
    | RecordRetry
    | ReleaseLease
    | ExpireActions
)
Command = UserCommand | WorkerCommand

COMMANDS: tuple[type, ...] = (*UserCommand.__args__, *WorkerCommand.__args__)
