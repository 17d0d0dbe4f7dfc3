"""Limits are of UTC on a machine whose own clock is elsewhere."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from engine.chat.decision import LimitReached, LimitScope
from engine.chat.spending import Period, period_start, reset_time

NOW = datetime(2026, 3, 1, 20, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "FAR-13")
        time.tzset()
        yield
    time.tzset()


def test_the_day_is_the_one_of_utc() -> None:
    assert NOW.astimezone().day == 2
    assert period_start(Period.DAY, NOW) == datetime(2026, 3, 1, tzinfo=UTC)


def test_the_time_of_the_reset_is_told_in_utc() -> None:
    limit = LimitReached(scope=LimitScope.USER, spent_micros=1, limit_micros=1, resets_at=NOW)
    assert reset_time(limit) == "2026-03-01 20:30 UTC"
