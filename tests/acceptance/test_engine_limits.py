"""Spend limits: what is refused, what is answered all the same, and what everybody is told."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from engine.agent.brain import Brain
from engine.api import Created, Engine, LimitSubject, SpendLimit
from engine.chat.commands import (
    BusyBehavior,
    CreateChat,
    EditMessage,
    EditQueuedMessage,
    PromoteQueuedMessage,
    RequestCompaction,
    SendMessage,
)
from engine.chat.content import Author, plain
from engine.chat.decision import Effect, LimitReached, LimitScope, Refusal, RefusalReason
from engine.chat.ids import ChatId
from engine.chat.spending import Period, period_end
from engine.chat.usage import UsageBy
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.cost import Prices
from engine.store.configuration import CHECK_SECONDS
from tests.fakes.model_server import End, FakeModel, Gate, Say
from tests.fakes.replica import ADA, BO, TestReplica, brains_of, eventually, provider_at

HUNDRED = End(usage={"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100})
"""A call that costs 100 millionths."""


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@asynccontextmanager
async def priced(database_url: str, model: FakeModel, **options: Any) -> AsyncIterator[TestReplica]:
    """A replica whose model costs a millionth for each token of input."""
    async with model_session() as session:
        brain = Brain(
            model=HttpModel(session, provider_at(model.url)),
            model_name="test-model",
            system="You are Wren.",
            prices=Prices(input=Decimal(1), output=Decimal(0)),
        )
        async with TestReplica.start(database_url, brains=brains_of(brain), **options) as replica:
            yield replica


async def spend(replica: TestReplica, model: FakeModel, **fields: Any) -> ChatId:
    """A chat of Ada's that has cost 100 millionths."""
    model.script([Say("Done."), HUNDRED])
    chat_id = await replica.chat("work", **fields)
    await replica.until(chat_id, ShownStatus.WAITING)
    return chat_id


async def create(engine: Engine, author: Author | None = ADA, **fields: Any) -> Created | Refusal:
    command = CreateChat(chat_id=ChatId(uuid4()), content=plain("hi"), author=author, **fields)
    outcome = await engine.create_chat(command)
    assert isinstance(outcome, Created | Refusal)
    return outcome


def over(outcome: object, scope: LimitScope = LimitScope.USER) -> LimitReached:
    """What is said of a limit."""
    assert isinstance(outcome, Refusal)
    assert outcome.reason is RefusalReason.USAGE_LIMIT
    assert outcome.limit is not None
    assert outcome.limit.scope is scope
    return outcome.limit


async def count(replica: TestReplica, table: str) -> int:
    async with replica.replica.pool.session() as connection:
        found: int = await connection.fetchval(f"SELECT count(*) FROM {table}")  # noqa: S608
        return found


# -- the contracts ---------------------------------------------------------------------------------


async def test_create_over_the_limit_is_refused_with_amounts_and_nothing_is_inserted(
    database_url: str, model: FakeModel
) -> None:
    """E12: 100 millionths a day, 100 spent."""
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(period=Period.DAY, default_limit_micros=100)
        await spend(wren, model)
        before = [await count(wren, table) for table in ("chats", "chat_messages")]
        today = period_end(Period.DAY, datetime.now(UTC))
        refused = await create(wren.engine)
        limit = over(refused)
        assert (limit.spent_micros, limit.limit_micros) == (100, 100)
        # The day may have ended meanwhile.
        assert limit.resets_at in (today, today + timedelta(days=1))
        assert isinstance(refused, Refusal)
        assert refused.detail == (
            "usage limit exceeded: spent $0.0001 of your $0.0001 limit, "
            f"resets at {limit.resets_at:%Y-%m-%d} 00:00 UTC"
        )
        assert [await count(wren, table) for table in ("chats", "chat_messages")] == before
        assert isinstance(await create(wren.engine, BO), Created)


