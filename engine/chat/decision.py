"""The results of deciding: a Decision to apply, or a Refusal to explain. Neither is an exception."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self

from engine.chat.errors import ChatError, RetryState
from engine.chat.snapshot import ChatStatus, OpenCall, Snapshot
from engine.chat.writes import Write


class RefusalReason(StrEnum):
    """Why a command does not apply. Stable: adapters and clients match on it."""

    ARCHIVED = "archived"
    NOT_ARCHIVED = "not_archived"
    NOT_RUNNING = "not_running"
    BUSY = "busy"
    EMPTY_MESSAGE = "empty_message"
    UNFIT_CONTENT = "unfit_content"
    QUEUE_FULL = "queue_full"
    MESSAGE_NOT_FOUND = "message_not_found"
    NOT_A_USER_MESSAGE = "not_a_user_message"
    QUEUED_NOT_FOUND = "queued_not_found"
    NO_ACTION_PENDING = "no_action_pending"
    ACTION_NOT_PENDING = "action_not_pending"
    RESULTS_DO_NOT_MATCH = "results_do_not_match"
    MAY_NOT_ANSWER = "may_not_answer"
    LEASE_LOST = "lease_lost"
    HISTORY_CHANGED = "history_changed"
    STATUS_CHANGED = "status_changed"
    NOT_DUE = "not_due"
    USAGE_LIMIT = "usage_limit"


class LimitScope(StrEnum):
    """Whose spending a limit is on."""

    USER = "user"
    CHANNEL = "channel"
    ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A spend limit that is used up, in millionths of the prices' currency, until `resets_at` (UTC)."""

    scope: LimitScope
    spent_micros: int
    limit_micros: int
    resets_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The command does not apply to the chat as it is; nothing was changed.

    `limit` goes with the reason `usage_limit` alone.
    """

    reason: RefusalReason
    detail: str = ""
    limit: LimitReached | None = None


class Effect(StrEnum):
    """What became of a message or command, for the caller."""

    INSERTED = "inserted"
    QUEUED = "queued"
    DUPLICATE = "duplicate"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRow:
    """The chat's own row after the decision."""

    status: ChatStatus
    archived: bool
    open_calls: tuple[OpenCall, ...]
    actions_deadline_at: datetime | None
    last_error: ChatError | None
    retry: RetryState | None
    compaction_requested: bool
    keep_runner: bool
    next_attempt: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """The row as it is: same status, same runner, same attempt."""
        return cls(
            status=snapshot.status,
            archived=snapshot.archived,
            open_calls=snapshot.open_calls,
            actions_deadline_at=snapshot.actions_deadline_at,
            last_error=snapshot.last_error,
            retry=snapshot.retry,
            compaction_requested=snapshot.compaction_requested,
            keep_runner=True,
            next_attempt=False,
        )

    def to(self, status: ChatStatus) -> Self:
        """The row in another status.

        Leaving error clears the error, and a retry is over with the run that it was shown in. A
        status that nobody works in lets the runner go and forgets what only a run can do.
        """
        works = status in (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
        return replace(
            self,
            status=status,
            last_error=self.last_error if status is ChatStatus.ERROR else None,
            retry=None,
            compaction_requested=self.compaction_requested and works,
            keep_runner=self.keep_runner and works,
            actions_deadline_at=(
                self.actions_deadline_at if status is ChatStatus.REQUIRES_ACTION else None
            ),
        )

    def released(self) -> Self:
        """The row for the next worker to go on with. A retry that nobody waits for is not shown."""
        return replace(self, keep_runner=False, retry=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Change the row to `row` and apply `writes` in order, all in one transaction.

    `wake`: the chat now needs a worker that nobody is yet.
    """

    row: ChatRow
    writes: tuple[Write, ...] = ()
    effect: Effect = Effect.DONE
    wake: bool = False


def decision(
    snapshot: Snapshot, row: ChatRow, *writes: Write, effect: Effect = Effect.DONE
) -> Decision:
    """A decision that wakes workers when the chat needs one that nobody is yet."""
    needs_worker = row.status in (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
    held = row.keep_runner and snapshot.runner_id is not None and snapshot.lease_live
    return Decision(row=row, writes=writes, effect=effect, wake=needs_worker and not held)
