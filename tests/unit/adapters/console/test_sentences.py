from datetime import UTC, datetime

import pytest

from adapters.console.sentences import (
    REFUSALS,
    SHORT_STATUSES,
    STATUSES,
    refusal_sentence,
    status_view,
)
from engine.chat.decision import LimitReached, LimitScope, Refusal, RefusalReason
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.view import ShownStatus

OVERLOADED = ChatError(kind=ErrorKind.OVERLOADED, message="The model is busy.", detail="529")


def test_every_refusal_has_a_sentence() -> None:
    assert set(REFUSALS) == set(RefusalReason)
    assert all(sentence.endswith(".") for sentence in REFUSALS.values())


def test_a_limit_is_told_with_amounts_and_the_time_of_its_reset() -> None:
    limit = LimitReached(
        scope=LimitScope.USER,
        spent_micros=250_000,
        limit_micros=200_000,
        resets_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    refusal = Refusal(reason=RefusalReason.USAGE_LIMIT, limit=limit)
    assert refusal_sentence(refusal) == (
        "You have reached your usage limit: $0.25 of $0.20 spent. "
        "It resets at 2027-01-01 00:00 UTC."
    )
    full = Refusal(reason=RefusalReason.QUEUE_FULL)
    assert refusal_sentence(full) == REFUSALS[RefusalReason.QUEUE_FULL]


@pytest.mark.parametrize("status", ShownStatus)
def test_every_status_has_its_words(status: ShownStatus) -> None:
    assert status in STATUSES
    assert SHORT_STATUSES[status]
    view = status_view(status, bot="Wren", archived=False)
    assert view.status == status.value
    assert bool(view.text) is (status is not ShownStatus.WAITING)


def test_error_and_retry_say_what_went_wrong() -> None:
    failed = status_view(ShownStatus.ERROR, bot="Wren", archived=True, error=OVERLOADED)
    assert (failed.text, failed.detail) == ("The model is busy.", "529")
    retry = RetryState(attempt=2, delay_ms=10, retrying_at=60.0, error=OVERLOADED)
    waiting = status_view(ShownStatus.RUNNING, bot="Wren", archived=False, retry=retry)
    assert waiting.text == "The model is busy. Trying again (attempt 3)"
    assert waiting.detail == "Next attempt at 00:01:00 UTC."


def test_archived_chat_says_so_when_nothing_else_is_to_say() -> None:
    assert status_view(ShownStatus.WAITING, bot="Wren", archived=True).text == (
        "This chat is archived."
    )
