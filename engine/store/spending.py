"""Whether somebody may spend more: asked before a message is taken, and never of a worker.

An organization without limits costs no statement: who has any is kept in memory, by the configuration's
version. Where one has, a check is one statement. What is spent is known when a call has ended, so messages
that are taken at the same time may together exceed a limit; the next one is refused.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from engine.chat.commands import (
    Command,
    CreateChat,
    EditMessage,
    RequestCompaction,
    SendMessage,
    ThreadBinding,
)
from engine.chat.content import Author
from engine.chat.decision import LimitReached
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, OrganizationId
from engine.chat.spending import (
    Account,
    LimitSource,
    Period,
    SpendPolicy,
    Standing,
    limit_reached,
    personal_limit,
)
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import StoreRefused
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import encode_optional_text

logger = logging.getLogger(__name__)

CHATS_MAX: Final = 10_000
"""Chats of unlimited organizations that are remembered as such."""
_ALL_SUMS: Final = True
_SUMS_WHERE_LIMITED: Final = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendStatus:
    """How somebody stands, and why they have the limit that they have."""

    enabled: bool
    source: LimitSource
    standing: Standing


class Spending:
    """Checks limits. Methods raise StoreUnavailable when the database is out of reach.

    `clock` replaces the database's time.
    """

    def __init__(
        self,
        pool: Pool,
        configuration: ConfigurationVersion,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._pool = pool
        self._configuration = configuration
        self._clock = clock
        self._limited: frozenset[OrganizationId] = frozenset()
        self._version: int | None = None
        self._organizations: OrderedDict[ChatId, OrganizationId] = OrderedDict()

    async def check_create(self, command: CreateChat) -> LimitReached | None:
        """The limit that a new chat meets.

        None as well for a thread, or an id, that has its chat already, and when it cannot be found out.
        """
        try:
            if command.organization_id not in await self._limited_organizations():
                return None
            row = await self._pool.fetch_one(
                query("spending.check_place"),
                self._now(),
                _identity_of(command.author),
                command.organization_id,
                encode_optional_text(_channel_of(command.binding)),
                _SUMS_WHERE_LIMITED,
            )
        except StoreRefused as fault:
            _warn(fault)
            return None
        reached = None if row is None else _reached(row, command.author)
        return None if reached is None or await self._is_there(command) else reached

    async def check_submit(self, chat_id: ChatId, command: Command) -> LimitReached | None:
        """The limit that a command to a chat meets: only what asks a model anew can meet one.

        None as well for a message that is stored already, and when it cannot be found out.
        """
        match command:
            case SendMessage():
                return await self.check_chat(chat_id, command.author, command.source_key)
            case EditMessage():
                return await self.check_chat(chat_id, command.author)
            case RequestCompaction():
                return await self.check_chat(chat_id, command.by)
            case _:
                return None

    async def check_chat(
        self, chat_id: ChatId, author: Author | None, source_key: str | None = None
    ) -> LimitReached | None:
        """The limit that somebody meets who asks something of a model in a chat."""
        try:
            limited = await self._limited_organizations()
            if not limited or self._is_unlimited(chat_id, limited):
                return None
            row = await self._pool.fetch_one(
                query("spending.check_chat"),
                self._now(),
                _identity_of(author),
                chat_id,
                encode_optional_text(source_key),
            )
        except StoreRefused as fault:
            _warn(fault)
            return None
        if row is None or row["source_seen"]:
            return None
        self._remember(chat_id, row["organization_id"])
        return _reached(row, author)

    async def status(
        self,
        identity: str | None = None,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        channel: str | None = None,
    ) -> SpendStatus:
        """How a person, a channel and the organization stand in the present period."""
        row = await self._pool.fetch_one(
            query("spending.check_place"),
            self._now(),
            encode_optional_text(identity),
            organization_id,
            encode_optional_text(channel),
            _ALL_SUMS,
        )
        return _status_of(row, has_person=identity is not None)

    async def _is_there(self, command: CreateChat) -> bool:
        """Whether nothing would be created anyway, since it was before."""
        binding = command.binding
        thread = (
            (None,) * 4
            if binding is None
            else (binding.platform, binding.installation, binding.channel, binding.thread)
        )
        found = query("chat_machine.find_created")
        return await self._pool.fetch_one(found, command.chat_id, *thread) is not None

    async def _limited_organizations(self) -> frozenset[OrganizationId]:
        version = await self._configuration.current()
        if version != self._version:
            rows = await self._pool.fetch(query("spending.limited_organizations"))
            self._limited = frozenset(OrganizationId(row["organization_id"]) for row in rows)
            self._version = version
        return self._limited

    def _is_unlimited(self, chat_id: ChatId, limited: frozenset[OrganizationId]) -> bool:
        organization_id = self._organizations.get(chat_id)
        return organization_id is not None and organization_id not in limited

    def _remember(self, chat_id: ChatId, organization_id: OrganizationId) -> None:
        """A chat never changes its organization."""
        self._organizations[chat_id] = organization_id
        if len(self._organizations) > CHATS_MAX:
            self._organizations.popitem(last=False)

    def _now(self) -> datetime | None:
        return self._clock() if self._clock else None


def _reached(row: Row, author: Author | None) -> LimitReached | None:
    return limit_reached(_status_of(row, has_person=author is not None).standing)


def _status_of(row: Row, *, has_person: bool) -> SpendStatus:
    policy = SpendPolicy(
        enabled=row["enabled"],
        period=Period(row["period"]),
        default_limit_micros=row["default_limit_micros"],
        organization_limit_micros=row["organization_limit_micros"],
    )
    personal = personal_limit(
        policy, override=row["override_micros"], of_groups=row["group_limits"]
    )
    channel_limit = row["channel_limit_micros"]
    standing = Standing(
        now=row["now"],
        period=policy.period,
        person=_account(row["person_spent"], personal.limit_micros) if has_person else None,
        channel=None
        if row["channel"] is None
        else _account(row["channel_spent"], channel_limit if policy.enabled else None),
        organization=_account(
            row["organization_spent"], policy.organization_limit_micros if policy.enabled else None
        ),
    )
    return SpendStatus(enabled=policy.enabled, source=personal.source, standing=standing)


def _account(spent_micros: int | None, limit_micros: int | None) -> Account:
    return Account(spent_micros=spent_micros or 0, limit_micros=limit_micros)


def _identity_of(author: Author | None) -> str | None:
    return encode_optional_text(None if author is None else author.identity)


def _channel_of(binding: ThreadBinding | None) -> str | None:
    if binding is None:
        return None
    return f"{binding.platform}:{binding.installation}:{binding.channel}"


def _warn(fault: StoreRefused) -> None:
    """Nobody is kept from working because a limit could not be looked up."""
    extra = {"action": "limits_not_checked", "error": str(fault)}
    logger.warning("limits not checked", extra=extra)
