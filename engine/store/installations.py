"""Where people have installed an app of ours: who we are there, and by which sealed tokens we speak.

Theory of operation. One row per installation; its tokens have a version that rises whenever they change.
A new installation always wins and revives what had ended. Whoever renews or ends tokens names the version
that they saw, so that nobody replaces what was installed meanwhile. The platform is never waited for here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from config.secret import Secret
from engine.store.errors import StoreError
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import (
    decode_json,
    decode_optional_text,
    decode_text,
    encode_json,
    encode_optional_text,
    encode_text,
)
from engine.store.vault import Sealed, Vault

RENEW_SHARE: Final = 5 / 6
"""The share of a token's life after which a new one is asked for: of Slack's twelve hours, two before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTokens:
    """What an installation speaks by. `lives_seconds`: how long from now; None: until it is revoked."""

    token: Secret
    refresh_token: Secret | None = None
    lives_seconds: float | None = None

    @property
    def renew_seconds(self) -> float | None:
        """In how long a new token is to be asked for; None: never."""
        if self.refresh_token is None or self.lives_seconds is None:
            return None
        return self.lives_seconds * RENEW_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInstallation:
    """What the platform said when somebody installed an app."""

    platform: str
    installation: str
    app: str
    name: str
    identity: Mapping[str, Any]
    scopes: Sequence[str]
    tokens: AppTokens
    installed_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An installation as it is stored.

    `is_due`: a new token is to be asked for. `trouble`: why none can be had, in the platform's word.
    """

    platform: str
    installation: str
    app: str
    name: str
    identity: Mapping[str, Any] = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    token_version: int
    token_key_id: str
    expires_at: datetime | None
    is_expired: bool
    is_due: bool
    trouble: str | None
    installed_by: str
    installed_at: datetime
    ended_at: datetime | None
    ended_why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenInstallation:
    """An installation with its tokens."""

    installation: Installation
    token: Secret
    refresh_token: Secret | None


class Installations:
    """Keeps installations. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool, vault: Vault) -> None:
        self._pool = pool
        self._vault = vault

    async def save(self, new: NewInstallation) -> int:
        """Store it in place of an earlier one; the version of its tokens. Raises SecretKeyMissing."""
        token, refresh = self._sealed(new.platform, new.installation, new.tokens)
        row = await self._pool.fetch_one(
            query("installations.save"),
            new.platform,
            encode_text(new.installation),
            new.app,
            encode_text(new.name),
            encode_json(new.identity),
            list(new.scopes),
            *columns_of(token, refresh),
            new.tokens.lives_seconds,
            new.tokens.renew_seconds,
            encode_text(new.installed_by),
        )
        if row is None:
            raise StoreError("the installation was not stored")
        return int(row["token_version"])

    async def read(self, platform: str, installation: str) -> Installation | None:
        """An installation, whether it has ended or not."""
        row = await self._read(platform, installation)
        return None if row is None else _installation_of(row)

    async def open(self, platform: str, installation: str) -> OpenInstallation | None:
        """A living installation with its tokens. Raises SecretKeyUnknown or SealBroken."""
        row = await self._read(platform, installation)
        return None if row is None or row["ended_at"] is not None else self._opened(row)

    async def list_all(self, platform: str) -> tuple[Installation, ...]:
        """All of a platform, those that have ended last."""
        rows = await self._pool.fetch(query("installations.list_all"), platform)
        return tuple(_installation_of(row) for row in rows)

    async def due(self, platform: str, apps: Sequence[str], limit: int) -> tuple[str, ...]:
        """Installations whose token is to be renewed, longest due first."""
        rows = await self._pool.fetch(query("installations.due"), platform, list(apps), limit)
        return tuple(decode_text(row["installation"]) for row in rows)

    async def replace_tokens(self, seen: Installation, tokens: AppTokens) -> bool:
        """Store what was got for the tokens that were seen. False: they are others by now."""
        token, refresh = self._sealed(seen.platform, seen.installation, tokens)
        changed = await self._pool.execute(
            query("installations.replace_tokens"),
            seen.platform,
            encode_text(seen.installation),
            seen.token_version,
            *columns_of(token, refresh),
            tokens.lives_seconds,
            tokens.renew_seconds,
        )
        return changed == 1

    async def put_off(
        self, seen: Installation, seconds: float, *, trouble: str | None = None
    ) -> bool:
        """Renew later; the stored tokens stay. False: they are others by now."""
        changed = await self._pool.execute(
            query("installations.put_off"),
            seen.platform,
            encode_text(seen.installation),
            seen.token_version,
            seconds,
            encode_optional_text(trouble),
        )
        return changed == 1

    async def end(self, seen: Installation, why: str) -> bool:
        """It is over. False: it has ended already, or was installed anew meanwhile."""
        changed = await self._pool.execute(
            query("installations.end"),
            seen.platform,
            encode_text(seen.installation),
            seen.token_version,
            encode_text(why),
        )
        return changed == 1

    async def remove(self, platform: str, installation: str) -> bool:
        """Forget it with its tokens. False: there is none."""
        changed = await self._pool.execute(
            query("installations.remove"), platform, encode_text(installation)
        )
        return changed == 1

    async def _read(self, platform: str, installation: str) -> Row | None:
        return await self._pool.fetch_one(
            query("installations.read"), platform, encode_text(installation)
        )

    def _sealed(
        self, platform: str, installation: str, tokens: AppTokens
    ) -> tuple[Sealed, Sealed | None]:
        refresh = tokens.refresh_token
        return (
            self._vault.seal(tokens.token.reveal(), token_place(platform, installation)),
            None
            if refresh is None
            else self._vault.seal(refresh.reveal(), refresh_place(platform, installation)),
        )

    def _opened(self, row: Row) -> OpenInstallation:
        found = _installation_of(row)
        token, refresh = sealed_of(row)
        places = (found.platform, found.installation)
        return OpenInstallation(
            installation=found,
            token=Secret(self._vault.open(token, token_place(*places))),
            refresh_token=None
            if refresh is None
            else Secret(self._vault.open(refresh, refresh_place(*places))),
        )


