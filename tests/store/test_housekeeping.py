"""Housekeeping: old events go, new ones stay, and one replica at a time does it."""

from uuid import uuid4

from engine.store.inbox import Inbox, InboxEvent
from engine.store.leases import Leases
from engine.store.pool import Pool
from engine.worker.housekeeping import Housekeeper


async def receive(inbox: Inbox, key: str) -> None:
    await inbox.receive(
        InboxEvent(
            platform="slack",
            installation="T1",
            event_key=key,
            thread_key=key,
            kind="message",
            payload={},
        )
    )


async def test_old_events_go_and_new_ones_stay(pool: Pool) -> None:
    inbox = Inbox(pool)
    await receive(inbox, "old")
    await receive(inbox, "new")
    for event in await inbox.claim(["slack"], uuid4(), 10, 30.0):
        await inbox.finish(event.id)
    await receive(inbox, "waiting")
    async with pool.session() as connection:
        await connection.execute(
            "UPDATE inbox SET done_at = now() - interval '400 days' WHERE event_key = 'old'"
        )
    assert await Housekeeper(Leases(pool), inbox).clean_up() == 1
    async with pool.session() as connection:
        left = await connection.fetch("SELECT event_key FROM inbox ORDER BY id")
    assert [row["event_key"] for row in left] == ["new", "waiting"]


async def test_one_replica_at_a_time_cleans_up(pool: Pool) -> None:
    first = Housekeeper(Leases(pool), Inbox(pool))
    second = Housekeeper(Leases(pool), Inbox(pool))
    assert await first.clean_up() == 0
    assert await second.clean_up() is None
    assert await first.clean_up() == 0