async def test_what_was_queued_before_the_limit_may_be_promoted_after(
    database_url: str, model: FakeModel
) -> None:
    """E13: promoted, edited and answered; what is new is refused."""
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        model.script([Say("Half"), Gate("held"), Say(" and half."), HUNDRED])
        chat_id = await wren.chat("hello")
        await model.reached("held")
        first, second = [await wren.send(chat_id, text) for text in ("one", "two")]
        await spend_elsewhere(wren)
        over(await wren.engine.submit(chat_id, SendMessage(content=plain("x"), author=ADA)))
        assert second.queued_id is not None
        assert first.queued_id is not None
        edit = EditQueuedMessage(queued_id=first.queued_id, content=plain("ONE"))
        await wren.do(chat_id, edit)
        await wren.do(chat_id, PromoteQueuedMessage(queued_id=second.queued_id))
        await wren.until(chat_id, ShownStatus.WAITING)
        assert [text for role, text in await wren.history(chat_id) if role == "user"] == [
            "hello",
            "two",
            "ONE",
        ]
        assert await wren.queue(chat_id) == []


async def test_automatic_promotion_ignores_a_limit_reached_meanwhile(
    database_url: str, model: FakeModel
) -> None:
    """E14: "hello" is interrupted by "queued", "later queued" waits, the limit is reached elsewhere."""
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        model.script(
            [Say("Answer to"), Gate("hello")],
            [Say("To queued"), Gate("queued"), Say("."), HUNDRED],
            [Say("To later queued."), HUNDRED],
        )
        chat_id = await wren.chat("hello")
        await model.reached("hello")
        await wren.send(chat_id, "queued", busy=BusyBehavior.INTERRUPT)
        await model.reached("queued")
        await wren.send(chat_id, "later queued")
        await spend_elsewhere(wren)
        over(await create(wren.engine))
        model.release("queued")
        view = await wren.until(chat_id, lambda view: view.status is ShownStatus.WAITING)
        assert view.queue_length == 0
        assert await wren.history(chat_id) == [
            ("user", "hello"),
            ("assistant", "Answer to"),
            ("user", "queued"),
            ("assistant", "To queued."),
            ("user", "later queued"),
            ("assistant", "To later queued."),
        ]


async def test_edit_over_the_limit_is_refused_and_the_history_is_unchanged(
    database_url: str, model: FakeModel
) -> None:
    """E15"""
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        chat_id = await spend(wren, model)
        before = (await wren.messages(chat_id), await wren.stored(chat_id))
        for rerun in (True, False):
            edit = EditMessage(
                message_id=before[0][0].id, content=plain("again"), author=ADA, rerun=rerun
            )
            over(await wren.engine.submit(chat_id, edit))
        assert (await wren.messages(chat_id), await wren.stored(chat_id)) == before


