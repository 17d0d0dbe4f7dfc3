"""Seals secrets before they are stored, and opens them again: AES-256-GCM, bound to their place.

The key is derived from the secret text of the settings. What is sealed carries the id of its key beside
it and opens only for the very row and column that it was sealed for, so nobody who can write to the
database can swap one secret for another. A former key opens, and never seals.
"""

import json
import os
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from config.secret import Secret
from engine.store.errors import SealBroken, SecretKeyMissing, SecretKeyUnknown

_SALT: Final = b"threadwright"
_FORM: Final = b"\x01"
"""The first byte of everything sealed, so that another form may follow one day."""
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A sealed text, and the id of the key that opens it."""

    data: bytes
    key_id: str


class Vault:
    """Seals with one key and opens with up to two. Without a key it does neither."""

    def __init__(self, key: Secret | None = None, previous: Secret | None = None) -> None:
        """`previous`: the key before, as long as something is still sealed by it."""
        self._key_id = None if key is None else _id_of(key)
        self._ciphers = {
            _id_of(each): AESGCM(_derived(each, b"sealing", _KEY_BYTES))
            for each in (previous, key)
            if each is not None
        }

    @property
    def key_id(self) -> str | None:
        """The id of the key that seals; None: there is none."""
        return self._key_id

    def knows(self, key_id: str) -> bool:
        """Whether the key with this id is one of today's, so that what it sealed can be opened."""
        return key_id in self._ciphers

    def seal(self, text: str, context: tuple[str, ...]) -> Sealed:
        """Seal a text for its place: table, row, column. Raises SecretKeyMissing."""
        if self._key_id is None:
            raise SecretKeyMissing
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._key_id].encrypt(nonce, text.encode(), _bound_to(context))
        return Sealed(data=_FORM + nonce + sealed, key_id=self._key_id)

    def open(self, sealed: Sealed, context: tuple[str, ...]) -> str:
        """The text that was sealed for this place. Raises SecretKeyUnknown or SealBroken."""
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise SecretKeyUnknown(sealed.key_id)
        form, rest = sealed.data[:1], sealed.data[1:]
        if form != _FORM:
            raise SealBroken
        try:
            text = cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], _bound_to(context))
        except (InvalidTag, ValueError) as error:
            raise SealBroken from error
        return text.decode()


def _id_of(key: Secret) -> str:
    """Tells keys apart and says nothing of them: derived as the key itself is, for another use."""
    return _derived(key, b"key id", _ID_BYTES).hex()


def _derived(key: Secret, use: bytes, size: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=size, salt=_SALT, info=use).derive(
        key.reveal().strip().encode()
    )


def _bound_to(context: tuple[str, ...]) -> bytes:
    """No two places are spelled alike, whatever characters their names hold."""
    return json.dumps(context).encode()
