"""A budget shared over Redis that goes on alone, with its fair part, while Redis is away.

How many shared it is remembered from the last answer; before the first there are taken to be two.
"""

import logging
import time
from collections.abc import Callable, Sequence

from redis.exceptions import RedisError

from engine.budgets.bucket import Gate
from engine.budgets.memory_budget import MemoryBudget
from engine.budgets.redis_budget import RedisBudget

log = logging.getLogger(__name__)

ALONE_SECONDS = 2.0
"""How long Redis is left alone after it has failed, so that not every call waits for it in vain."""
REPLICAS_ASSUMED = 2


class SharedBudget:
    """Redis first, else memory. See `budget.Budget`."""

    def __init__(
        self,
        redis: RedisBudget,
        *,
        clock: Callable[[], float] = time.monotonic,
        alone_seconds: float = ALONE_SECONDS,
    ) -> None:
        self._redis = redis
        self._memory = MemoryBudget(clock=clock)
        self._clock = clock
        self._alone_seconds = alone_seconds
        self._alone_until = float("-inf")
        self._holders = REPLICAS_ASSUMED
        self._is_up = True

    @property
    def is_shared(self) -> bool:
        """Whether the last answer came from Redis."""
        return self._is_up

    async def take(
        self, gates: Sequence[Gate], *, keep_share: float = 0.0, waiting: int = 1
    ) -> tuple[float, ...]:
        """Pass all gates or none; without Redis, those of this replica's part."""
        if self._clock() >= self._alone_until:
            try:
                waits = await self._redis.take(gates, keep_share=keep_share, waiting=waiting)
            except (RedisError, OSError) as error:
                await self._note_down(error)
            else:
                self._holders = self._redis.replicas
                self._note_up()
                return waits
        own = [gate.share(self._holders) for gate in gates]
        return self._memory.take_nowait(own, keep_share=keep_share)

    async def pause(self, key: str, seconds: float) -> None:
        """Let nothing pass the gate for so long: here in any case, elsewhere if Redis is there."""
        self._memory.pause_nowait(key, seconds)
        try:
            await self._redis.pause(key, seconds)
        except (RedisError, OSError) as error:
            await self._note_down(error)

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.close()

    def _note_up(self) -> None:
        if not self._is_up:
            self._is_up = True
            log.info("the budget is shared again", extra={"action": "budget_shared"})

    async def _note_down(self, error: Exception) -> None:
        self._alone_until = self._clock() + self._alone_seconds
        await self._redis.disconnect()
        if self._is_up:
            self._is_up = False
            extra = {"action": "budget_alone", "error": repr(error), "replicas": self._holders}
            log.warning("the budget is not shared while Redis is away", extra=extra)
