"""Two replicas on one Postgres and one Valkey: whichever hears, works or delivers, it is one Wren."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    House,
    answers,
    both_ways,
    chat_of,
    house,
    texts,
    until_asks,
    until_growing,
    until_says,
    until_true,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_announce import MentionOrder
from tests.fakes.slack_server import FakeSlack

SHIP = Call("ask_people", {"question": "Ship it?", "options": ["Yes", "No"]}, "call_ship")


@asynccontextmanager
async def two(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> AsyncIterator[tuple[House, House]]:
    async with (
        house(slack, model, database_url, redis_url=redis_url) as first,
        house(slack, model, database_url, redis_url=redis_url) as second,
    ):
        await slack.wait_until(lambda: slack.sockets.count == 2)
        yield first, second


@both_ways
async def test_events_that_reach_both_replicas_are_one_command(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D2, facts/slack.md 7.3, 7.6, 7.26"""
    slack.events.mention_order = MentionOrder.RANDOM
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with two(slack, model, database_url, redis_url):
        for _ in range(5):
            question = await ada.say(harbour, "<@BOT> hi")
            for delivery in slack.deliveries[-2:]:
                for _ in range(3):
                    await slack.replay(delivery, with_new_event_id=True)
            await until_says(slack, harbour, question, "All right.")
        await slack.wait_until_settled()
    assert len(model.streamed) == 5
    links = {attempt.via for d in slack.deliveries for attempt in d.attempts}
    assert len(links) == 2


@both_ways
async def test_a_button_is_answered_by_whichever_replica_hears_it(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D8"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with two(slack, model, database_url, redis_url):
        for _ in range(4):
            model.script([SHIP], [Say("Shipped.")])
            question = await ada.say(harbour, "<@BOT> release")
            asked = await until_asks(slack, harbour, question, "Ship it?")
            for person in (ada, bo, ada, bo):
                await person.click(asked, "Yes", wait=False)
            await slack.wait_until(lambda: "Shipped." in texts(slack, harbour, question))  # noqa: B023
            (mended, shipped) = answers(slack, harbour, question)
            assert mended.plain.endswith("answered: Yes")
            assert shipped.plain == "Shipped."
    assert len(model.streamed) == 8


@pytest.mark.parametrize("way", ["word", "button", "reaction"])
async def test_stop_reaches_a_turn_on_another_replica(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, way: str
) -> None:
    """D13"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("So much to"), Gate("never")])
    async with house(slack, model, database_url, redis_url=redis_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await until_growing(slack, harbour, question, "So much to")
        first = slack.sockets.connections[0]
        async with house(slack, model, database_url, redis_url=redis_url, works=False):
            await slack.wait_until(lambda: slack.sockets.count == 2)
            # From now on only the other replica hears anything.
            first.is_leaving = True
            growing = answers(slack, harbour, question)[0]
            match way:
                case "word":
                    await ada.say(harbour, "stop", thread_ts=question.ts)
                case "button":
                    await ada.click(growing, "Stop")
                case "reaction":
                    await ada.react(growing, "octagonal_sign")
            await until_says(slack, harbour, question, "So much to\n\nStopped.")
            await model.streamed[0].left.wait()


@both_ways
async def test_a_reply_is_finished_by_another_replica_in_the_same_message(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")])
    async with house(slack, model, database_url, redis_url=redis_url, works=True):
        async with house(slack, model, database_url, redis_url=redis_url, works=False) as other:
            question = await ada.say(harbour, "<@BOT> hi")
            await until_growing(slack, harbour, question, "Half")
            chat_id = await chat_of(other, slack, harbour, question)
        # Whoever delivered it, one of the two has left.
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")
        del chat_id


@both_ways
async def test_text_streams_from_the_replica_that_works_to_the_one_that_delivers(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One"), Gate("a"), Say(" two"), Gate("b"), Say(" three.")])
    async with house(slack, model, database_url, redis_url=redis_url, works=False) as delivering:
        question = await ada.say(harbour, "<@BOT> count")
        await until_true(lambda: delivering.adapter.deliveries_held == 1)
        async with house(slack, model, database_url, redis_url=redis_url) as working:
            await until_growing(slack, harbour, question, "One")
            assert working.adapter.deliveries_held == 0
            model.release("a")
            await until_growing(slack, harbour, question, "One two")
            model.release("b")
            await until_says(slack, harbour, question, "One two three.")


@both_ways
async def test_a_replica_that_dies_in_mid_reply_leaves_one_complete_reply(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("never")], [Say("Half and half.")])
    async with house(slack, model, database_url, redis_url=redis_url) as first:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        chat_id = await chat_of(first, slack, harbour, question)
        async with house(slack, model, database_url, redis_url=redis_url) as second:
            await first.replica.kill()
            await second.replica.until(chat_id, ShownStatus.WAITING)
            await first.adapter.drain()
            await until_says(slack, harbour, question, "Half and half.")
