"""Checks of limits: what counts, whose limit holds, what it costs to ask, and who is never asked."""

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from engine.chat.commands import (
    CreateChat,
    EditMessage,
    EditQueuedMessage,
    Interrupt,
    PromoteQueuedMessage,
    SendMessage,
)
from engine.chat.content import Author, plain
from engine.chat.decision import LimitReached, LimitScope
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, MessageId, OrganizationId, QueuedId
from engine.chat.spending import Account, LimitSource, Period, period_start
from engine.chat.usage import UsageBy
from engine.store.chat_machine import ChatMachine
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import StoreUnavailable
from engine.store.pool import Pool, open_pool
from engine.store.spend_limits import LimitSubject, SpendLimit, SpendLimits
from engine.store.spending import Spending
from engine.store.usage import Usage
from tests.fakes.postgres import PostgresServer
from tests.store.story import ADA, BO, harbour, history, new_chat, sql, submit, waiting_chat

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
IN_CHANNEL = "slack:T1:#harbour"
_PAY = """
INSERT INTO usage_records (organization_id, chat_id, identity, channel, bot, model, cost_micros, created_at)
VALUES ($1, gen_random_uuid(), $2, $3, 'wren', 'm', $4, $5)
"""


class House:
    """A replica's checks, at a time that the test sets."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.now = NOW
        self.configuration = ConfigurationVersion(pool, seconds=3600.0)
        self.spending = Spending(pool, self.configuration, lambda: self.now)
        self.limits = SpendLimits(pool, self.configuration)

    async def pay(
        self,
        cost: int | None,
        *,
        by: Author = ADA,
        channel: str | None = None,
        at: datetime = NOW,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
    ) -> None:
        await sql(self.pool, _PAY, organization_id, by.identity, channel, cost, at)

    async def create(self, author: Author | None = ADA, **fields: object) -> LimitReached | None:
        command = CreateChat(chat_id=ChatId(uuid4()), content=plain("hi"), author=author)
        return await self.spending.check_create(replace(command, **fields))  # type: ignore[arg-type]

    async def statements(self) -> int:
        before = self.pool.statement_count
        await self.create()
        return self.pool.statement_count - before


@pytest.fixture
def house(pool: Pool) -> House:
    return House(pool)


# -- whose limit, and what counts ------------------------------------------------------------------


async def test_limit_is_reached_when_it_is_spent_and_not_before(house: House) -> None:
    await house.limits.change_policy(period=Period.DAY, default_limit_micros=100)
    assert await house.create() is None
    await house.pay(99)
    assert await house.create() is None
    await house.pay(1)
    assert await house.create() == LimitReached(
        scope=LimitScope.USER,
        spent_micros=100,
        limit_micros=100,
        resets_at=datetime(2027, 1, 2, tzinfo=UTC),
    )
    assert await house.create(BO) is None, "the default is everybody's own"
    assert await house.create(None) is None, "nobody has no limit of their own"


async def test_override_goes_before_groups_and_groups_before_the_default(house: House) -> None:
    await house.limits.change_policy(default_limit_micros=50)
    await house.limits.add_members("crew", [ADA.identity, BO.identity])
    await house.limits.add_members("pilots", [ADA.identity])
    for name, micros in (("crew", 300), ("pilots", 200)):
        limit = SpendLimit(scope=LimitSubject.GROUP, subject=name, limit_micros=micros)
        assert await house.limits.set_limit(limit)
    await house.pay(200)
    await house.pay(200, by=BO)
    reached = await house.create()
    assert reached is not None
    assert reached.limit_micros == 200, "the lowest of one's groups"
    assert await house.create(BO) is None

    own = SpendLimit(scope=LimitSubject.USER, subject=ADA.identity, limit_micros=1000)
    assert await house.limits.set_limit(own)
    assert await house.create() is None
    assert (await house.spending.status(ADA.identity)).source is LimitSource.USER
    await house.limits.clear_limit(LimitSubject.USER, ADA.identity)
    await house.limits.remove_members("pilots", [ADA.identity])
    assert await house.create() is None, "the crew's limit is higher"
    await house.limits.remove_group("crew")
    reached = await house.create(BO)
    assert reached is not None
    assert reached.limit_micros == 50


async def test_channel_and_organization_have_limits_beside_the_persons(house: House) -> None:
    await house.limits.change_policy(organization_limit_micros=500)
    of_channel = SpendLimit(scope=LimitSubject.CHANNEL, subject=IN_CHANNEL, limit_micros=100)
    await house.limits.set_limit(of_channel)
    await house.pay(100, by=BO, channel=IN_CHANNEL)
    reached = await house.create(binding=harbour())
    assert reached is not None
    assert (reached.scope, reached.spent_micros) == (LimitScope.CHANNEL, 100)
    assert await house.create() is None, "not of this channel"
    await house.pay(400, by=BO)
    reached = await house.create()
    assert reached is not None
    assert (reached.scope, reached.spent_micros) == (LimitScope.ORGANIZATION, 500)


async def test_channel_of_an_existing_chat_is_known(house: House, machine: ChatMachine) -> None:
    of_channel = SpendLimit(scope=LimitSubject.CHANNEL, subject=IN_CHANNEL, limit_micros=100)
    await house.limits.set_limit(of_channel)
    inside = await new_chat(machine, binding=harbour())
    outside = await new_chat(machine)
    await house.pay(100, by=BO, channel=IN_CHANNEL)
    message = SendMessage(content=plain("and?"), author=ADA)
    reached = await house.spending.check_submit(inside, message)
    assert reached is not None
    assert reached.scope is LimitScope.CHANNEL
    assert await house.spending.check_submit(outside, message) is None


async def test_a_new_period_begins_with_nothing_spent(house: House) -> None:
    await house.limits.change_policy(period=Period.WEEK, default_limit_micros=100)
    house.now = datetime(2027, 1, 3, 23, 59, tzinfo=UTC)
    await house.pay(100, at=datetime(2026, 12, 28, tzinfo=UTC))
    reached = await house.create()
    assert reached is not None
    house.now = reached.resets_at
    assert await house.create() is None
    await house.limits.change_policy(period=Period.MONTH)
    house.now = datetime(2026, 12, 31, tzinfo=UTC)
    assert await house.create() is not None


async def test_database_and_decisions_agree_on_when_periods_begin(house: House) -> None:
    await house.limits.change_policy(default_limit_micros=1)
    for days in range(0, 800, 13):
        moment = NOW + timedelta(days=days, hours=days % 24)
        await house.pay(1, at=moment)
    for period in Period:
        await house.limits.change_policy(period=period)
        for days in range(0, 800, 91):
            house.now = NOW + timedelta(days=days, hours=days % 24)
            begins = period_start(period, house.now)
            (row,) = await sql(
                house.pool,
                "SELECT count(*) AS count FROM usage_records WHERE created_at >= $1",
                begins,
            )
            standing = (await house.spending.status(ADA.identity)).standing
            assert standing.person == Account(spent_micros=row["count"], limit_micros=1)


async def test_what_was_not_priced_was_not_spent_and_sums_do_not_overflow(house: House) -> None:
    await house.limits.change_policy(default_limit_micros=2**63 - 1)
    await house.pay(None)
    assert await house.create() is None
    for _ in range(3):
        await house.pay(2**62)
    reached = await house.create()
    assert reached is not None
    assert reached.spent_micros == 2**63 - 1


async def test_deleted_messages_and_chats_were_paid_for(
    house: House, machine: ChatMachine, pool: Pool
) -> None:
    """E12 (store part): an answer of 7 millionths counts, whatever becomes of it."""
    house.now = datetime.now(UTC)
    await house.limits.change_policy(default_limit_micros=7)
    chat_id = await waiting_chat(machine, pool)
    assert (await house.create()) is not None
    (first, _) = await history(pool, chat_id)
    await submit(machine, chat_id, EditMessage(message_id=first.id, content=plain("again")))
    assert (await house.create()) is not None
    await sql(pool, "DELETE FROM chats WHERE id = $1", chat_id)
    assert (await house.create()) is not None
    (row,) = (await Usage(pool).report(UsageBy.USER)).rows
    assert (row.key, row.cost_micros, row.calls) == (ADA.identity, 7, 1)


# -- who is asked, and what it costs ---------------------------------------------------------------


async def test_only_messages_and_edits_can_meet_a_limit(house: House, machine: ChatMachine) -> None:
    chat_id = await new_chat(machine)
    await house.limits.change_policy(default_limit_micros=0, organization_limit_micros=0)
    for refused in (
        SendMessage(content=plain("x"), author=ADA),
        EditMessage(message_id=MessageId(1), content=plain("x"), author=ADA),
    ):
        assert await house.spending.check_submit(chat_id, refused) is not None
    for free in (
        EditQueuedMessage(queued_id=QueuedId(1), content=plain("x")),
        PromoteQueuedMessage(queued_id=QueuedId(1)),
        Interrupt(by=ADA),
    ):
        before = house.pool.statement_count
        assert await house.spending.check_submit(chat_id, free) is None
        assert house.pool.statement_count == before


async def test_what_is_stored_already_meets_no_limit(house: House, machine: ChatMachine) -> None:
    chat_id = await new_chat(machine, binding=harbour())
    queued = SendMessage(content=plain("and?"), author=ADA, source_key="2.0")
    await submit(machine, chat_id, queued)
    await house.limits.change_policy(default_limit_micros=0)
    assert await house.spending.check_submit(chat_id, queued) is None
    first = SendMessage(content=plain("hello"), author=ADA, source_key="1.0")
    assert await house.spending.check_submit(chat_id, first) is None
    assert await house.spending.check_submit(chat_id, replace(first, source_key="3.0"))
    assert await house.create(chat_id=chat_id) is None
    assert await house.create(binding=harbour()) is None
    assert await house.create(binding=harbour("2.0")) is not None


async def test_chat_that_is_not_there_meets_no_limit(house: House) -> None:
    await house.limits.change_policy(default_limit_micros=0)
    message = SendMessage(content=plain("x"), author=ADA)
    assert await house.spending.check_submit(ChatId(uuid4()), message) is None


async def test_an_organization_without_limits_costs_nothing(house: House) -> None:
    await house.create()
    assert await house.statements() == 0
    await house.limits.change_policy(period=Period.DAY)
    assert await house.statements() == 2, "the version and who has limits; a policy is no limit"
    assert await house.statements() == 0

    await house.limits.change_policy(default_limit_micros=100)
    await house.create()
    assert await house.statements() == 1

    await house.limits.change_policy(enabled=False)
    await house.create()
    assert await house.statements() == 0


async def test_limits_of_another_organization_cost_a_chat_one_statement(
    house: House, machine: ChatMachine
) -> None:
    other = OrganizationId(uuid4())
    await sql(house.pool, "INSERT INTO organizations (id, name) VALUES ($1, 'lighthouse')", other)
    await house.limits.of(other).change_policy(default_limit_micros=0)
    assert await house.create() is None
    assert await house.create(organization_id=other) is not None
    assert await house.statements() == 0
    chat_id = await new_chat(machine)
    message = SendMessage(content=plain("x"), author=ADA)
    asked = []
    for _ in range(3):
        before = house.pool.statement_count
        assert await house.spending.check_submit(chat_id, message) is None
        asked.append(house.pool.statement_count - before)
    assert asked == [1, 0, 0]
    await house.limits.change_policy(default_limit_micros=0)
    assert await house.spending.check_submit(chat_id, message) is not None


async def test_people_go_on_when_limits_cannot_be_looked_up(
    house: House, machine: ChatMachine, caplog: pytest.LogCaptureFixture
) -> None:
    chat_id = await new_chat(machine)
    await house.limits.change_policy(default_limit_micros=0)
    assert await house.create() is not None
    await sql(house.pool, "ALTER TABLE people_group_members RENAME TO gone")
    with caplog.at_level(logging.WARNING):
        assert await house.create() is None
        message = SendMessage(content=plain("x"), author=ADA)
        assert await house.spending.check_submit(chat_id, message) is None
    actions = [record.action for record in caplog.records if hasattr(record, "action")]
    assert actions == ["limits_not_checked"] * 2


async def test_a_database_that_is_away_is_said(postgres: PostgresServer, database_url: str) -> None:
    pool = await open_pool(database_url)
    house = House(pool)
    await house.limits.change_policy(default_limit_micros=100)
    assert await house.create() is None
    postgres.stop()
    with pytest.raises(StoreUnavailable):
        await house.create()
    await pool.close()
