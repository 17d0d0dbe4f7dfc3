"""The budget that all replicas share: one script in Redis, by the server's clock.

Keys of one owner (an installation) hash to one slot, so a call's gates are passed in one step on a cluster
too. What is not asked for any more expires.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from engine.budgets.bucket import Gate, may_pass, owner_of

PREFIX = "tw:budget:"
ANSWER_SECONDS = 0.5
"""How long an answer of Redis may take; people wait for it."""
CONNECTIONS_MAX = 8
REFILL_SECONDS = 60.0
"""How long a bucket is kept after a pause, lest it be full at once."""
SEEN_SECONDS = 60.0
"""How long a replica counts as one that shares after it last asked."""
LOTTERY_SECONDS = 0.1
"""Within this time after there is more, the replicas draw lots for who asks first."""

# The sums are those of `bucket`. A bucket expires when it would be full again.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local seen = KEYS[1]
redis.call('ZADD', seen, now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', seen, '-inf', now - ARGV[2])
redis.call('EXPIRE', seen, math.ceil(ARGV[2]))
local answer = {redis.call('ZCARD', seen)}
local passes = true
local levels = {}
for i = 1, #KEYS - 1 do
  local capacity = tonumber(ARGV[3 * i])
  local per_second = tonumber(ARGV[3 * i + 1])
  local kept_back = tonumber(ARGV[3 * i + 2])
  local bucket = redis.call('HMGET', KEYS[i + 1], 'tokens', 'at')
  local level, pause = capacity, 0
  if bucket[1] then
    level = math.min(capacity, bucket[1] + math.max(0, now - bucket[2]) * per_second)
    pause = math.max(0, bucket[2] - now)
  end
  levels[i] = level
  local wait = pause + math.max(0, (1 + kept_back - level) / per_second)
  if wait > 0 then passes = false end
  answer[i + 1] = string.format('%.6f', wait)
end
if passes then
  for i = 1, #KEYS - 1 do
    local key = KEYS[i + 1]
    local level = levels[i] - 1
    local refill = (tonumber(ARGV[3 * i]) - level) / tonumber(ARGV[3 * i + 1])
    redis.call('HSET', key, 'tokens', string.format('%.6f', level), 'at', string.format('%.6f', now))
    redis.call('EXPIRE', key, math.ceil(refill) + 1)
  end
end
return answer
"""
# What is not known of the bucket is as if it had just been used up.
_PAUSE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local ends = math.max(now + ARGV[1], tonumber(bucket[2]) or 0)
local level = math.min(1, tonumber(bucket[1]) or 1)
redis.call('HSET', KEYS[1], 'tokens', level, 'at', string.format('%.6f', ends))
redis.call('EXPIRE', KEYS[1], math.ceil(ends - now + ARGV[2]))
return 1
"""


class RedisBudget:
    """Asks Redis. Raises what Redis raises; see `shared_budget` for who catches it."""

    def __init__(
        self,
        url: str,
        *,
        replica: str,
        prefix: str = PREFIX,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._replica = replica
        self._prefix = prefix
        self._draw = draw
        pool = BlockingConnectionPool.from_url(
            url,
            protocol=2,
            max_connections=CONNECTIONS_MAX,
            timeout=ANSWER_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            # Whoever asks goes on without an answer.
            retry=Retry(NoBackoff(), 0),
        )
        self._client = Redis.from_pool(pool)
        self._take: Any = self._client.register_script(_TAKE)
        self._pause: Any = self._client.register_script(_PAUSE)
        self.replicas = 1

    async def take(
        self, gates: Sequence[Gate], *, keep_share: float = 0.0, waiting: int = 1
    ) -> tuple[float, ...]:
        """Pass all gates or none. Notes how many replicas have asked lately."""
        owner = owner_of(gates[0].key)
        sums = [
            part
            for gate in gates
            for part in (gate.capacity, gate.per_second, gate.kept_back(keep_share))
        ]
        answer = await self._take(
            keys=[f"{self._prefix}{owner}:seen", *(self._prefix + gate.key for gate in gates)],
            args=[self._replica, SEEN_SECONDS, *sums],
        )
        self.replicas = int(answer[0])
        waits = tuple(float(wait) for wait in answer[1:])
        if may_pass(waits) or self.replicas == 1:
            return waits
        late = self._lot(waiting)
        return tuple(wait + late if wait else 0.0 for wait in waits)

    async def pause(self, key: str, seconds: float) -> None:
        """Let nothing pass the gate for so long."""
        await self._pause(keys=[self._prefix + key], args=[seconds, REFILL_SECONDS])

    async def disconnect(self) -> None:
        """Forget connections of a server that is away."""
        await self._client.connection_pool.disconnect(inuse_connections=False)

    async def close(self) -> None:
        """Disconnect for good."""
        await self._client.aclose(close_connection_pool=True)

    def _lot(self, waiting: int) -> float:
        """The least of as many draws as calls wait here: each of them is as likely to be the first."""
        others_later: float = (1 - self._draw()) ** (1 / max(waiting, 1))
        return LOTTERY_SECONDS * (1 - others_later)
