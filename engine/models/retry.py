"""When to ask a model again: which failures, how long to wait, how often.

Pure. The constants are those of the design; a provider's Retry-After is always honoured.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

RETRIES_MAX: Final = 25
DELAY_FIRST_SECONDS: Final = 1.0
DELAY_MAX_SECONDS: Final = 60.0
RETRY_AFTER_MAX_SECONDS: Final = 86_400.0
"""A provider that asks for more than a day is not believed."""


def delay_seconds(failures: int, retry_after_seconds: float | None = None) -> float | None:
    """Return the wait after the nth failure in a row (from 1); None: do not ask again.

    min(1 s * 2^(n-1), 60 s), and at least what the provider asked for.
    """
    if failures > RETRIES_MAX:
        return None
    backoff = DELAY_FIRST_SECONDS * float(1 << min(failures - 1, 16))
    return max(min(backoff, DELAY_MAX_SECONDS), retry_after_seconds or 0.0)


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return what the provider asks to wait: retry-after-ms, then seconds or an HTTP date."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lower.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    value = lower.get("retry-after", "")
    seconds = _number(value)
    if seconds is None and value:
        seconds = _until(value, now)
    return None if seconds is None else _bounded(seconds)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None  # noqa: PLR0124 - NaN is the one that differs


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_SECONDS)
