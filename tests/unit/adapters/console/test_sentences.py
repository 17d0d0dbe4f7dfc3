import pytest

from adapters.console.sentences import REFUSALS, SHORT_STATUSES, STATUSES, status_view
from engine.chat.decision import RefusalReason
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.view import ShownStatus

OVERLOADED = ChatError(kind=ErrorKind.OVERLOADED, message="The model is busy.", detail="529")


def test_every_refusal_has_a_sentence() -> None:
    assert set(REFUSALS) == set(RefusalReason)
    assert all(sentence.endswith(".") for sentence in REFUSALS.values())


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
