from datetime import UTC, datetime

import pytest

from adapters.http import views
from adapters.http.refusals import STATUS_AND_SENTENCE, problem_of
from engine.chat.decision import LimitReached, LimitScope, Refusal, RefusalReason


@pytest.mark.parametrize("reason", RefusalReason)
def test_every_reason_has_a_status_and_a_sentence(reason: RefusalReason) -> None:
    problem = problem_of(Refusal(reason=reason))
    assert problem.code == reason.value
    assert problem.status in (403, 404, 409, 422, 429)
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


def test_a_limit_is_told_in_fields_of_its_own() -> None:
    limit = LimitReached(
        scope=LimitScope.CHANNEL,
        spent_micros=12,
        limit_micros=10,
        resets_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    told = problem_of(Refusal(reason=RefusalReason.USAGE_LIMIT, detail="so much", limit=limit))
    assert (told.status, told.detail) == (409, "so much")
    assert views.problem(told) == {
        "code": "usage_limit",
        "message": "The usage limit has been reached.",
        "detail": "so much",
        "scope": "channel",
        "spent_micros": 12,
        "limit_micros": 10,
        "resets_at": limit.resets_at,
    }
