import pytest

from adapters.http.refusals import STATUS_AND_SENTENCE, problem_of
from engine.chat.decision import Refusal, RefusalReason


@pytest.mark.parametrize("reason", RefusalReason)
def test_every_reason_has_a_status_and_a_sentence(reason: RefusalReason) -> None:
    problem = problem_of(Refusal(reason=reason))
    assert problem.code == reason.value
    assert problem.status in (404, 409, 422, 429)
    assert problem.message.endswith(".")


def test_no_reason_is_mapped_that_there_is_not() -> None:
    assert set(STATUS_AND_SENTENCE) == set(RefusalReason)


def test_detail_is_told_and_a_full_queue_says_when_to_come_back() -> None:
    problem = problem_of(Refusal(reason=RefusalReason.QUEUE_FULL, detail="20 wait"))
    assert (problem.status, problem.detail) == (429, "20 wait")
    assert problem.headers == {"Retry-After": "5"}


def test_refused_content_names_its_field() -> None:
    (validation,) = problem_of(Refusal(reason=RefusalReason.EMPTY_MESSAGE)).validations
    assert validation.field == "content"
