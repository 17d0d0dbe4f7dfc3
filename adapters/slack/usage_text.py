"""What somebody has spent and may spend, in sentences (pure)."""

from collections.abc import Mapping
from datetime import UTC
from typing import Final

from engine.api import SpendStatus
from engine.chat.spending import Account, Period, amount, period_end

_PERIODS: Final[Mapping[Period, str]] = {
    Period.DAY: "today",
    Period.WEEK: "this week",
    Period.MONTH: "this month",
}


def usage_lines(status: SpendStatus) -> list[str]:
    """A line for the person, one for the channel where it has a limit, and when all of it begins anew."""
    standing = status.standing
    period = _PERIODS[standing.period]
    lines = []
    if standing.person is not None:
        lines.append(f"You have spent {_said(standing.person, period)}.")
    if standing.channel is not None and standing.channel.limit_micros is not None:
        lines.append(f"This channel has spent {_said(standing.channel, period)}.")
    ends = period_end(standing.period, standing.now).astimezone(UTC)
    return [*lines, f"It is counted anew from {ends:%Y-%m-%d %H:%M} UTC on."]


def _said(account: Account, period: str) -> str:
    spent = f"{amount(account.spent_micros)} {period}"
    if account.limit_micros is None:
        return f"{spent}; there is no limit"
    return f"{spent}, of {amount(account.limit_micros)}"
