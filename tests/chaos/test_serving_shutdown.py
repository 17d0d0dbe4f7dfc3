"""A replica is asked to end in the middle of replies: others go on at once, long before a lease is over."""

import asyncio

from engine.store.pool import Pool
from tests.chaos.serving import serving
from tests.chaos.slack_moments import MOMENTS, reach_all, tell_stories
from tests.chaos.slack_threads import until_asks, until_growing, until_said_once
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack

LONG_LEASES = {
    "THREADWRIGHT_WORKER_LEASE_SECONDS": "120",
    "THREADWRIGHT_WORKER_HEARTBEAT_SECONDS": "1",
    "THREADWRIGHT_DELIVERY_LEASE_SECONDS": "120",
    "THREADWRIGHT_DELIVERY_HEARTBEAT_SECONDS": "1",
}
HANDED_OVER_SECONDS_MAX = 10.0
"""A fraction of the lease, and much more than it takes on an idle machine."""


async def test_replies_are_handed_over_long_before_their_lease_is_over(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3, E37: while the model streams, and while people are asked."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    ask = Call("ask_people", {"question": "Shall we sail?", "options": ["Yes", "No"]})
    model.script([Say("Hm."), ask], [Say("One, two"), Gate("never")])
    async with serving(slack, model, database_url, redis_url, **LONG_LEASES) as house:
        first = await house.start()
        asking = await ada.say(harbour, "<@BOT> well?")
        asked = await until_asks(slack, harbour, asking, "Shall we sail?")
        root = await ada.say(harbour, "<@BOT> count")
        growing = await until_growing(slack, harbour, root, "One, two")
        model.script([Say("One, two and three.")], [Say("Aye.")])
        await house.start()
        async with asyncio.timeout(HANDED_OVER_SECONDS_MAX):
            assert await first.terminate() == 0
            await model.streamed[1].left.wait()
            (last,) = await until_said_once(slack, pool, harbour, root, ["One, two and three."])
            await ada.click(asked, "Yes")
            wanted = ["Hm.", "❓ Shall we sail?\n✅ Ada answered: Yes", "Aye."]
            await until_said_once(slack, pool, harbour, asking, wanted)
    assert last.ts == growing.ts
    assert len(model.streamed) == 4


async def test_a_replica_that_ends_waits_for_its_calls_and_leaves_the_rest_to_the_next(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """D3: at every moment of a reply, with nobody there to take over yet."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tell_stories(model, MOMENTS)
    async with serving(slack, model, database_url, **LONG_LEASES) as house:
        first = await house.start()
        threads = await reach_all(slack, model, harbour, ada)
        ending = asyncio.create_task(first.terminate())
        await slack.wait_until(lambda: slack.sockets.count == 0)
        for thread in threads:
            thread.fault.release()
        async with asyncio.timeout(HANDED_OVER_SECONDS_MAX):
            assert await ending == 0
        await house.start()
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)


async def test_an_idle_replica_ends_at_once_and_what_is_said_then_reaches_the_other(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D1"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, redis_url, **LONG_LEASES) as house:
        first = await house.start()
        await house.start()
        async with asyncio.timeout(HANDED_OVER_SECONDS_MAX):
            ending = asyncio.create_task(first.terminate())
            roots = [await ada.say(harbour, f"<@BOT> hi {number}") for number in range(10)]
            assert await ending == 0
            for root in roots:
                await until_said_once(slack, pool, harbour, root, ["All right."])
