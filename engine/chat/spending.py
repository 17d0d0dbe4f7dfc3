"""What may be spent, by whom and until when (pure): periods, whose limit holds, what a refusal says.

A limit is reached as soon as what was spent in the period is no less than it; the message after that is
refused. Periods are of UTC: a day, a week from Monday, a month. Amounts are in millionths of the currency
of the prices.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final

from engine.chat.decision import LimitReached, LimitScope

MICROS: Final = 1_000_000
_CENT: Final = Decimal("0.01")


class Period(StrEnum):
    """How long a limit is for; it begins anew with every such time of UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class LimitSource(StrEnum):
    """Why a person has the limit that they have. `disabled`: they have none."""

    USER = "user"
    GROUP = "group"
    DEFAULT = "default"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendPolicy:
    """What holds for a whole organization. A limit that is None is none."""

    enabled: bool = True
    period: Period = Period.MONTH
    default_limit_micros: int | None = None
    organization_limit_micros: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalLimit:
    """What one person may spend; None: any amount."""

    limit_micros: int | None
    source: LimitSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What was spent in a period, of which limit. Without a limit nothing is ever reached."""

    spent_micros: int
    limit_micros: int | None

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be begun. Nothing at all may, where the limit is zero."""
        return self.limit_micros is not None and self.spent_micros >= self.limit_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How somebody stands at a moment. None: there is no such person or channel to look at."""

    now: datetime
    period: Period
    person: Account | None = None
    channel: Account | None = None
    organization: Account | None = None


def period_start(period: Period, now: datetime) -> datetime:
    """When the period that `now` is in began."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case Period.DAY:
            return day
        case Period.WEEK:
            return day - timedelta(days=day.weekday())
        case Period.MONTH:
            return day.replace(day=1)


def period_end(period: Period, now: datetime) -> datetime:
    """When the period that `now` is in ends, which is when the next one begins."""
    start = period_start(period, now)
    match period:
        case Period.DAY:
            return start + timedelta(days=1)
        case Period.WEEK:
            return start + timedelta(days=7)
        case Period.MONTH:
            # No month has more than 31 days, and none of the next ones fewer than 28.
            return (start + timedelta(days=31)).replace(day=1)


def personal_limit(
    policy: SpendPolicy, *, override: int | None, of_groups: Iterable[int]
) -> PersonalLimit:
    """A person's own limit, else the lowest of their groups', else the one for everybody."""
    if not policy.enabled:
        return PersonalLimit(limit_micros=None, source=LimitSource.DISABLED)
    if override is not None:
        return PersonalLimit(limit_micros=override, source=LimitSource.USER)
    if (lowest := min(of_groups, default=None)) is not None:
        return PersonalLimit(limit_micros=lowest, source=LimitSource.GROUP)
    if policy.default_limit_micros is not None:
        return PersonalLimit(limit_micros=policy.default_limit_micros, source=LimitSource.DEFAULT)
    return PersonalLimit(limit_micros=None, source=LimitSource.DISABLED)


def limit_reached(standing: Standing) -> LimitReached | None:
    """The first limit that is used up: the person's, then the channel's, then the organization's."""
    accounts = (
        (LimitScope.USER, standing.person),
        (LimitScope.CHANNEL, standing.channel),
        (LimitScope.ORGANIZATION, standing.organization),
    )
    for scope, account in accounts:
        if account is not None and account.is_used_up and account.limit_micros is not None:
            return LimitReached(
                scope=scope,
                spent_micros=account.spent_micros,
                limit_micros=account.limit_micros,
                resets_at=period_end(standing.period, standing.now),
            )
    return None


def limit_sentence(limit: LimitReached) -> str:
    """Why a message was refused, with amounts and the time from which on it would be taken."""
    whose = {
        LimitScope.USER: "your",
        LimitScope.CHANNEL: "this channel's",
        LimitScope.ORGANIZATION: "the organization's",
    }[limit.scope]
    return (
        f"usage limit exceeded: spent {amount(limit.spent_micros)} of {whose} "
        f"{amount(limit.limit_micros)} limit, resets at {reset_time(limit)}"
    )


def reset_time(limit: LimitReached) -> str:
    """When a limit begins anew, for people anywhere."""
    return f"{limit.resets_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def amount(micros: int, *, exact: bool = False) -> str:
    """An amount for people: cents, and below a dollar, or where it must be exact, what is beneath."""
    value = Decimal(micros) / MICROS
    if abs(value) >= 1 and not exact:
        return f"${value.quantize(_CENT, rounding=ROUND_HALF_UP):,}"
    whole, _, beneath = f"{value:,.6f}".partition(".")
    return f"${whole}.{beneath.rstrip('0').ljust(2, '0')}"
