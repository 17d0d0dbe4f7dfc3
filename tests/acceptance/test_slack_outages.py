"""Slack or the database away for a while: at the start, while a form is open, in the middle of a reply."""

import asyncio

import aiohttp
import pytest

from adapters.slack.adapter import SlackAdapter
from tests.acceptance.slack_house import (
    FAST_DELIVERY,
    answers,
    both_ways,
    house,
    slack_settings,
    texts,
    until_asks,
    until_growing,
    until_says,
    until_true,
)
from tests.acceptance.test_slack_questions import BOOKING
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.postgres import PostgresServer
from tests.fakes.replica import TestReplica
from tests.fakes.slack_server import FakeSlack


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
async def test_slack_being_away_at_the_start_delays_it(
    slack: FakeSlack, model: FakeModel, database_url: str, method: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(method, status=503)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")


async def test_before_slack_says_who_we_are_events_are_refused_not_lost(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D1"""
    slack.http.retry_delays_seconds = (0.1,) * 100
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    hanging = slack.fail_next("auth.test", hang=True)
    starting = asyncio.Event()

    async def serve() -> None:
        async with house(slack, model, database_url, over_http=True):
            await starting.wait()

    serving = asyncio.create_task(serve())
    await hanging.reached.wait()
    question = await ada.say(harbour, "<@BOT> hi")
    first = slack.deliveries[0]
    await until_true(lambda: len(first.attempts) >= 2)
    assert {attempt.status for attempt in first.attempts if attempt.status} == {503}
    hanging.release()
    await until_says(slack, harbour, question, "All right.")
    starting.set()
    await serving


async def test_a_revoked_token_keeps_nobody_from_stopping(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.revoke(slack.bot.token)
    async with TestReplica.start(database_url, model.url) as replica:
        adapter = SlackAdapter(replica.engine, slack_settings(slack), FAST_DELIVERY)
        adapter.start()
        await slack.wait_until(lambda: slack.calls("auth.test"))
        await adapter.drain()
        assert not adapter.is_connected


async def test_a_form_sent_while_the_database_is_away_stays_open(
    slack: FakeSlack, model: FakeModel, database_url: str, postgres: PostgresServer
) -> None:
    """D1"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Call("book_table", {}, "call_book")], [Say("Booked.")])
    async with house(slack, model, database_url, over_http=True, dynamic_tools=(BOOKING,)):
        question = await ada.say(harbour, "<@BOT> lunch")
        asked = await until_asks(slack, harbour, question, "Book a table")
        await ada.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(ada))
        filled = {"Guests": "4", "Day": "2026-12-24"}
        postgres.stop()
        delivery = await ada.submit_view(view, filled)
        assert not delivery.is_acked
        assert view.is_open
        postgres.start()
        await ada.submit_view(view, filled)
        assert not view.is_open
        await slack.wait_until(lambda: "Booked." in texts(slack, harbour, question))


@both_ways
async def test_a_database_that_restarts_in_mid_reply_costs_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str, postgres: PostgresServer
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")], [Say("Half and half.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        postgres.restart()
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")
    assert len(answers(slack, harbour, question)) == 1


async def test_people_without_a_known_name_are_heard_all_the_same(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.bot.scopes.discard("users:read")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    assert model.streamed[0].last_text.endswith("hi")


async def test_draining_answers_503_and_lets_go(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    async with house(slack, model, database_url, over_http=True) as wren:
        await wren.adapter.drain()
        body = b'{"type": "event_callback"}'
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{wren.url}/slack/events", data=body) as answer,
        ):
            assert answer.status == 401
        assert wren.adapter.deliveries_held == 0
