"""A replica dies between hearing of a message and having dealt with it: the message counts once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.store.pool import Pool
from tests.chaos.serving import serving, until_true
from tests.chaos.slack_threads import until_said_once
from tests.fakes.model_server import FakeModel, Say
from tests.fakes.slack_server import FakeSlack

_STUCK = """
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1
"""
_FORGET_THE_DEAD = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
_UNDER_WAY = "SELECT count(*) FROM inbox WHERE state = 'processing'"
_HEARD = "SELECT count(*) FROM inbox"
_CHATS = "SELECT count(*) FROM chats"
_SAID_BY_PEOPLE = "SELECT count(*) FROM chat_messages WHERE role = 'user'"


@asynccontextmanager
async def stuck_at(pool: Pool, table: str) -> AsyncIterator[Any]:
    """Nobody can write this table, in the block: who tries waits there."""
    async with pool.session() as connection:
        await connection.execute("BEGIN")
        try:
            await connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            yield
        finally:
            await connection.execute("ROLLBACK")


async def until_stuck(pool: Pool, statement: str) -> None:
    """Wait until somebody waits for a lock with a statement that begins like this."""

    async def is_stuck() -> bool:
        async with pool.session() as connection:
            return bool(await connection.fetchval(_STUCK, f"%{statement}%"))

    await until_true(is_stuck)


async def forget_the_dead(pool: Pool) -> None:
    """Have the database see that whoever waited is gone, before it gets what it waited for."""
    async with pool.session() as connection:
        await connection.execute(_FORGET_THE_DEAD)


async def count(pool: Pool, statement: str) -> int:
    """What a statement counts."""
    async with pool.session() as connection:
        return int(await connection.fetchval(statement))


async def test_a_message_whose_command_was_under_way_is_taken_up_by_another_replica(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """E57, D2: killed between the inbox and the command."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        async with stuck_at(pool, "chats"):
            root = await ada.say(harbour, "<@BOT> hi")
            await slack.wait_until_settled()
            await until_stuck(pool, "INSERT INTO chats")
            await first.kill()
            await forget_the_dead(pool)
        assert await count(pool, _CHATS) == 0
        await house.start()
        await until_said_once(slack, pool, harbour, root, ["All right."])
    assert await count(pool, _HEARD) == 1
    assert len(model.streamed) == 1


async def test_a_message_whose_command_was_done_but_not_noted_is_not_done_again(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """E57, D2: killed between the command and the note that it is done."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        async with stuck_at(pool, "chats"):
            root = await ada.say(harbour, "<@BOT> hi")
            await slack.wait_until_settled()
            await until_stuck(pool, "INSERT INTO chats")
            inbox = stuck_at(pool, "inbox")
            await inbox.__aenter__()
        await until_stuck(pool, "UPDATE inbox SET state = 'done'")
        await first.kill()
        await forget_the_dead(pool)
        await inbox.__aexit__(None, None, None)
        assert await count(pool, _UNDER_WAY) == 1
        await house.start()
        await until_said_once(slack, pool, harbour, root, ["All right."])
    assert await count(pool, _SAID_BY_PEOPLE) == 1


@pytest.mark.parametrize("is_stored", [False, True], ids=["lost", "stored"])
@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_a_message_that_was_not_acknowledged_is_sent_again_and_counts_once(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis_url: str,
    pool: Pool,
    *,
    over_http: bool,
    is_stored: bool,
) -> None:
    """D1, D2: killed before the acknowledgement, before or after the event was stored."""
    slack.http.retry_delays_seconds = (0.2,) * 100
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, redis_url, over_http=over_http) as house:
        first = await house.start()
        if over_http:
            slack.use_http(f"{first.url}/slack/events")
        async with stuck_at(pool, "inbox"):
            root = await ada.say(harbour, "<@BOT> hi")
            await until_stuck(pool, "INSERT INTO inbox")
            await first.kill()
            if not is_stored:
                await forget_the_dead(pool)
        assert not any(delivery.is_acked for delivery in slack.deliveries)
        await house.start(THREADWRIGHT_PORT=first.url.rpartition(":")[2])
        await slack.wait_until_settled()
        assert all(delivery.is_acked for delivery in slack.deliveries)
        await until_said_once(slack, pool, harbour, root, ["All right."])
    assert await count(pool, _HEARD) == 1
    assert len(model.streamed) == 1


async def test_what_comes_again_to_other_replicas_and_under_other_names_counts_once(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Once.")], [Say("Twice.")])
    async with serving(slack, model, database_url, redis_url) as house:
        first, second = await asyncio.gather(house.start(waits=False), house.start(waits=False))
        await slack.wait_until(lambda: slack.sockets.count == 2)
        root = await ada.say(harbour, "<@BOT> hi")
        twins = list(slack.deliveries)
        for delivery in twins * 4:
            await slack.replay(delivery)
            await slack.replay(delivery, with_new_event_id=True)
        await until_said_once(slack, pool, harbour, root, ["Once."])
        await first.kill()
        for delivery in twins * 2:
            await slack.replay(delivery, with_new_event_id=True)
        await second.kill()
        await house.start()
        await slack.wait_until_settled()
        # A later message proves that everything before it was dealt with.
        await ada.say(harbour, "and?", thread_ts=root.ts)
        await until_said_once(slack, pool, harbour, root, ["Once.", "Twice."])
    assert len(model.streamed) == 2
