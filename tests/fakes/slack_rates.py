"""Owns how fake Slack slows callers down or fails them: rate limits per method and faults ordered by a test."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.slack_clock import SlackClock

Json = dict[str, Any]

ANY_METHOD = "*"
# Calls a minute of Slack's tiers; limits hold per method, workspace and app.
TIER_PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}
WINDOW_SECONDS = 60.0
POSTING_METHOD = "chat.postMessage"
# Slack publishes "several hundred" messages a minute for a workspace.
POSTS_PER_MINUTE = 300


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """One ordered failure. `reached` is set when a call runs into it; `release()` ends a hang."""

    method: str
    times: int = 1
    status: int | None = None
    error: str | None = None
    retry_after: int | str | None = None
    drop_before_handling: bool = False
    drop_after_handling: bool = False
    hang_before_handling: bool = False
    hang_after_handling: bool = False
    when: Callable[[Json], bool] | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        self.released.set()

    @property
    def refuses(self) -> bool:
        """Whether the call is answered with an error instead of being handled."""
        return self.status is not None or self.error is not None


class Faults:
    """The failures still to come, taken in the order they were ordered."""

    def __init__(self) -> None:
        self._ordered: list[Fault] = []
        self._met: list[Fault] = []

    def order(self, fault: Fault) -> Fault:
        self._ordered.append(fault)
        return fault

    def take(self, method: str, args: Json) -> Fault | None:
        """The failure this call meets, if any; each is met `times` times."""
        for fault in self._ordered:
            if fault.method not in (method, ANY_METHOD):
                continue
            if fault.when is not None and not fault.when(args):
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._ordered.remove(fault)
            self._met.append(fault)
            fault.reached.set()
            return fault
        return None

    def clear(self) -> None:
        """Order no more failures and let everything that hangs go on."""
        for fault in [*self._ordered, *self._met]:
            fault.release()
        self._ordered.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    calls: int
    window_seconds: float


class RateLimits:
    """Sliding windows per method, workspace and app; off until enabled.

    A window is stricter than a bucket: whoever passes it in every minute passes any bucket of that size.
    """

    def __init__(self, clock: SlackClock, tiers: dict[str, int]) -> None:
        self._clock = clock
        self._tiers = tiers
        self._limits: dict[str, _Limit] = {}
        self._posting: _Limit | None = None
        self._windows: defaultdict[tuple[str, ...], deque[float]] = defaultdict(deque)
        self.rejected = 0
        self.rejected_methods: Counter[str] = Counter()

    def enable(self, method: str, *, per_minute: int) -> None:
        self._limits[method] = _Limit(calls=per_minute, window_seconds=WINDOW_SECONDS)

    def enable_posting(self, *, per_channel: int = 1, window_seconds: float = 1.0) -> None:
        """Limit new messages per channel; Slack's rule is about one a second."""
        self._posting = _Limit(calls=per_channel, window_seconds=window_seconds)

    def enable_tiers(self, *, times: int = 1) -> None:
        """Every method at its published tier; posting at one a second per channel, and for all together.

        `times`: so many times as often, where a test cannot wait for minutes.
        """
        for method, tier in self._tiers.items():
            self.enable(method, per_minute=TIER_PER_MINUTE[tier] * times)
        self.enable(POSTING_METHOD, per_minute=POSTS_PER_MINUTE * times)
        self.enable_posting(window_seconds=1.0 / times)

    def disable(self) -> None:
        self._limits.clear()
        self._posting = None
        self._windows.clear()

    def admit(self, method: str, team_id: str, app_id: str, args: Json) -> int | None:
        """None when the call may pass, which counts it; else the whole seconds of Retry-After."""
        gates: list[tuple[deque[float], _Limit]] = []
        if (limit := self._limits.get(method)) is not None:
            gates.append((self._windows[method, team_id, app_id], limit))
        if method == POSTING_METHOD and self._posting is not None:
            key = (method, team_id, app_id, str(args.get("channel")))
            gates.append((self._windows[key], self._posting))
        now = self._clock.now()
        waits = [wait for window, limit in gates if (wait := _wait(window, limit, now)) is not None]
        if waits:
            self.rejected += 1
            self.rejected_methods[method] += 1
            return max(1, math.ceil(max(waits)))
        for window, _ in gates:
            window.append(now)
        return None


def _wait(window: deque[float], limit: _Limit, now: float) -> float | None:
    while window and window[0] <= now - limit.window_seconds:
        window.popleft()
    if len(window) < limit.calls:
        return None
    return window[0] + limit.window_seconds - now
