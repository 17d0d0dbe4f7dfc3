"""Installations that a browser has begun: each comes back once, soon, and to the browser that began it.

Only hashes of the state and of the browser's secret are kept.
"""

import hashlib
import hmac
import secrets
from enum import StrEnum
from typing import Final

from engine.store.pool import Pool
from engine.store.queries import query

LIFE_SECONDS: Final = 600.0
"""How long a person may look at the platform's question."""
_SECRET_BYTES: Final = 32
_FORGET_BATCH: Final = 100


class Return(StrEnum):
    """How an installation came back."""

    FINE = "fine"
    UNKNOWN = "unknown"
    OTHER_BROWSER = "other_browser"


class InstallStates:
    """Begins installations and takes them back. Methods raise StoreUnavailable without a database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(
        self, platform: str, app: str, browser: str, *, seconds: float = LIFE_SECONDS
    ) -> str:
        """A state that comes back once within so long, to this browser. Clears old ones away."""
        state = secrets.token_urlsafe(_SECRET_BYTES)
        await self._pool.execute(
            query("installations.begin"), _hash_of(state), platform, app, _hash_of(browser), seconds
        )
        await self._pool.execute(query("installations.forget_states"), _FORGET_BATCH)
        return state

    async def take(self, platform: str, app: str, state: str, browser: str) -> Return:
        """What has come back. Whatever it is, it is used up."""
        row = await self._pool.fetch_one(
            query("installations.take_state"), _hash_of(state), platform, app
        )
        if row is None or not row["is_fresh"]:
            return Return.UNKNOWN
        if not hmac.compare_digest(row["browser"], _hash_of(browser)):
            return Return.OTHER_BROWSER
        return Return.FINE


def _hash_of(secret: str) -> bytes:
    """256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()
