"""Who calls: bearer tokens, the administrator's from the settings or those that were made with it."""

import hashlib
import hmac
import logging
import time
from dataclasses import dataclass
from enum import StrEnum

from adapters.http.errors import Problem, ProblemCode
from config.secret import Secret
from engine.api import Engine
from engine.chat.content import Author

log = logging.getLogger(__name__)

FAILURES_LOG_SECONDS = 10.0
"""At most one line in this time, so that guessing fills no log."""
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="threadwright"'}


class TokenRole(StrEnum):
    """What a token may do: everything, or everything but managing tokens."""

    CLIENT = "client"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request. `scope` tells apart the idempotency keys of different tokens."""

    author: Author
    scope: str
    role: TokenRole


ADMIN = Caller(
    author=Author(identity="api:admin", name="admin"), scope="api:0", role=TokenRole.ADMIN
)


class Authenticator:
    """Tells callers by their bearer token. Comparing takes the same time whatever is sent."""

    def __init__(self, engine: Engine, admin_token: Secret | None) -> None:
        self._engine = engine
        self._admin = None if admin_token is None else _digest(admin_token.reveal())
        self._failures = 0
        self._log_at = 0.0

    async def authenticate(self, authorization: str | None) -> Caller:
        """The caller. Raises Problem 401; StoreUnavailable passes through."""
        scheme, _, secret = (authorization or "").partition(" ")
        secret = secret.strip()
        if scheme.lower() != "bearer" or not secret:
            raise Problem(
                ProblemCode.UNAUTHORIZED,
                "A bearer token is required.",
                detail="Send Authorization: Bearer <token>. The administrator's token is set as "
                "THREADWRIGHT_ADMIN_TOKEN; others are made with POST /api/v1/tokens, or by "
                "`threadwright token create`.",
                headers=_CHALLENGE,
            )
        if self._admin is not None and hmac.compare_digest(_digest(secret), self._admin):
            return ADMIN
        info = await self._engine.tokens.verify_token(secret)
        if info is None:
            self._note_failure()
            sentence = "The token is not known, or it was revoked."
            raise Problem(ProblemCode.UNAUTHORIZED, sentence, headers=_CHALLENGE)
        return Caller(
            author=Author(identity=f"api:token:{info.id}", name=info.name),
            scope=f"api:{info.id}",
            role=TokenRole.ADMIN if info.role == TokenRole.ADMIN else TokenRole.CLIENT,
        )

    def _note_failure(self) -> None:
        self._failures += 1
        now = time.monotonic()
        if now < self._log_at:
            return
        extra = {"action": "auth_failed", "failures": self._failures}
        log.warning("Bearer tokens were refused.", extra=extra)
        self._failures, self._log_at = 0, now + FAILURES_LOG_SECONDS


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
