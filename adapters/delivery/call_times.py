"""When the calls of all threads of a process may be made: those who wait are let pass one by one.

Theory of operation. Permission comes from a budget that all replicas share. Where nobody waits it is asked
for at once; otherwise the thread waits in the lane of its method and installation, which asks on behalf of
all of them and wakes whose turn it is.

When the platform has had enough of a method, it is left alone in that channel for as long as it says; told
so of further channels meanwhile, in the whole installation, since platforms count by channel here and by
installation there and do not say which. Other methods, and other installations, go on.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from adapters.contract import CallRate
from adapters.delivery.call_gates import DRAFT_KEEP_SHARE, gates_of
from adapters.delivery.call_lane import Lane, Wish
from adapters.delivery.wakeup import Wakeup
from engine.budgets.bucket import Gate, may_pass
from engine.budgets.budget import Budget
from engine.stream.cancellation import raise_if_cancelled

NOT_LIMITED = CallRate()
CHANNELS_PAUSED_MAX = 1
"""Of so many channels at a time a platform may say that they must wait before it means all of them."""
OWN_CHANNELS_PAUSED_MAX = 4
"""The same where channels have a limit of their own, which is then the likelier one."""

_LaneKey = tuple[str, str]


class CallTimes:
    """The calls of one platform. `run` serves whoever waits."""

    def __init__(
        self,
        budget: Budget,
        *,
        platform: str,
        rates: Mapping[str, CallRate],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budget = budget
        self._platform = platform
        self._rates = rates
        self.clock = clock
        self._lanes: dict[_LaneKey, Lane] = {}
        self._bells: dict[_LaneKey, Wakeup] = {}
        self._served: set[_LaneKey] = set()
        self._to_serve: asyncio.Queue[_LaneKey] = asyncio.Queue()
        self._paused: dict[_LaneKey, dict[str, float]] = {}

    async def run(self) -> None:
        """Serve until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._serve(await self._to_serve.get()))

    async def pause(self, installation: str, channel: str, method: str, seconds: float) -> None:
        """The platform wants no such call for so long. All replicas keep to it."""
        now = self.clock()
        key = (installation, method)
        whole, in_channel = self._gates(key, channel)
        paused = {c: until for c, until in self._paused.get(key, {}).items() if until > now}
        paused[channel] = max(paused.get(channel, now), now + seconds)
        self._paused[key] = paused
        await self._budget.pause(in_channel.key, seconds)
        if len(paused) > self._channels_paused_max(method):
            await self._budget.pause(whole.key, seconds)

    # -- for CallLine ----------------------------------------------------------------------------

    async def permit_now(
        self, installation: str, channel: str, method: str, *, is_urgent: bool
    ) -> bool:
        """Whether the call may be made at once, without overtaking anybody. If so, it is counted."""
        key = (installation, method)
        lane = self._lanes.get(key)
        if lane is not None and any(wish.is_urgent or not is_urgent for wish in lane.wishes):
            return False
        waits = await self._take(key, channel, is_urgent=is_urgent, waiting=1)
        return may_pass(waits)

    def wish(self, installation: str, method: str, wish: Wish) -> None:
        """Wait in the lane."""
        key = (installation, method)
        lane = self._lanes.setdefault(key, Lane())
        bell = self._bells.setdefault(key, Wakeup())
        lane.wishes[wish] = None
        if key not in self._served:
            self._served.add(key)
            self._to_serve.put_nowait(key)
        bell.ring()

    def withdraw(self, installation: str, method: str, wish: Wish) -> None:
        """Wait no more."""
        self._lanes[installation, method].wishes.pop(wish, None)
        self._bells[installation, method].ring()

    def hurry(self, installation: str, method: str) -> None:
        """Look again: a wish has become urgent."""
        self._bells[installation, method].ring()

    # -- serving ---------------------------------------------------------------------------------

    async def _serve(self, key: _LaneKey) -> None:
        """Let pass whose turn it is until nobody waits."""
        lane, bell = self._lanes[key], self._bells[key]
        while lane.wishes:
            raise_if_cancelled()
            wish = lane.first(self.clock())
            if wish is None:
                await bell.wait(lane.next_at(now := self.clock()) - now)
                continue
            waits = await self._take(
                key, wish.channel, is_urgent=wish.is_urgent, waiting=len(lane.wishes)
            )
            now = self.clock()
            if not may_pass(waits):
                lane.stopped(wish, waits, now=now)
            elif (best := lane.first_in(wish.channel, now)) is not None:
                del lane.wishes[best]
                best.grant()
        self._served.discard(key)

    async def _take(
        self, key: _LaneKey, channel: str, *, is_urgent: bool, waiting: int
    ) -> tuple[float, float]:
        whole, in_channel = await self._budget.take(
            self._gates(key, channel),
            keep_share=0.0 if is_urgent else DRAFT_KEEP_SHARE,
            waiting=waiting,
        )
        return whole, in_channel

    def _gates(self, key: _LaneKey, channel: str) -> tuple[Gate, Gate]:
        installation, method = key
        rate = self._rates.get(method, NOT_LIMITED)
        return gates_of(self._platform, installation, method, channel, rate)

    def _channels_paused_max(self, method: str) -> int:
        has_own = self._rates.get(method, NOT_LIMITED).per_channel_per_second is not None
        return OWN_CHANNELS_PAUSED_MAX if has_own else CHANNELS_PAUSED_MAX
