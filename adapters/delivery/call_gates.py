"""The gates that a call to a platform has to pass, from what the platform allows (pure).

Each call passes two: that of its method in the installation, and that of its method in the channel. Both
can be closed for a while when the platform says so.
"""

from typing import Final

from adapters.contract import CallRate
from engine.budgets.bucket import Gate, shared_key

POST: Final = "post"
EDIT: Final = "edit"
DELETE: Final = "delete"
FIND: Final = "find"
START: Final = "start"
APPEND: Final = "append"
CLOSE: Final = "close"

BURST_SHARE = 0.2
"""The part of a minute's calls that may be made at once. With what is then refilled, no minute has more
calls than are allowed."""
STEADY_SHARE = 0.9
"""Where nothing may be made at once, calls keep a little more than their distance: some travel faster."""
OPEN_PER_SECOND = 1000.0
"""The rate of a gate that only stops anybody while it is closed."""
DRAFT_KEEP_SHARE = 0.5
"""What calls that may wait leave of a burst to those that people wait for."""


def gates_of(
    platform: str, installation: str, method: str, channel: str, rate: CallRate
) -> tuple[Gate, Gate]:
    """The gate of the installation, and that of the channel."""
    owner = f"{platform}:{installation}"
    capacity, per_second = _of_installation(rate.per_minute)
    in_channel = rate.per_channel_per_second
    return (
        Gate(key=shared_key(owner, method), capacity=capacity, per_second=per_second),
        Gate(
            key=shared_key(owner, method, channel),
            capacity=OPEN_PER_SECOND if in_channel is None else 1.0,
            per_second=OPEN_PER_SECOND if in_channel is None else in_channel * STEADY_SHARE,
        ),
    )


def _of_installation(per_minute: float | None) -> tuple[float, float]:
    if per_minute is None:
        return OPEN_PER_SECOND, OPEN_PER_SECOND
    burst = per_minute * BURST_SHARE
    if burst <= 1:
        return 1.0, per_minute * STEADY_SHARE / 60
    return burst, (per_minute - burst) / 60
