"""Where one thread asks when it may make its calls: it is told, or woken when its turn has come.

A permission is good for one call, and not for long.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from adapters.delivery.call_lane import Wish
from adapters.delivery.call_times import CallTimes
from adapters.delivery.wakeup import Wakeup
from adapters.errors import RateLimited

AT_ONCE: Final = float("-inf")
LATER: Final = float("inf")
"""The answer to whoever is woken when the call may be made."""
PERMITTED_SECONDS = 2.0
"""How long a permission lasts: who stood still for longer asks again, lest all come back at once."""
OWN_BUDGET = "own_budget"
"""The code of a call that was not made since its turn did not come in time."""


class CallLine:
    """Where one thread asks. Not for several tasks at once."""

    __slots__ = (
        "_channel",
        "_held_until",
        "_installation",
        "_permits",
        "_times",
        "_wake",
        "_wishes",
    )

    def __init__(
        self, times: CallTimes, installation: str, channel: str, wake: Callable[[], None]
    ) -> None:
        self._times = times
        self._installation = installation
        self._channel = channel
        self._wake = wake
        self._wishes: dict[str, Wish] = {}
        self._permits: dict[str, float] = {}
        self._held_until: dict[str, float] = {}

    @property
    def is_permitted(self) -> bool:
        """Whether a call that was asked for may be made."""
        return bool(self._permits)

    async def ask(self, wants: Mapping[str, bool]) -> dict[str, float]:
        """From when each method may be called; LATER: `wake` will tell. Asking again is free.

        `wants` says whether somebody waits for the call, by method; what is left out is wanted no more.
        """
        for method in (self._wishes.keys() | self._permits.keys()) - wants.keys():
            self._forget(method)
        return {method: await self._ask(method, is_urgent) for method, is_urgent in wants.items()}

    def spend(self, method: str) -> None:
        """The call is made now."""
        self._permits.pop(method, None)

    def hold(self, method: str, *, until: float) -> None:
        """Do not call before then, for reasons of this thread's own."""
        self._held_until[method] = until

    async def pause(self, method: str, seconds: float) -> None:
        """The platform wants no such call for so long."""
        await self._times.pause(self._installation, self._channel, method, seconds)

    def close(self) -> None:
        """Ask for nothing more."""
        for method in list(self._wishes):
            self._forget(method)

    async def _ask(self, method: str, is_urgent: bool) -> float:  # noqa: FBT001 - see ask
        now = self._times.clock()
        held_until = self._held_until.get(method, now)
        if held_until > now:
            self._forget(method)
            return held_until
        permitted_at = self._permits.get(method)
        if permitted_at is not None and now - permitted_at < PERMITTED_SECONDS:
            return AT_ONCE
        wish = self._wishes.get(method)
        if wish is not None:
            if is_urgent and not wish.is_urgent:
                self._times.hurry(self._installation, method)
            wish.is_urgent = is_urgent
            return LATER
        if await self._times.permit_now(
            self._installation, self._channel, method, is_urgent=is_urgent
        ):
            self._permits[method] = now
            return AT_ONCE
        wish = Wish(channel=self._channel, is_urgent=is_urgent, grant=lambda: self._granted(method))
        self._wishes[method] = wish
        self._times.wish(self._installation, method, wish)
        return LATER

    def _granted(self, method: str) -> None:
        self._wishes.pop(method, None)
        self._permits[method] = self._times.clock()
        self._wake()

    def _forget(self, method: str) -> None:
        self._permits.pop(method, None)
        wish = self._wishes.pop(method, None)
        if wish is not None:
            self._times.withdraw(self._installation, method, wish)


async def permission(
    times: CallTimes,
    installation: str,
    channel: str,
    method: str,
    *,
    seconds_max: float,
    is_urgent: bool = True,
) -> None:
    """Return when the call may be made, once. Raises RateLimited if that takes too long."""
    bell = Wakeup()
    line = CallLine(times, installation, channel, wake=bell.ring)
    try:
        async with asyncio.timeout(seconds_max):
            while (await line.ask({method: is_urgent}))[method] == LATER:
                await bell.wait(None)
    except TimeoutError:
        raise RateLimited(OWN_BUDGET, retry_after_seconds=seconds_max) from None
    finally:
        line.close()
