"""Redis or Postgres goes away in the middle of replies and comes back: every reply is complete and single."""

import asyncio
import os
from collections.abc import Sequence

import pytest

from engine.store.pool import Pool
from tests.chaos.serving import serving, until_true
from tests.chaos.slack_moments import MOMENTS, reach_all, tell_stories
from tests.chaos.slack_threads import texts, until_growing, until_said_once
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer
from tests.fakes.slack_deliveries import Delivery
from tests.fakes.slack_server import FakeSlack

OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS", "10"))
"""Longer than any time-out or pause of a connection to Redis. More of it, by hand, shows the same."""


async def until_tried(deliveries: Sequence[Delivery], times: int) -> None:
    """Wait until Slack has sent each so often."""

    async def is_so() -> bool:
        return all(len(delivery.attempts) >= times for delivery in deliveries)

    await until_true(is_so)


async def test_redis_may_be_away_for_long(
    slack: FakeSlack, model: FakeModel, database_url: str, redis: RedisServer, pool: Pool
) -> None:
    """D3: one replica works, another delivers, so that all live text goes by Redis."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One,"), Gate("away"), Say(" two,"), Gate("back"), Say(" three.")])
    async with serving(slack, model, database_url, redis.url) as house:
        await house.start(roles=("worker",))
        await house.start(roles=("slack",))
        root = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, root, "One,")
        ended = asyncio.get_running_loop().time() + OUTAGE_SECONDS
        redis.stop()
        model.release("away")
        other = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: texts(slack, harbour, other) == ["All right."])
        await asyncio.sleep(ended - asyncio.get_running_loop().time())
        redis.start()
        await until_growing(slack, harbour, root, "One, two,")
        model.release("back")
        await until_said_once(slack, pool, harbour, root, ["One, two, three."])
        await until_said_once(slack, pool, harbour, other, ["All right."])


async def test_redis_may_forget_everything(
    slack: FakeSlack, model: FakeModel, database_url: str, redis: RedisServer, pool: Pool
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One,"), Gate("gone"), Say(" two.")])
    async with serving(slack, model, database_url, redis.url) as house:
        await house.start(roles=("worker",))
        await house.start(roles=("slack",))
        root = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, root, "One,")
        redis.restart()
        model.release("gone")
        await until_said_once(slack, pool, harbour, root, ["One, two."])


@pytest.mark.parametrize("crash", [False, True], ids=["fast", "crash"])
async def test_postgres_may_be_restarted_at_any_moment_of_a_reply(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis_url: str,
    pool: Pool,
    *,
    postgres: PostgresServer,
    crash: bool,
) -> None:
    """D3: with two replicas, and calls to Slack that come back when the database is there again."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tell_stories(model, MOMENTS)
    async with serving(slack, model, database_url, redis_url) as house:
        await house.start()
        await house.start()
        threads = await reach_all(slack, model, harbour, ada)
        postgres.restart(crash=crash)
        for thread in threads:
            thread.fault.release()
            model.release(f"{thread.moment.name}/2")
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)


async def test_everything_may_be_restarted_but_the_replicas(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis: RedisServer,
    pool: Pool,
    *,
    postgres: PostgresServer,
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One,"), Gate("gone"), Say(" two.")])
    # A crash empties the table of heartbeats, so the other replica may find the chat before its holder.
    model.default = (Say("One, two."),)
    async with serving(slack, model, database_url, redis.url) as house:
        await house.start()
        await house.start()
        root = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, root, "One,")
        redis.stop()
        postgres.stop(crash=True)
        slack.sockets.drop()
        model.release("gone")
        postgres.start()
        redis.start()
        await until_said_once(slack, pool, harbour, root, ["One, two."])
        await ada.say(harbour, "and?", thread_ts=root.ts)
        await until_said_once(slack, pool, harbour, root, ["One, two.", "One, two."])


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_what_is_said_while_postgres_is_away_is_heard_afterwards(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis_url: str,
    pool: Pool,
    *,
    postgres: PostgresServer,
    over_http: bool,
) -> None:
    """D1: by another replica, too, when the one that could not store it has died meanwhile."""
    slack.http.retry_delays_seconds = (0.2,) * 200
    slack.sockets.retry_delays_seconds = (0.2,) * 200
    slack.sockets.ack_timeout_seconds = 0.3
    ada, harbour, lighthouse = (
        slack.user("Ada"),
        slack.channel("harbour"),
        slack.channel("lighthouse"),
    )
    async with serving(slack, model, database_url, redis_url, over_http=over_http) as house:
        first = await house.start()
        if over_http:
            slack.use_http(f"{first.url}/slack/events")
        postgres.stop()
        root = await ada.say(harbour, "<@BOT> hi")
        await until_tried(slack.deliveries, 2)
        assert not any(delivery.is_acked for delivery in slack.deliveries)
        if over_http:
            assert {a.status for d in slack.deliveries for a in d.attempts} <= {503, None}
        postgres.start()
        await until_said_once(slack, pool, harbour, root, ["All right."])
        postgres.stop()
        other = await ada.say(lighthouse, "<@BOT> hi")
        lost = slack.deliveries[-2:]
        await until_tried(lost, 1)
        await first.kill()
        postgres.start()
        await house.start(THREADWRIGHT_PORT=first.url.rpartition(":")[2])
        await until_said_once(slack, pool, lighthouse, other, ["All right."])
        await slack.wait_until_settled()
    assert all(delivery.is_acked for delivery in slack.deliveries)
    assert len(model.streamed) == 2
