"""Two replicas, one Wren: whichever hears, whichever works, whichever is left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.store.pool import Pool
from tests.chaos.serving import Replica, Serving, serving
from tests.chaos.slack_threads import (
    answers,
    texts,
    until_asks,
    until_growing,
    until_said_once,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack

QUEUED = 10
ASK = Call("ask_people", {"question": "Shall we sail?", "options": ["Yes", "No"]})


def hear_by(slack: FakeSlack, number: int) -> None:
    """Have Slack send everything to this socket from now on."""
    for index, connection in enumerate(slack.sockets.connections):
        connection.is_leaving = index != number


@asynccontextmanager
async def worker_and_ear(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> AsyncIterator[tuple[Serving, Replica, Replica]]:
    """The first replica does everything, the second only Slack."""
    async with serving(slack, model, database_url, redis_url) as house:
        worker = await house.start()
        ear = await house.start(roles=("slack",))
        yield house, worker, ear


async def test_a_mention_is_answered_whichever_replica_hears_it(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D2: and the thread goes on at whichever hears its next message."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with worker_and_ear(slack, model, database_url, redis_url):
        for ear in (0, 1):
            hear_by(slack, ear)
            root = await ada.say(harbour, "<@BOT> hi")
            await until_said_once(slack, pool, harbour, root, ["All right."])
            hear_by(slack, 1 - ear)
            await ada.say(harbour, "and?", thread_ts=root.ts)
            await until_said_once(slack, pool, harbour, root, ["All right.", "All right."])


async def test_a_stop_heard_by_the_replica_that_does_not_work_stops_the_one_that_does(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D13: also with a long queue, which is then answered."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script(*[[Say("So much to"), Gate("never")]] * 3)
    async with worker_and_ear(slack, model, database_url, redis_url):
        roots = [await ada.say(harbour, "<@BOT> tell me all") for _ in range(3)]
        growing = [await until_growing(slack, harbour, root, "So much to") for root in roots]
        hear_by(slack, 1)
        for number in range(QUEUED):
            for root in roots:
                await ada.say(harbour, f"and {number}", thread_ts=root.ts)
        await bo.say(harbour, "stop", thread_ts=roots[0].ts)
        await bo.click(growing[1], "Stop")
        await bo.react(growing[2], "octagonal_sign")
        for request in model.streamed[:3]:
            await request.left.wait()
        wanted = ["So much to\n\nStopped.", *["All right."] * QUEUED]
        for root in roots:
            await until_said_once(slack, pool, harbour, root, wanted)


async def test_a_question_is_answered_at_the_other_replica_and_the_first_answer_wins(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D8"""
    ada, bo = slack.user("Ada"), slack.user("Bo")
    harbour = slack.channel("harbour", members=[ada, bo, slack.bot])
    model.script([Say("Hm."), ASK], [Say("Aye.")])
    async with worker_and_ear(slack, model, database_url, redis_url):
        root = await ada.say(harbour, "<@BOT> well?")
        asked = await until_asks(slack, harbour, root, "Shall we sail?")
        hear_by(slack, 1)
        await ada.click(asked, "Yes")
        hear_by(slack, 0)
        await bo.click(asked, "No")
        wanted = ["Hm.", "❓ Shall we sail?\n✅ Ada answered: Yes", "Aye."]
        await until_said_once(slack, pool, harbour, root, wanted)
        (told,) = await slack.wait_until(lambda: slack.ephemerals(bo))
        assert "Ada" in told.plain
    assert len(model.streamed) == 2


async def test_buttons_work_when_everything_was_restarted(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D8: the question's and the one that stops a reply."""
    ada, harbour, lighthouse = (
        slack.user("Ada"),
        slack.channel("harbour"),
        slack.channel("lighthouse"),
    )
    model.script([Say("Hm."), ASK], [Say("So much to"), Gate("never")])
    async with worker_and_ear(slack, model, database_url, redis_url) as (house, _, _):
        root = await ada.say(harbour, "<@BOT> well?")
        asked = await until_asks(slack, harbour, root, "Shall we sail?")
        other = await ada.say(lighthouse, "<@BOT> tell me all")
        growing = await until_growing(slack, lighthouse, other, "So much to")
        await house.kill_all()
        model.script([Say("So much to"), Gate("never")], [Say("Aye.")])
        await slack.wait_until(lambda: slack.sockets.count == 0)
        await house.start()
        await model.wait_for_requests(3)
        await ada.click(growing, "Stop")
        await slack.wait_until(lambda: "Stopped." in texts(slack, lighthouse, other)[0])
        await ada.click(asked, "Yes")
        wanted = ["Hm.", "❓ Shall we sail?\n✅ Ada answered: Yes", "Aye."]
        await until_said_once(slack, pool, harbour, root, wanted)
        assert len(answers(slack, lighthouse, other)) == 1


async def test_the_worker_dies_while_another_replica_shows_what_it_says(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3: what is shown of the first attempt gives way to the second, in the same message."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One, two and"), Gate("never")], [Say("One,"), Gate("go"), Say(" and two.")])
    async with serving(slack, model, database_url, redis_url) as house:
        worker = await house.start(roles=("worker",))
        await house.start(roles=("slack",))
        root = await ada.say(harbour, "<@BOT> count")
        first = await until_growing(slack, harbour, root, "One, two and")
        await house.start(roles=("worker",))
        await worker.kill()
        await model.reached("go")
        model.release("go")
        (last,) = await until_said_once(slack, pool, harbour, root, ["One, and two."])
    assert last.ts == first.ts


async def test_the_deliverer_dies_while_another_replica_works(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3: the model is not asked again, and the reply goes on in the same message."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One, two"), Gate("go"), Say(" and three.")])
    async with serving(slack, model, database_url, redis_url) as house:
        await house.start(roles=("worker",))
        deliverer = await house.start(roles=("slack",))
        root = await ada.say(harbour, "<@BOT> count")
        first = await until_growing(slack, harbour, root, "One, two")
        await deliverer.kill()
        model.release("go")
        await house.start(roles=("slack",))
        (last,) = await until_said_once(slack, pool, harbour, root, ["One, two and three."])
    assert last.ts == first.ts
    assert len(model.streamed) == 1
