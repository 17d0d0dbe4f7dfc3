"""Policies, limits and groups, as administrators keep them. What they change holds from the next check on."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.chat.ids import DEFAULT_ORGANIZATION, OrganizationId
from engine.chat.spending import Period, SpendPolicy
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import StoreError
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import decode_text, encode_text

LIMIT_MICROS_MAX: Final = 2**63 - 1
"""The widest number that a column holds."""


class LimitSubject(StrEnum):
    """What a limit of its own can be given to, beside everybody and the whole organization."""

    USER = "user"
    GROUP = "group"
    CHANNEL = "channel"


class Unchanged(StrEnum):
    """Says that a limit is left as it is: None would take it away."""

    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLimit:
    """The limit of one person, group or channel (`platform:installation:channel`)."""

    scope: LimitSubject
    subject: str
    limit_micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleGroup:
    """People who have a limit in common; each may spend it."""

    name: str
    members: tuple[str, ...]
    limit_micros: int | None


class SpendLimits:
    """Keeps limits. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(
        self,
        pool: Pool,
        configuration: ConfigurationVersion,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
    ) -> None:
        self._pool = pool
        self._configuration = configuration
        self._organization_id = organization_id

    def of(self, organization_id: OrganizationId) -> "SpendLimits":
        """The same for another organization."""
        return SpendLimits(self._pool, self._configuration, organization_id=organization_id)

    async def read_policy(self) -> SpendPolicy | None:
        """What holds for all. None: nothing was ever limited."""
        row = await self._pool.fetch_one(query("spend_limits.read_policy"), self._organization_id)
        return None if row is None else _policy_of(row)

    async def change_policy(
        self,
        *,
        enabled: bool | None = None,
        period: Period | None = None,
        default_limit_micros: int | Unchanged | None = Unchanged.UNCHANGED,
        organization_limit_micros: int | Unchanged | None = Unchanged.UNCHANGED,
    ) -> SpendPolicy:
        """Change what is named and leave the rest; the policy afterwards."""
        row = await self._pool.fetch_one(
            query("spend_limits.change_policy"),
            self._organization_id,
            enabled,
            period and period.value,
            *_change_of(default_limit_micros),
            *_change_of(organization_limit_micros),
        )
        self._configuration.forget()
        if row is None:
            raise StoreError("the policy was not stored")
        return _policy_of(row)

    async def list_limits(self) -> tuple[SpendLimit, ...]:
        """The limits of people, groups and channels."""
        rows = await self._pool.fetch(query("spend_limits.list_limits"), self._organization_id)
        return tuple(
            SpendLimit(
                scope=LimitSubject(row["scope"]),
                subject=decode_text(row["subject"]),
                limit_micros=row["limit_micros"],
            )
            for row in rows
        )

    async def set_limit(self, limit: SpendLimit) -> bool:
        """Set it, or replace it. False: there is no such group."""
        return await self._change("set_limit", *_key_of(limit), limit.limit_micros) > 0

    async def clear_limit(self, scope: LimitSubject, subject: str) -> bool:
        """Take it away. False: there is none."""
        return await self._change("clear_limit", scope.value, encode_text(subject)) > 0

    async def list_groups(self) -> tuple[PeopleGroup, ...]:
        """All groups with their members."""
        rows = await self._pool.fetch(query("spend_limits.list_groups"), self._organization_id)
        return tuple(
            PeopleGroup(
                name=decode_text(row["name"]),
                members=tuple(decode_text(member) for member in row["members"]),
                limit_micros=row["limit_micros"],
            )
            for row in rows
        )

    async def add_members(self, group: str, identities: Iterable[str]) -> int:
        """Put people into a group, which is made if it is not there; how many were not in it."""
        identities = dict.fromkeys(identities)
        return await self._change("add_members", encode_text(group), _stored(identities))

    async def remove_members(self, group: str, identities: Iterable[str]) -> bool:
        """Take people out of a group. False: none of them was in it."""
        return await self._change("remove_members", encode_text(group), _stored(identities)) > 0

    async def remove_group(self, group: str) -> bool:
        """Remove a group and its limit. False: there is no such group."""
        return await self._change("remove_group", encode_text(group)) > 0

    async def _change(self, name: str, *args: object) -> int:
        changed = await self._pool.execute(
            query(f"spend_limits.{name}"), self._organization_id, *args
        )
        self._configuration.forget()
        return changed


def _policy_of(row: Row) -> SpendPolicy:
    return SpendPolicy(
        enabled=row["enabled"],
        period=Period(row["period"]),
        default_limit_micros=row["default_limit_micros"],
        organization_limit_micros=row["organization_limit_micros"],
    )


def _change_of(limit: int | Unchanged | None) -> tuple[bool, int | None]:
    return (False, None) if isinstance(limit, Unchanged) else (True, limit)


def _key_of(limit: SpendLimit) -> tuple[str, str]:
    return limit.scope.value, encode_text(limit.subject)


def _stored(identities: Iterable[str]) -> list[str]:
    return [encode_text(identity) for identity in identities]
