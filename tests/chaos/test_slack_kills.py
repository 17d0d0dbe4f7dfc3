"""A replica dies at some moment of a reply; another one finishes it, and nobody can tell.

Many threads are brought to different moments, and one kill meets all of them.
"""

from engine.store.pool import Pool
from tests.chaos.serving import serving
from tests.chaos.slack_moments import (
    EDIT,
    MOMENTS,
    POST,
    Moment,
    Story,
    reach_all,
    tell_stories,
)
from tests.chaos.slack_threads import until_growing
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack

GROWING = 6
"""Replies in mid-text: whether one would be spoilt is a matter of milliseconds."""


async def test_a_killed_replica_is_replaced_by_one_that_stands_by(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tell_stories(model, MOMENTS)
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        threads = await reach_all(slack, model, harbour, ada)
        await house.start()
        await first.kill()
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)


async def test_a_killed_replica_is_replaced_by_one_that_starts_afterwards(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """D3: with nothing but the database in common."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tell_stories(model, MOMENTS)
    async with serving(slack, model, database_url) as house:
        first = await house.start()
        threads = await reach_all(slack, model, harbour, ada)
        await first.kill()
        await house.start()
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)


async def test_a_replica_that_was_frozen_for_too_long_spoils_nothing_when_it_wakes(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3: it does not know that it was replaced, and has had much to say all the time."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    growing = [
        Moment(name=f"slow-{number}", story=Story.GROWING, method=EDIT, is_made=True)
        for number in range(GROWING)
    ]
    short = Moment(name="short", story=Story.SHORT, method=POST, is_made=True)
    tell_stories(model, [*MOMENTS, *growing, short])
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        threads = await reach_all(slack, model, harbour, ada)
        roots = [await ada.say(harbour, f"<@BOT> {moment.name}") for moment in growing]
        for moment, root in zip(growing, roots, strict=True):
            await until_growing(slack, harbour, root, f"{moment.name}: half")
        await house.start()
        first.freeze()
        frozen, awake = slack.sockets.connections
        frozen.is_leaving = True
        for moment in growing:
            model.release(f"{moment.name}/1")
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)
        for moment, root in zip(growing, roots, strict=True):
            await moment.until_told(slack, pool, harbour, root, ada)
        first.thaw()
        frozen.is_leaving, awake.is_leaving = False, True
        # It has looked around when it answers somebody again.
        other = await ada.say(harbour, "<@BOT> short")
        await short.until_told(slack, pool, harbour, other, ada)
        assert await first.terminate() == 0
        for thread in threads:
            await thread.until_told(slack, pool, harbour, ada)
        for moment, root in zip(growing, roots, strict=True):
            await moment.until_told(slack, pool, harbour, root, ada)


async def test_a_post_that_arrives_while_it_is_looked_for_is_found(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """D3"""
    moment = Moment(name="late", story=Story.SHORT, method=POST, is_made=False)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tell_stories(model, [moment])
    async with serving(slack, model, database_url) as house:
        first = await house.start()
        late = slack.fail_next(POST, hang=True)
        root = await ada.say(harbour, "<@BOT> late")
        await late.reached.wait()
        await first.kill()
        await house.start()
        await slack.wait_until(lambda: slack.calls("conversations.replies"))
        late.release()
        await moment.until_told(slack, pool, harbour, root, ada)
