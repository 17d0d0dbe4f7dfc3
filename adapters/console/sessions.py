"""Signed session cookies (pure): who signed in and until when. Nothing is stored on the server.

A cookie is only good with the key it was signed with; the key follows from the secret key and the
administrator's token, so changing either ends all sessions.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

import msgspec

SESSION_SECONDS: Final = 7 * 86_400
NAME_MAX: Final = 60
_PURPOSE: Final = b"threadwright console session 1"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who signed in. `expires_at`: seconds since the epoch."""

    name: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Signs sessions and knows its own again."""

    key: bytes

    @classmethod
    def derive(cls, *secrets: str) -> "SessionKey":
        """The key that follows from these secrets."""
        together = b"".join(hashlib.sha256(secret.encode()).digest() for secret in secrets)
        return cls(hmac.digest(together, _PURPOSE, "sha256"))

    def seal(self, session: Session) -> str:
        """The session as a cookie's value."""
        payload = _encode(msgspec.json.encode(session))
        return f"{payload}.{self._signature(payload)}"

    def open(self, cookie: str, *, now: float) -> Session | None:
        """The session of a cookie; None if we did not sign it, or if it is over."""
        payload, _, signature = cookie.partition(".")
        if not cookie.isascii() or not hmac.compare_digest(signature, self._signature(payload)):
            return None
        try:
            session = msgspec.json.decode(_decode(payload), type=Session)
        except (msgspec.MsgspecError, binascii.Error, ValueError):
            return None
        return session if session.expires_at > now else None

    def _signature(self, payload: str) -> str:
        return _encode(hmac.digest(self.key, payload.encode(errors="replace"), "sha256"))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
