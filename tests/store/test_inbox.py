"""The inbox: stored once, worked on in the order of each thread, never lost, never in the way."""

import asyncio
from collections import defaultdict
from typing import Any
from uuid import UUID, uuid4

import pytest

from engine.store.errors import StoreUnavailable
from engine.store.inbox import AfterFailure, ClaimedEvent, Inbox, InboxEvent, Received, Twin
from engine.store.pool import Pool
from tests.fakes.postgres import PostgresServer
from tests.store.story import sql

SECONDS = 30.0
OWNER = uuid4()


def event(key: str, thread: str = "#harbour/1.0", **changed: Any) -> InboxEvent:
    fields: dict[str, Any] = {
        "platform": "slack",
        "installation": "T1",
        "event_key": key,
        "thread_key": thread,
        "kind": "message",
        "payload": {"text": key},
    }
    return InboxEvent(**fields | changed)


@pytest.fixture
def inbox(pool: Pool) -> Inbox:
    return Inbox(pool, attempts_max=3)


async def claim(inbox: Inbox, limit: int = 10, owner: UUID = OWNER) -> list[ClaimedEvent]:
    return list(await inbox.claim(["slack"], owner, limit, SECONDS))


async def keys(inbox: Inbox) -> list[str]:
    return [claimed.event.event_key for claimed in await claim(inbox)]


async def test_claimed_event_is_what_came_in(inbox: Inbox) -> None:
    came = event("Ev1", message_key="m1", payload={"text": "NUL \x00", "\x00": "\\u0000"})
    received = await inbox.receive(came)

    (claimed,) = await claim(inbox)

    assert received == Received(id=claimed.id, is_new=True)
    assert (claimed.event, claimed.twin, claimed.attempts) == (came, None, 1)


async def test_same_event_ten_times_is_one(inbox: Inbox) -> None:
    """D2"""
    received = await asyncio.gather(*(inbox.receive(event("Ev1")) for _ in range(10)))

    assert sorted(one.is_new for one in received) == [False] * 9 + [True]
    assert len({one.id for one in received}) == 1
    (claimed,) = await claim(inbox)
    assert claimed.twin is None


async def test_message_under_ten_event_ids_is_one(inbox: Inbox) -> None:
    """D2"""
    received = await asyncio.gather(
        *(inbox.receive(event(f"Ev{n}", message_key="m1")) for n in range(10))
    )

    assert sorted(one.is_new for one in received) == [False] * 9 + [True]
    assert len({one.id for one in received}) == 1
    assert len(await claim(inbox)) == 1


async def test_twin_is_kept_beside_the_event_that_waits(inbox: Inbox) -> None:
    """D2"""
    await inbox.receive(event("Ev1", message_key="m1"))
    mention = event("Ev2", message_key="m1", kind="app_mention", payload={"mentioned": True})

    assert not (await inbox.receive(mention)).is_new
    await inbox.receive(event("Ev1", message_key="m1"))

    (claimed,) = await claim(inbox)
    assert claimed.twin == Twin(kind="app_mention", payload={"mentioned": True})


async def test_repetition_after_the_work_is_done_is_recognised(inbox: Inbox) -> None:
    """D2"""
    await inbox.receive(event("Ev1", message_key="m1"))
    (claimed,) = await claim(inbox)
    await inbox.finish(claimed.id)

    for again in (event("Ev1", message_key="m1"), event("Ev2", message_key="m1")):
        assert not (await inbox.receive(again)).is_new

    assert await claim(inbox) == []


async def test_same_key_elsewhere_is_another_event(inbox: Inbox) -> None:
    elsewhere = (event("d1"), event("d1", installation="T2"), event("d1", platform="webhook"))

    received = [await inbox.receive(one) for one in elsewhere]

    assert all(one.is_new for one in received)


async def test_events_of_one_thread_come_one_by_one_in_order(inbox: Inbox) -> None:
    """D12"""
    for key in ("a1", "a2", "a3"):
        await inbox.receive(event(key, "a"))
    await inbox.receive(event("b1", "b"))

    (a1, b1) = await claim(inbox)
    assert (a1.event.event_key, b1.event.event_key) == ("a1", "b1")
    assert await claim(inbox) == []
    await inbox.finish(a1.id, OWNER)
    assert await keys(inbox) == ["a2"]


async def test_eight_workers_keep_the_order_of_every_thread(inbox: Inbox) -> None:
    """D12: while two receivers store."""
    threads = [f"thread {n}" for n in range(6)]
    handled: dict[str, list[str]] = defaultdict(list)
    busy: set[str] = set()
    total = 10 * len(threads)

    async def receive(some: list[str]) -> None:
        for n in range(10):
            for thread in some:
                await inbox.receive(event(f"{thread} {n:02}", thread))

    async def work() -> None:
        owner = uuid4()
        while sum(map(len, handled.values())) < total:
            for claimed in await claim(inbox, 2, owner):
                thread = claimed.event.thread_key
                assert thread not in busy
                busy.add(thread)
                await asyncio.sleep(0)
                handled[thread].append(claimed.event.event_key)
                busy.remove(thread)
                assert await inbox.finish(claimed.id, owner)

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(receive(threads[:3]))
        tasks.create_task(receive(threads[3:]))
        for _ in range(8):
            tasks.create_task(work())

    assert handled == {thread: [f"{thread} {n:02}" for n in range(10)] for thread in threads}


