"""How long Slack wants to be left alone, from the headers of its answer (pure).

What is missing or makes no sense never stops us for long, nor makes us hurry.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

UNSAID_SECONDS: Final = 5.0
"""Where Slack says that there were too many calls, but not, or not in seconds, for how long."""
SECONDS_MAX: Final = 300.0
"""Slack counts by the minute; a longer wait is a mistake somewhere, and is asked about again."""


def retry_after_seconds(headers: Mapping[str, Any]) -> float:
    """The seconds to wait: between 0 and SECONDS_MAX."""
    for name, value in headers.items():
        if name.lower() == "retry-after":
            return _seconds(value[0] if isinstance(value, list) and value else value)
    return UNSAID_SECONDS


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        return UNSAID_SECONDS
    if math.isnan(seconds) or seconds < 0:
        return UNSAID_SECONDS
    return min(seconds, SECONDS_MAX)
