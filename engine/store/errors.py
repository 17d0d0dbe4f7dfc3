"""What can go wrong in the store. Expected outcomes of commands are values, never errors.

StoreError
├── StoreUnavailable      nothing was applied, or all of it was; asking again may succeed
├── StoreRefused          the database refused a statement: a fault of ours, asking again fails
├── WriteMissed           a write found other rows than its decision did; all was rolled back
├── SecretKeyMissing      a secret is to be stored, but there is no key to seal it with
├── SecretKeyUnknown      a stored secret was sealed by a key that is not set any more
├── SealBroken            a stored secret was damaged, or moved to where it does not belong
├── DatabaseUnavailable   no database answered while starting
└── MigrationFailed       the schema is not what this program needs
"""

from config.address import masked_address


class StoreError(Exception):
    """The store failed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").partition("\n")[0])


class StoreUnavailable(StoreError):
    """The database is out of reach or overtaxed.

    Never half applied: either nothing happened or, when the connection broke during the commit,
    everything. Commands with a source key or a fence can be sent again safely.
    """


class StoreRefused(StoreError):
    """The database refused a statement."""


class WriteMissed(StoreError):
    """A write did not find what its decision was made from; nothing was changed."""

    def __init__(self, write: str) -> None:
        super().__init__(f"{write} did not find what its decision was made from")
        self.write = write


class SecretKeyMissing(StoreError):
    """No secret key is set, so no secret can be stored; set THREADWRIGHT_SECRET_KEY on every replica."""


class SecretKeyUnknown(StoreError):
    """A stored secret was sealed by a key that is not set. `key_id` tells which one is wanted."""

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"it was sealed by the secret key {key_id}, which is not set; set that key as "
            "THREADWRIGHT_SECRET_KEY or THREADWRIGHT_SECRET_KEY_PREVIOUS, or store the secret anew"
        )
        self.key_id = key_id


class SealBroken(StoreError):
    """A stored secret was damaged, or does not belong where it stands; store it anew."""


class DatabaseUnavailable(StoreError):
    """No database answered. `url` never shows the password."""

    def __init__(self, url: str, *, reason: str, hint: str) -> None:
        self.url = masked_address(url)
        self.hint = hint
        super().__init__(f"no database at {self.url}: {reason}. {hint}")


class MigrationFailed(StoreError):
    """A migration could not be applied; the schema is as it was before that migration."""

    def __init__(self, migration: str, *, reason: str) -> None:
        super().__init__(f"migration {migration}: {reason}")
        self.migration = migration
        self.reason = reason
