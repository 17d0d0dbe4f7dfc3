from datetime import UTC, datetime

import pytest

from adapters.slack.refusals import QUEUE_FULL, told_of
from engine.chat.decision import LimitReached, LimitScope, Refusal, RefusalReason


@pytest.mark.parametrize(
    ("scope", "whose"),
    [
        (LimitScope.USER, "You have"),
        (LimitScope.CHANNEL, "This channel has"),
        (LimitScope.ORGANIZATION, "Your organization has"),
    ],
)
def test_a_limit_is_told_with_amounts_and_the_time_of_its_reset(
    scope: LimitScope, whose: str
) -> None:
    limit = LimitReached(
        scope=scope,
        spent_micros=1_204_000,
        limit_micros=1_000_000,
        resets_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    told = told_of(Refusal(reason=RefusalReason.USAGE_LIMIT, limit=limit))
    assert told == (
        f"I am sorry, I cannot answer this now. {whose} used up what may be spent: "
        "$1.20 of $1.00. Please write again after 2027-01-01 00:00 UTC."
    )


def test_a_full_queue_is_told_and_nothing_else() -> None:
    told = {reason: told_of(Refusal(reason=reason)) for reason in RefusalReason}
    assert {reason for reason, text in told.items() if text} == {RefusalReason.QUEUE_FULL}
    assert told[RefusalReason.QUEUE_FULL] == QUEUE_FULL
