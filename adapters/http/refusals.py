"""How a chat's refusals become problems of the API (pure). Every reason has its status and sentence."""

from collections.abc import Mapping
from typing import Final

from adapters.http.errors import Problem, Validation
from engine.chat.decision import LimitReached, Refusal, RefusalReason

_OVERTAKEN: Final = (409, "The chat has changed meanwhile; ask again.")
STATUS_AND_SENTENCE: Final[Mapping[RefusalReason, tuple[int, str]]] = {
    RefusalReason.ARCHIVED: (409, "The chat is archived; take it out of the archive first."),
    RefusalReason.NOT_ARCHIVED: (409, "The chat is not archived."),
    RefusalReason.NOT_RUNNING: (409, "There is nothing to interrupt."),
    RefusalReason.BUSY: (409, "The chat is busy; interrupt it or wait until it is done."),
    RefusalReason.EMPTY_MESSAGE: (422, "The message is empty."),
    RefusalReason.UNFIT_CONTENT: (422, "A message cannot hold this."),
    RefusalReason.QUEUE_FULL: (429, "Too many messages wait in this chat already."),
    RefusalReason.MESSAGE_NOT_FOUND: (404, "There is no such message in this chat."),
    RefusalReason.NOT_A_USER_MESSAGE: (422, "Only messages from people can be edited."),
    RefusalReason.QUEUED_NOT_FOUND: (404, "There is no such message in the queue."),
    RefusalReason.NO_ACTION_PENDING: (409, "The chat waits for no answer."),
    RefusalReason.ACTION_NOT_PENDING: (409, "This has been answered already, or taken back."),
    RefusalReason.RESULTS_DO_NOT_MATCH: (409, "The results do not match the pending calls."),
    RefusalReason.MAY_NOT_ANSWER: (403, "Somebody else has to answer this."),
    # Only workers' commands are refused for these, and the API sends none.
    RefusalReason.LEASE_LOST: _OVERTAKEN,
    RefusalReason.HISTORY_CHANGED: _OVERTAKEN,
    RefusalReason.STATUS_CHANGED: _OVERTAKEN,
    RefusalReason.NOT_DUE: _OVERTAKEN,
    RefusalReason.USAGE_LIMIT: (409, "The usage limit has been reached."),
}
_RETRY_AFTER_SECONDS: Final = "5"
_FIELDS: Final = {
    RefusalReason.EMPTY_MESSAGE: "content",
    RefusalReason.UNFIT_CONTENT: "content",
    RefusalReason.RESULTS_DO_NOT_MATCH: "results",
}


def problem_of(refusal: Refusal) -> Problem:
    """The problem that tells a client of a refusal; its code is the reason."""
    status, sentence = STATUS_AND_SENTENCE[refusal.reason]
    field = _FIELDS.get(refusal.reason)
    return Problem(
        refusal.reason.value,
        sentence,
        status=status,
        detail=refusal.detail or None,
        validations=(Validation(field=field, detail=refusal.detail or sentence),) if field else (),
        facts=None if refusal.limit is None else limit_facts(refusal.limit),
        headers={"Retry-After": _RETRY_AFTER_SECONDS} if status == 429 else None,
    )


def limit_facts(limit: LimitReached) -> dict[str, object]:
    """What a program needs to know of a limit that is used up."""
    return {
        "scope": limit.scope.value,
        "spent_micros": limit.spent_micros,
        "limit_micros": limit.limit_micros,
        "resets_at": limit.resets_at,
    }
