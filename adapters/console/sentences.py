"""What the console says in words (pure): what a chat is doing, why it refused, what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from engine.chat.decision import LimitScope, Refusal, RefusalReason
from engine.chat.errors import ChatError, RetryState
from engine.chat.spending import amount, reset_time
from engine.chat.view import ShownStatus

_OVERTAKEN: Final = "The chat has changed meanwhile. Please try again."
REFUSALS: Final[Mapping[RefusalReason, str]] = {
    RefusalReason.ARCHIVED: "This chat is archived. Take it out of the archive first.",
    RefusalReason.NOT_ARCHIVED: "This chat is not archived.",
    RefusalReason.NOT_RUNNING: "There is nothing to stop any more.",
    RefusalReason.BUSY: "The chat is busy. Stop it, or wait until it is done.",
    RefusalReason.EMPTY_MESSAGE: "Please write something first.",
    RefusalReason.UNFIT_CONTENT: "A message holds text and files only.",
    RefusalReason.QUEUE_FULL: "Too many messages wait already. Please let some be answered first.",
    RefusalReason.MESSAGE_NOT_FOUND: "That message is not there any more.",
    RefusalReason.NOT_A_USER_MESSAGE: "Only messages from people can be edited.",
    RefusalReason.QUEUED_NOT_FOUND: "That message does not wait any more.",
    RefusalReason.NO_ACTION_PENDING: "This has been answered already.",
    RefusalReason.ACTION_NOT_PENDING: "This has been answered already.",
    RefusalReason.RESULTS_DO_NOT_MATCH: _OVERTAKEN,
    RefusalReason.MAY_NOT_ANSWER: "Somebody else has to answer this.",
    RefusalReason.LEASE_LOST: _OVERTAKEN,
    RefusalReason.HISTORY_CHANGED: _OVERTAKEN,
    RefusalReason.STATUS_CHANGED: _OVERTAKEN,
    RefusalReason.NOT_DUE: _OVERTAKEN,
    RefusalReason.USAGE_LIMIT: "The usage limit has been reached.",
}
_LIMITS: Final[Mapping[LimitScope, str]] = {
    LimitScope.USER: "You have reached your usage limit",
    LimitScope.CHANNEL: "This channel has reached its usage limit",
    LimitScope.ORGANIZATION: "Your organization has reached its usage limit",
}
STATUSES: Final[Mapping[ShownStatus, str]] = {
    ShownStatus.PENDING: "is about to start",
    ShownStatus.WAITING: "",
    ShownStatus.RUNNING: "is writing",
    ShownStatus.INTERRUPTING: "is stopping",
    ShownStatus.REQUIRES_ACTION: "waits for an answer",
    ShownStatus.ERROR: "could not finish",
}
SHORT_STATUSES: Final[Mapping[ShownStatus, str]] = {
    ShownStatus.PENDING: "starting",
    ShownStatus.WAITING: "ready",
    ShownStatus.RUNNING: "writing",
    ShownStatus.INTERRUPTING: "stopping",
    ShownStatus.REQUIRES_ACTION: "asks",
    ShownStatus.ERROR: "failed",
}

SUMMARISING: Final = "Summarising the conversation …"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """The line above the composer. `status` chooses its look and which buttons are there."""

    status: str
    text: str
    detail: str = ""


def refusal_sentence(refusal: Refusal) -> str:
    """Why something was not done.

    Of a limit it tells how much was spent and when it resets, of a question who may answer it.
    """
    if refusal.reason is RefusalReason.MAY_NOT_ANSWER and refusal.detail:
        return refusal.detail
    limit = refusal.limit
    if limit is None:
        return REFUSALS[refusal.reason]
    spent = f"{amount(limit.spent_micros)} of {amount(limit.limit_micros)}"
    return f"{_LIMITS[limit.scope]}: {spent} spent. It resets at {reset_time(limit)}."


def status_view(
    status: ShownStatus,
    *,
    bot: str,
    archived: bool,
    retry: RetryState | None = None,
    error: ChatError | None = None,
) -> StatusView:
    """What the chat is doing, in a sentence; empty when it only waits for somebody to speak."""
    doing = STATUSES[status]
    text = f"{bot} {doing}" if doing else ""
    detail = ""
    if status is ShownStatus.ERROR and error is not None:
        text, detail = error.message, error.detail or ""
    elif retry is not None:
        at = datetime.fromtimestamp(retry.retrying_at, UTC)
        text = f"{retry.error.message} Trying again (attempt {retry.attempt + 1})"
        detail = f"Next attempt at {at:%H:%M:%S} UTC."
    elif archived:
        text = "This chat is archived."
    return StatusView(status=status.value, text=text, detail=detail)
