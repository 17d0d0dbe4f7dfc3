"""What people have open on a platform beside the conversation with an agent, as the platform tells it."""

from typing import Final

from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_text, encode_text

LOOK_SECONDS: Final = 3600.0
"""How long it counts: after an hour somebody has probably gone on without the platform saying so."""


class Looks:
    """Keeps the newest of each conversation. Methods raise StoreUnavailable without a database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, platform: str, installation: str, channel: str, looks_at: str) -> None:
        """Note what is looked at by whoever talks in this channel."""
        await self._pool.execute(
            query("looks.put"), platform, installation, channel, encode_text(looks_at)
        )

    async def find(self, platform: str, installation: str, channel: str) -> str | None:
        """What was looked at lately; None: nothing is known."""
        row = await self._pool.fetch_one(
            query("looks.find"), platform, installation, channel, LOOK_SECONDS
        )
        return None if row is None else decode_text(row["looks_at"])