async def test_event_that_fails_is_tried_again_later_and_holds_only_its_thread(
    inbox: Inbox, pool: Pool
) -> None:
    """D12"""
    await inbox.receive(event("poison", "a"))
    await inbox.receive(event("next", "a"))
    await inbox.receive(event("other", "b"))
    (poison, other) = await claim(inbox)
    await inbox.finish(other.id)

    assert await inbox.retry_later(poison.id, "bad \x00", 3600) is AfterFailure.PENDING

    assert await claim(inbox) == []
    await inbox.receive(event("other 2", "b"))
    assert await keys(inbox) == ["other 2"]
    await sql(pool, "UPDATE inbox SET available_at = now()")
    (again,) = await claim(inbox)
    assert (again.event.event_key, again.attempts, again.error) == ("poison", 2, "bad \x00")


async def test_event_that_fails_too_often_is_dead_and_can_be_redelivered(inbox: Inbox) -> None:
    """D12"""
    await inbox.receive(event("poison"))
    await inbox.receive(event("next"))
    outcome: AfterFailure | None = None
    for _ in range(3):
        (poison,) = await claim(inbox)
        outcome = await inbox.retry_later(poison.id, "no such user", 0)
    assert outcome is AfterFailure.DEAD

    assert await keys(inbox) == ["next"]
    (dead,) = await inbox.list_dead()
    assert (dead.event.event_key, dead.error, dead.attempts) == ("poison", "no such user", 3)

    assert await inbox.redeliver(dead.id)
    assert not await inbox.redeliver(dead.id)
    assert await inbox.list_dead() == ()
    assert await claim(inbox) == [], "the next event is being worked on"


async def test_event_that_can_never_succeed_is_buried_at_once(inbox: Inbox) -> None:
    await inbox.receive(event("poison"))
    await inbox.receive(event("next"))
    (poison,) = await claim(inbox)

    assert await inbox.bury(poison.id, "not JSON")
    assert not await inbox.bury(poison.id, "not JSON")

    assert await keys(inbox) == ["next"]


async def test_event_of_a_dead_worker_comes_back(inbox: Inbox, pool: Pool) -> None:
    await inbox.receive(event("Ev1"))
    dead, heir = uuid4(), uuid4()
    (claimed,) = await claim(inbox, owner=dead)
    assert await inbox.renew([claimed.id], dead, SECONDS) == {claimed.id}
    assert await inbox.renew([claimed.id], heir, SECONDS) == frozenset()
    assert await claim(inbox, owner=heir) == []

    await sql(pool, "UPDATE inbox SET claimed_until = now()")

    (again,) = await claim(inbox, owner=heir)
    assert again.attempts == 2
    assert not await inbox.finish(again.id, dead)
    assert await inbox.retry_later(again.id, "late", 0, dead) is None
    assert not await inbox.bury(again.id, "late", dead)
    assert await inbox.finish(again.id, heir)
    assert not await inbox.finish(again.id, heir)


async def test_event_that_kills_its_workers_is_dead_in_the_end(inbox: Inbox, pool: Pool) -> None:
    """D12"""
    await inbox.receive(event("killer"))
    await inbox.receive(event("next"))
    for _ in range(3):
        assert await keys(inbox) == ["killer"]
        await sql(pool, "UPDATE inbox SET claimed_until = now()")

    assert await claim(inbox) == []

    (dead,) = await inbox.list_dead()
    assert dead.error == "the worker died each time that it worked on this event"
    assert await keys(inbox) == ["next"]


async def test_eight_workers_never_claim_the_same_event(inbox: Inbox) -> None:
    for n in range(40):
        await inbox.receive(event(f"Ev{n}", f"thread {n}"))

    batches = await asyncio.gather(*(claim(inbox, 10, uuid4()) for _ in range(8)))

    claimed = [one.id for batch in batches for one in batch]
    assert len(claimed) == len(set(claimed))


async def test_only_the_asked_platforms_are_claimed(inbox: Inbox) -> None:
    await inbox.receive(event("Ev1", platform="discord"))

    assert await claim(inbox) == []
    assert len(await inbox.claim(["slack", "discord"], OWNER, 10, SECONDS)) == 1


async def test_backlog_counts_what_is_unfinished(inbox: Inbox) -> None:
    assert await inbox.waiting_count() == ()
    await inbox.receive(event("Ev1"))
    await inbox.receive(event("Ev2"))
    (first,) = await claim(inbox)

    (slack,) = await inbox.waiting_count()
    assert (slack.platform, slack.events, slack.oldest_at) == ("slack", 2, first.received_at)

    await inbox.finish(first.id)
    (slack,) = await inbox.waiting_count()
    assert slack.events == 1


async def test_old_events_are_purged_and_unfinished_ones_never(inbox: Inbox, pool: Pool) -> None:
    for key in ("done", "dead", "waiting"):
        await inbox.receive(event(key, key))
    done, dead, _ = await claim(inbox)
    await inbox.finish(done.id)
    await inbox.bury(dead.id, "x")
    assert await inbox.purge() == 0

    await sql(
        pool, "UPDATE inbox SET done_at = now() - interval '8 days', received_at = '2000-01-01'"
    )
    assert await inbox.purge() == 1
    await sql(pool, "UPDATE inbox SET done_at = now() - interval '31 days'")
    assert await inbox.purge() == 1

    (left,) = await sql(pool, "SELECT event_key FROM inbox")
    assert left["event_key"] == "waiting"


async def test_nothing_is_received_while_the_database_is_down(
    inbox: Inbox, postgres: PostgresServer
) -> None:
    """D1 (store part)"""
    postgres.stop()

    with pytest.raises(StoreUnavailable):
        await inbox.receive(event("Ev1"))