async def test_nothing_else_that_asks_a_model_anew_is_done_over_the_limit(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        chat_id = await spend(wren, model)
        before = await wren.stored(chat_id)

        over(await wren.engine.submit(chat_id, RequestCompaction(by=ADA)))
        over(await wren.engine.request_title(chat_id, ADA))

        assert await wren.stored(chat_id) == before
        assert model.asides == []


# -- whose limit -----------------------------------------------------------------------------------


async def test_a_persons_limit_is_their_own_else_the_lowest_of_their_groups_else_the_default(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model) as wren:
        limits = wren.engine.limits
        await spend(wren, model)
        await limits.change_policy(default_limit_micros=100)
        assert (over(await create(wren.engine))).limit_micros == 100
        for group, micros in (("crew", 5000), ("guests", 90)):
            await limits.add_members(group, [ADA.identity])
            await limits.set_limit(
                SpendLimit(scope=LimitSubject.GROUP, subject=group, limit_micros=micros)
            )
        assert (over(await create(wren.engine))).limit_micros == 90
        await limits.set_limit(
            SpendLimit(scope=LimitSubject.USER, subject=ADA.identity, limit_micros=101)
        )
        assert isinstance(await create(wren.engine), Created)


async def test_whoever_writes_pays_in_somebody_elses_chat_too(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        chat_id = await wren.chat("hello")
        await wren.until(chat_id, ShownStatus.WAITING)
        by_bo = SendMessage(content=plain("Me too"), author=BO)
        model.script([Say("Done."), HUNDRED])
        assert isinstance((await wren.do(chat_id, by_bo)).effect, Effect)
        await wren.until(chat_id, ShownStatus.WAITING)
        over(await wren.engine.submit(chat_id, by_bo))
        await wren.send(chat_id, "Ada has something left")
        report = await wren.engine.usage.report(UsageBy.USER)
        assert (report.rows[0].key, report.rows[0].cost_micros) == (BO.identity, 100)


async def test_organization_has_a_limit_for_all(database_url: str, model: FakeModel) -> None:
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(organization_limit_micros=100)
        await spend(wren, model)
        for author in (ADA, BO, None):
            over(await create(wren.engine, author), LimitScope.ORGANIZATION)


# -- time, replicas, repetition --------------------------------------------------------------------


async def test_a_new_period_begins_with_nothing_spent(database_url: str, model: FakeModel) -> None:
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(period=Period.WEEK, default_limit_micros=100)
        await spend(wren, model)
        clock = [datetime.now(UTC)]
        later = Engine(wren.replica.pool, wren.engine.relay, clock=lambda: clock[0])
        limit = over(await create(later))
        clock[0] = limit.resets_at - timedelta(microseconds=1)
        over(await create(later))
        clock[0] = limit.resets_at
        assert isinstance(await create(later), Created)


async def test_another_replica_sees_a_change_within_its_poll(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model) as a, priced(database_url, model, works=False) as b:
        assert isinstance(await create(b.engine), Created)
        await a.engine.limits.change_policy(default_limit_micros=0)
        over(await create(a.engine))

        async def is_refused() -> bool:
            return isinstance(await create(b.engine), Refusal)

        await eventually(is_refused, seconds=CHECK_SECONDS + 1.0)
        await a.engine.limits.change_policy(default_limit_micros=None)

        async def is_taken() -> bool:
            return isinstance(await create(b.engine), Created)

        await eventually(is_taken, seconds=CHECK_SECONDS + 1.0)


async def test_a_message_that_is_sent_again_over_the_limit_is_a_duplicate(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        chat_id = await wren.chat("hello")
        await wren.until(chat_id, ShownStatus.WAITING)
        model.script([Say("Done."), HUNDRED])
        await wren.send(chat_id, "and?", source_key="2.0")
        await wren.until(chat_id, ShownStatus.WAITING)
        again = await wren.send(chat_id, "and?", source_key="2.0")
        assert again.effect is Effect.DUPLICATE
        other = SendMessage(content=plain("and?"), author=ADA, source_key="3.0")
        over(await wren.engine.submit(chat_id, other))


async def test_a_message_costs_no_further_statement_without_limits(
    database_url: str, model: FakeModel
) -> None:
    async with priced(database_url, model, works=False) as wren:
        chat_id = await wren.chat("hello")
        pool = wren.replica.pool

        async def cost(submit: Callable[[], Any]) -> int:
            """The fewest statements of some tries: others of the process ask for things too."""
            costs = []
            for _ in range(5):
                before = pool.statement_count
                await submit()
                costs.append(pool.statement_count - before)
            return min(costs)

        message = SendMessage(content=plain("and?"), author=ADA)
        plainly = await cost(lambda: wren.engine.machine.submit(chat_id, message))
        assert await cost(lambda: wren.engine.submit(chat_id, message)) == plainly
        await wren.engine.limits.change_policy(default_limit_micros=10**9)
        assert await cost(lambda: wren.engine.submit(chat_id, message)) == plainly + 1


async def spend_elsewhere(replica: TestReplica) -> None:
    """Let Ada's limit of 100 millionths be reached in another chat."""
    async with replica.replica.pool.session() as connection:
        await connection.execute(
            "INSERT INTO usage_records (organization_id, chat_id, identity, bot, cost_micros) "
            "SELECT id, gen_random_uuid(), $1, 'wren', 100 FROM organizations",
            ADA.identity,
        )