def token_place(platform: str, installation: str) -> tuple[str, ...]:
    """Where an installation's token is sealed for."""
    return ("installations", platform, installation, "token")


def refresh_place(platform: str, installation: str) -> tuple[str, ...]:
    """Where an installation's refresh token is sealed for."""
    return ("installations", platform, installation, "refresh_token")


def sealed_of(row: Row) -> tuple[Sealed, Sealed | None]:
    """A row's tokens, sealed as they are stored."""
    refresh = row["refresh_token"]
    return (
        Sealed(data=row["token"], key_id=row["token_key_id"]),
        None if refresh is None else Sealed(data=refresh, key_id=row["refresh_token_key_id"]),
    )


def columns_of(token: Sealed, refresh: Sealed | None) -> tuple[object, ...]:
    """The columns of both tokens, in the order of the queries."""
    if refresh is None:
        return (token.data, token.key_id, None, None)
    return (token.data, token.key_id, refresh.data, refresh.key_id)


def _installation_of(row: Row) -> Installation:
    return Installation(
        platform=row["platform"],
        installation=decode_text(row["installation"]),
        app=row["app"],
        name=decode_text(row["name"]),
        identity=decode_json(row["identity"], dict[str, Any]),
        scopes=tuple(row["scopes"]),
        token_version=row["token_version"],
        token_key_id=row["token_key_id"],
        expires_at=row["expires_at"],
        is_expired=bool(row["is_expired"]),
        is_due=bool(row["is_due"]),
        trouble=decode_optional_text(row["trouble"]),
        installed_by=decode_text(row["installed_by"]),
        installed_at=row["installed_at"],
        ended_at=row["ended_at"],
        ended_why=decode_optional_text(row["ended_why"]),
    )
