"""What a decision may know of a chat: one row's worth. Wide enough for every command, no history."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from engine.chat.answerers import Barred
from engine.chat.content import Role
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ChatId, MessageId, OrganizationId, QueuedId, RunnerId, ToolCallId


class ChatStatus(StrEnum):
    """Stored status. `pending` is not stored: it is running with nobody holding a live lease."""

    WAITING = "waiting"
    RUNNING = "running"
    INTERRUPTING = "interrupting"
    REQUIRES_ACTION = "requires_action"
    ERROR = "error"


class Executor(StrEnum):
    """Where a tool call is executed: in the worker, or outside the engine (the dynamic tools)."""

    LOCAL = "local"
    PEOPLE = "people"
    CLIENT = "client"
    CALLBACK = "callback"


class OpenCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call of the last assistant message that has no result yet.

    `on_timeout_continue`: past its deadline the chat goes on instead of ending in error.
    """

    tool_call_id: ToolCallId
    tool_name: str
    executor: Executor = Executor.LOCAL
    on_timeout_continue: bool = False

    @property
    def is_dynamic(self) -> bool:
        """Whether somebody outside the engine must answer it."""
        return self.executor is not Executor.LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTarget:
    """The message that an edit names, as far as a decision must know it."""

    id: MessageId
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One chat under its row lock, at `snapshot_version` (already bumped for this transaction).

    `lease_live`: a worker holds the chat and its heartbeat is fresh, by the database's clock.
    `queue`: ids in queue order. `open_calls`: non-empty only while running, interrupting or
    requiring action. Loaded only for the commands that name them: `edit_target`, `source_seen`,
    `action_target`, the call of the action that AnswerAction names if it is still open,
    `asking_message`, the assistant's message that made the open calls, and `barred`, those of the
    open calls that whoever answers may not answer.
    """

    chat_id: ChatId
    organization_id: OrganizationId
    status: ChatStatus
    archived: bool = False
    snapshot_version: int
    history_version: int
    queue_version: int = 0
    retry_version: int = 0
    generation_attempt: int = 0
    runner_id: RunnerId | None = None
    lease_live: bool = False
    queue: tuple[QueuedId, ...] = ()
    open_calls: tuple[OpenCall, ...] = ()
    actions_deadline_at: datetime | None = None
    last_error: ChatError | None = None
    retry: RetryState | None = None
    compaction_requested: bool = False
    edit_target: EditTarget | None = None
    source_seen: bool = False
    action_target: ToolCallId | None = None
    asking_message: MessageId | None = None
    barred: tuple[Barred, ...] = ()

    @property
    def is_pending(self) -> bool:
        """Running as far as readers are told, but waiting for a worker."""
        return self.status is ChatStatus.RUNNING and not self.lease_live
