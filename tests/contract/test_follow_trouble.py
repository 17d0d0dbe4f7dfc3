"""Following when hints are lost, leases run out, and the database or Redis is away."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.chat.snapshot import ChatStatus
from engine.chat.view import ShownStatus
from engine.stream.events import (
    MessageEvent,
    PartEvent,
)
from tests.fakes.redis import RedisServer
from tests.unit.engine.stream.committed import CommittedChat, CommittedChats
from tests.unit.engine.stream.house import RELAYS, House, open_house, say
from tests.unit.engine.stream.relays import (
    cut_subscribers,
    redis_relay,
    replicas,
    stream_loop,
    until,
    watching,
)


@pytest.fixture(params=RELAYS)
async def house(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[House]:
    async with open_house(request.param, redis_url) as opened:
        yield opened


async def test_after_things_settle_there_is_no_live_duplicate(house: House) -> None:
    """E28: a subscriber gets a snapshot and no live duplicate within 200 ms."""
    writer = house.run_turn("Is the harbour open?")
    say(writer, "Yes.")
    house.finish_turn(writer, "Yes.")
    async with house.watch() as watched:
        await watched.take()
        await house.loop.poll()
        try:
            async with asyncio.timeout(0.2):
                while True:
                    await watched.follower.wait_for_news()
                    assert await watched.take() == ()
        except TimeoutError:
            pass
    assert watched.texts == ["Is the harbour open?", "Yes."]
    assert not watched.told(PartEvent)


async def test_lost_hints_are_found_by_polling(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        house.chat.commit(say="Yes.", status=ChatStatus.WAITING)
        await house.loop.poll()
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert watched.texts == ["Is the harbour open?", "Yes."]


async def test_a_lease_that_runs_out_is_shown_as_pending(house: House) -> None:
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbour open?")
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
        held = house.chat.change()
        house.chat.lease_live = False
        await house.loop.poll()
        await watched.until(lambda live: live.status is ShownStatus.PENDING)
        house.publish(held)
        await house.loop.poll()
        assert await watched.take() == ()
        writer.close()


async def test_parts_of_an_episode_without_a_hint_wait_for_what_came_before(house: House) -> None:
    """Bug 9 of the reference: a client saw running but no parts."""
    async with house.watch() as watched:
        house.chat.commit(status=ChatStatus.WAITING)
        await watched.take()
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        house.chat.commit(lease_live=True, next_attempt=True)
        writer = house.near.open_episode(house.chat.chat_id, house.chat.episode)
        say(writer, "Yes")
        await watched.until(lambda live: live.preview.text == "Yes")
        kinds = [type(event) for event in watched.events]
        assert kinds.index(PartEvent) > kinds.index(MessageEvent)
        writer.close()


async def test_a_failing_read_loses_nothing(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        house.publish(house.chat.commit(lease_live=True))
        await watched.follower.wait_for_news()
        house.publish(house.chat.commit(say="Yes.", status=ChatStatus.WAITING))
        house.reader.fails = ConnectionError("the database is away")

        async def fails() -> bool:
            await watched.follower.wait_for_news()
            try:
                await watched.take()
            except ConnectionError:
                return True
            return False

        async with asyncio.timeout(5):
            while not await fails():
                pass
        house.reader.fails = None
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert watched.texts == ["Is the harbour open?", "Yes."]


async def test_a_cancelled_take_loses_nothing(house: House) -> None:
    async with house.watch() as watched, house.watch() as other:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        await other.take()
        house.reader.may_read.clear()
        house.publish(house.chat.commit(say="Yes."))
        await watched.follower.wait_for_news()
        await other.follower.wait_for_news()
        taking = asyncio.create_task(watched.take())
        waiting = asyncio.create_task(other.take())
        await until(lambda: house.reader.reads == 3 or taking.done())
        taking.cancel()
        await asyncio.wait((taking,))
        house.reader.may_read.set()
        await waiting
        await watched.until(lambda live: len(live.messages) == 2)
        await other.until(lambda live: len(live.messages) == 2)


async def test_polling_outlives_a_database_that_is_away() -> None:
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        replicas("memory", "") as (near, _),
        stream_loop(reader, near, poll_seconds=0.01) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        reader.fails = ConnectionError("the database is away")
        polls = reader.polls
        await until(lambda: reader.polls > polls + 1)
        reader.fails = None
        chat.commit(say="Yes.")
        await watched.until(lambda live: len(live.messages) == 2)


async def test_after_a_gap_the_database_is_asked_at_once(redis: RedisServer) -> None:
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        redis_relay(redis.url, "tw:") as relay,
        stream_loop(reader, relay) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        chat.commit(say="Yes.")
        cut_subscribers(redis.url)
        await watched.until(lambda live: len(live.messages) == 2)


async def test_redis_away_during_a_turn_is_only_seen_as_delay(redis: RedisServer) -> None:
    """Redis may vanish and come back: nothing is lost, doubled or out of order."""
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        redis_relay(redis.url, "tw:") as near,
        redis_relay(redis.url, "tw:") as far,
        stream_loop(reader, far, poll_seconds=0.02) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        house = House(chat=chat, reader=reader, near=near, far=far, loop=loop)
        chat.commit(status=ChatStatus.WAITING)
        await watched.take()
        writer = house.run_turn("Count.")
        say(writer, "one ")
        await watched.until(lambda live: live.preview.text == "one ")
        redis.stop()
        await until(lambda: not far.healthy)
        say(writer, "two ")
        house.finish_turn(writer, "one two ")
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        writer = house.run_turn("Go on.")
        say(writer, "three ")
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
        redis.start()
        await watched.until(lambda live: live.preview.text == "three ")
        say(writer, "four")
        await watched.until(lambda live: live.preview.text == "three four")
        house.finish_turn(writer, "three four")
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        assert watched.texts == ["Count.", "one two ", "Go on.", "three four"]
