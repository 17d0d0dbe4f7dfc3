"""Spending: periods of UTC, whose limit holds, what is said when it is reached."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.decision import LimitReached, LimitScope
from engine.chat.spending import (
    Account,
    LimitSource,
    Period,
    PersonalLimit,
    SpendPolicy,
    Standing,
    amount,
    limit_reached,
    limit_sentence,
    period_end,
    period_start,
    personal_limit,
)

NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
WITHOUT_ZONE = NEW_YEAR.replace(tzinfo=None)
MOMENTS = st.datetimes(
    WITHOUT_ZONE.replace(year=2020), WITHOUT_ZONE.replace(year=2041), timezones=st.just(UTC)
) | st.timedeltas(timedelta(days=-9), timedelta(days=9)).flatmap(
    lambda distance: st.integers(2020, 2040).map(
        lambda year: datetime(year, 1, 1, tzinfo=UTC) + distance
    )
)
PERIODS = st.sampled_from(Period)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("period", "now", "start", "end"),
    [
        (Period.DAY, "2026-12-31 23:59:59", "2026-12-31", "2027-01-01"),
        (Period.DAY, "2027-01-01 00:00:00", "2027-01-01", "2027-01-02"),
        # The week of this new year began in the old one.
        (Period.WEEK, "2027-01-01 12:00:00", "2026-12-28", "2027-01-04"),
        (Period.WEEK, "2026-12-27 23:59:59", "2026-12-21", "2026-12-28"),
        (Period.WEEK, "2026-12-28 00:00:00", "2026-12-28", "2027-01-04"),
        (Period.MONTH, "2026-12-31 23:59:59", "2026-12-01", "2027-01-01"),
        (Period.MONTH, "2028-02-29 10:00:00", "2028-02-01", "2028-03-01"),
        (Period.MONTH, "2027-01-31 00:00:00", "2027-01-01", "2027-02-01"),
    ],
)
def test_periods_are_those_of_the_calendar(period: Period, now: str, start: str, end: str) -> None:
    assert (period_start(period, at(now)), period_end(period, at(now))) == (at(start), at(end))


@given(period=PERIODS, now=MOMENTS)
def test_every_moment_is_in_its_period(period: Period, now: datetime) -> None:
    start, end = period_start(period, now), period_end(period, now)
    assert start <= now < end
    assert (start.hour, start.minute, start.second, start.microsecond) == (0, 0, 0, 0)
    assert period is not Period.WEEK or start.isoweekday() == 1
    assert period is not Period.MONTH or start.day == 1


@given(period=PERIODS, now=MOMENTS)
def test_periods_follow_each_other_without_a_gap(period: Period, now: datetime) -> None:
    end = period_end(period, now)
    assert period_start(period, end) == end
    last = end - timedelta(microseconds=1)
    assert period_start(period, last) == period_start(period, now)
    assert period_end(period, last) == end


@given(period=PERIODS, now=MOMENTS, hours=st.integers(-12, 14))
def test_periods_are_the_same_wherever_one_asks(period: Period, now: datetime, hours: int) -> None:
    there = now.astimezone(timezone(timedelta(hours=hours)))
    assert period_start(period, there) == period_start(period, now)
    assert period_end(period, there) == period_end(period, now)


@pytest.mark.parametrize(
    ("override", "of_groups", "default", "limit", "source"),
    [
        (700, [100], 50, 700, LimitSource.USER),
        (0, [100], 50, 0, LimitSource.USER),
        (None, [300, 100, 200], 50, 100, LimitSource.GROUP),
        (None, [300], None, 300, LimitSource.GROUP),
        (None, [], 50, 50, LimitSource.DEFAULT),
        (None, [], 0, 0, LimitSource.DEFAULT),
        (None, [], None, None, LimitSource.DISABLED),
    ],
)
def test_an_override_goes_before_groups_and_groups_before_the_default(
    override: int | None,
    of_groups: list[int],
    default: int | None,
    limit: int | None,
    source: LimitSource,
) -> None:
    policy = SpendPolicy(default_limit_micros=default)
    found = personal_limit(policy, override=override, of_groups=of_groups)
    assert found == PersonalLimit(limit_micros=limit, source=source)


def test_a_policy_that_is_switched_off_limits_nobody() -> None:
    policy = SpendPolicy(enabled=False, default_limit_micros=1)
    found = personal_limit(policy, override=2, of_groups=[3])
    assert found == PersonalLimit(limit_micros=None, source=LimitSource.DISABLED)


@pytest.mark.parametrize(
    ("spent", "limit", "is_reached"),
    [(99, 100, False), (100, 100, True), (101, 100, True), (0, 0, True), (10**15, None, False)],
)
def test_a_limit_is_reached_when_it_is_spent(
    spent: int, limit: int | None, *, is_reached: bool
) -> None:
    account = Account(spent_micros=spent, limit_micros=limit)
    standing = Standing(now=NEW_YEAR, period=Period.DAY, person=account)
    assert (limit_reached(standing) is not None) is is_reached


def test_the_first_limit_that_is_reached_is_told() -> None:
    used_up, left = (Account(spent_micros=5, limit_micros=limit) for limit in (5, 6))
    standing = Standing(
        now=NEW_YEAR, period=Period.DAY, person=used_up, channel=used_up, organization=used_up
    )
    told = []
    for next_one in (
        {},
        {"person": left},
        {"person": None, "channel": left},
        {"channel": None, "organization": left},
    ):
        standing = replace(standing, **next_one)
        reached = limit_reached(standing)
        told.append(reached and reached.scope)
    assert told == [LimitScope.USER, LimitScope.CHANNEL, LimitScope.ORGANIZATION, None]


@pytest.mark.parametrize(
    ("scope", "whose"),
    [
        (LimitScope.USER, "your"),
        (LimitScope.CHANNEL, "this channel's"),
        (LimitScope.ORGANIZATION, "the organization's"),
    ],
)
def test_the_sentence_says_amounts_whose_limit_and_when_it_resets(
    scope: LimitScope, whose: str
) -> None:
    limit = LimitReached(
        scope=scope, spent_micros=12_500_000, limit_micros=12_000_000, resets_at=NEW_YEAR
    )
    assert limit_sentence(limit) == (
        f"usage limit exceeded: spent $12.50 of {whose} $12.00 limit, "
        "resets at 2027-01-01 00:00 UTC"
    )


@pytest.mark.parametrize(
    ("micros", "shown", "exactly"),
    [
        (0, "$0.00", "$0.00"),
        (1, "$0.000001", "$0.000001"),
        (100, "$0.0001", "$0.0001"),
        (120_000, "$0.12", "$0.12"),
        (500_000, "$0.50", "$0.50"),
        (999_999, "$0.999999", "$0.999999"),
        (1_000_000, "$1.00", "$1.00"),
        (1_234_567, "$1.23", "$1.234567"),
        (1_235_000, "$1.24", "$1.235"),
        (1_245_000, "$1.25", "$1.245"),
        (1_234_567_890_000, "$1,234,567.89", "$1,234,567.89"),
    ],
)
def test_amounts_have_as_many_decimals_as_people_need(
    micros: int, shown: str, exactly: str
) -> None:
    assert (amount(micros), amount(micros, exact=True)) == (shown, exactly)
