"""Policies, limits and groups as administrators keep them, and reports of what was used."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from engine.chat.spending import Account, LimitSource, Period, SpendPolicy
from engine.chat.usage import UsageBy, UsageReport
from engine.store.configuration import ConfigurationVersion
from engine.store.pool import Pool
from engine.store.spend_limits import LimitSubject, PeopleGroup, SpendLimit, SpendLimits
from engine.store.spending import Spending
from engine.store.usage import Usage
from tests.store.story import sql

_RECORD = """
INSERT INTO usage_records (organization_id, chat_id, kind, identity, channel, bot, model, input_tokens,
    output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens, cost_micros, runtime_ms,
    created_at)
VALUES ('00000000-0000-4000-8000-000000000001', gen_random_uuid(), $1, $2, $3, 'wren', $4, 10, 5, 1, 2,
    3, $5, 40, $6)
"""


@pytest.fixture
def limits(pool: Pool) -> SpendLimits:
    return SpendLimits(pool, ConfigurationVersion(pool))


async def test_only_what_is_named_of_a_policy_changes(limits: SpendLimits) -> None:
    assert await limits.read_policy() is None
    await limits.change_policy(default_limit_micros=5)
    await limits.change_policy(period=Period.WEEK)
    await limits.change_policy(organization_limit_micros=9)
    wanted = SpendPolicy(period=Period.WEEK, default_limit_micros=5, organization_limit_micros=9)
    assert await limits.read_policy() == wanted
    changed = await limits.change_policy(enabled=False, default_limit_micros=None)
    assert changed == await limits.read_policy()
    assert changed == SpendPolicy(enabled=False, period=Period.WEEK, organization_limit_micros=9)


async def test_a_limit_holds_without_a_policy_having_been_made(limits: SpendLimits) -> None:
    limit = SpendLimit(scope=LimitSubject.USER, subject="slack:T1:U1", limit_micros=5)
    assert await limits.set_limit(limit)
    assert await limits.read_policy() == SpendPolicy()
    assert await limits.list_limits() == (limit,)
    assert await limits.clear_limit(LimitSubject.USER, "slack:T1:U1")
    assert not await limits.clear_limit(LimitSubject.USER, "slack:T1:U1")
    assert await limits.list_limits() == ()


async def test_a_limit_is_replaced_and_names_may_be_any_text(limits: SpendLimits) -> None:
    for micros in (5, 6):
        limit = SpendLimit(scope=LimitSubject.CHANNEL, subject="a'\x00\ue000b", limit_micros=micros)
        assert await limits.set_limit(limit)
    assert await limits.list_limits() == (limit,)


async def test_groups_have_members_and_a_limit(limits: SpendLimits) -> None:
    of_group = SpendLimit(scope=LimitSubject.GROUP, subject="crew", limit_micros=5)
    assert not await limits.set_limit(of_group), "there is no such group yet"
    await limits.add_members("crew", ["b", "a"])
    await limits.add_members("crew", ["a", "c"])
    await limits.add_members("empty", [])
    assert await limits.set_limit(of_group)
    assert await limits.list_groups() == (
        PeopleGroup(name="crew", members=("a", "b", "c"), limit_micros=5),
        PeopleGroup(name="empty", members=(), limit_micros=None),
    )
    assert await limits.remove_members("crew", ["a", "z"])
    assert not await limits.remove_members("crew", ["z"])
    assert await limits.remove_group("crew")
    assert not await limits.remove_group("crew")
    await limits.add_members("crew", ["a"])
    (crew, _) = await limits.list_groups()
    assert crew.limit_micros is None, "a group of the same name is another one"


async def test_organizations_know_nothing_of_each_other(limits: SpendLimits, pool: Pool) -> None:
    other = uuid4()
    await sql(pool, "INSERT INTO organizations (id, name) VALUES ($1, 'lighthouse')", other)
    theirs = limits.of(other)  # type: ignore[arg-type]
    await theirs.change_policy(default_limit_micros=5)
    await theirs.add_members("crew", ["a"])
    assert await limits.read_policy() is None
    assert await limits.list_groups() == ()


async def test_status_tells_what_was_spent_where_nothing_is_limited_too(pool: Pool) -> None:
    spending = Spending(pool, ConfigurationVersion(pool))
    await sql(pool, _RECORD, "step", "ada", "c", "m", 8, datetime.now(UTC))
    status = await spending.status("ada", channel="c")
    spent = Account(spent_micros=8, limit_micros=None)
    assert (status.enabled, status.source) == (False, LimitSource.DISABLED)
    assert status.standing.person == status.standing.channel == spent
    assert status.standing.organization == spent
    assert (await spending.status()).standing.person is None


# -- reports ---------------------------------------------------------------------------------------


async def record(
    pool: Pool,
    identity: str | None,
    cost: int | None,
    at: str,
    *,
    model: str = "m",
    kind: str = "step",
    channel: str | None = None,
) -> None:
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    await sql(pool, _RECORD, kind, identity, channel, model, cost, moment)


def costs(report: UsageReport) -> list[tuple[str | None, int, int | None]]:
    return [(row.key, row.calls, row.cost_micros) for row in report.rows]


async def test_usage_is_reported_by_anything(pool: Pool) -> None:
    await record(pool, "ada", 5, "2026-12-30 23:59:59", model="big", channel="slack:T1:C1")
    await record(pool, "bo", 7, "2026-12-31 00:00:00", kind="title")
    await record(pool, "ada", 4, "2026-12-31 10:00:00", channel="slack:T1:C1")
    await record(pool, None, None, "2027-01-01 00:00:00", model="free")
    usage = Usage(pool)
    found = {by: costs(await usage.report(by)) for by in UsageBy}
    assert found == {
        UsageBy.USER: [("ada", 2, 9), ("bo", 1, 7), (None, 1, None)],
        UsageBy.CHANNEL: [("slack:T1:C1", 2, 9), (None, 2, 7)],
        UsageBy.MODEL: [("m", 2, 11), ("big", 1, 5), ("free", 1, None)],
        UsageBy.DAY: [("2026-12-30", 1, 5), ("2026-12-31", 2, 11), ("2027-01-01", 1, None)],
        UsageBy.BOT: [("wren", 4, 16)],
        UsageBy.KIND: [("step", 3, 9), ("title", 1, 7)],
    }
    (row,) = (await usage.report(UsageBy.BOT)).rows
    assert (row.unpriced_calls, row.runtime_ms) == (1, 160)
    tokens = (row.input_tokens, row.output_tokens, row.reasoning_tokens)
    assert (*tokens, row.cache_read_tokens, row.cache_write_tokens) == (40, 20, 4, 8, 12)


async def test_a_report_is_of_the_time_that_is_asked_for(pool: Pool) -> None:
    for day in ("2026-12-30", "2026-12-31", "2027-01-01"):
        await record(pool, "ada", 1, day)
    since, until = datetime(2026, 12, 31, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    report = await Usage(pool).report(UsageBy.DAY, since=since, until=until)
    assert costs(report) == [("2026-12-31", 1, 1)]


async def test_a_report_that_is_too_long_says_so(pool: Pool) -> None:
    for name in ("a", "b", "c"):
        await record(pool, name, 1, "2026-12-31")
    usage = Usage(pool)
    cut, whole = [await usage.report(UsageBy.USER, rows_max=count) for count in (2, 3)]
    assert (len(cut.rows), cut.is_cut) == (2, True)
    assert (len(whole.rows), whole.is_cut) == (3, False)
