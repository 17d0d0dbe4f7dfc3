"""Tokens for programs that call the API. The secret is shown once; only its hash is stored."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from engine.store.errors import StoreError
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import decode_text, encode_text

PREFIX = "tw_"
"""So that people, and scanners for leaked secrets, know one when they see it."""
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInfo:
    """A token without its secret. `last_used_at` is exact to the minute."""

    id: int
    name: str
    role: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class Tokens:
    """Keeps API tokens. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create_token(self, name: str, role: str) -> tuple[int, str]:
        """A new token: its id, and its secret, which cannot be had again."""
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        row = await self._pool.fetch_one(
            query("tokens.create_token"), encode_text(name), _hash_of(secret), encode_text(role)
        )
        if row is None:
            raise StoreError("the token was not stored")
        return row["id"], secret

    async def list_tokens(self) -> tuple[TokenInfo, ...]:
        """All tokens, revoked ones too, oldest first."""
        rows = await self._pool.fetch(query("tokens.list_tokens"))
        return tuple(_info_of(row) for row in rows)

    async def revoke_token(self, token_id: int) -> bool:
        """Refuse it from now on. False: there is no such token, or it is revoked already."""
        return await self._pool.execute(query("tokens.revoke_token"), token_id) == 1

    async def verify_token(self, secret: str) -> TokenInfo | None:
        """The token with this secret, unless it is revoked."""
        row = await self._pool.fetch_one(query("tokens.verify_token"), _hash_of(secret))
        if row is None:
            return None
        if row["is_use_news"]:
            await self._pool.execute(query("tokens.note_use"), row["id"])
        return _info_of(row)


def _hash_of(secret: str) -> bytes:
    """256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def _info_of(row: Row) -> TokenInfo:
    return TokenInfo(
        id=row["id"],
        name=decode_text(row["name"]),
        role=decode_text(row["role"]),
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )
