"""Over a spend limit in Slack: the person is told once, politely, with amounts and the reset time."""

from datetime import UTC, datetime
from functools import partial

import pytest

from engine.api import LimitSubject, SpendLimit
from engine.chat.spending import Period
from engine.store.pool import Pool
from tests.acceptance.slack_house import House, house, texts, until_growing, until_says
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.replica import eventually
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack

_PAY = """
INSERT INTO usage_records (organization_id, chat_id, identity, channel, bot, cost_micros)
SELECT id, gen_random_uuid(), $1, $2, 'assistant', $3 FROM organizations
"""


async def pay(
    wren: House, slack: FakeSlack, person: Person, cost: int, *, channel: str | None = None
) -> None:
    place = channel and f"slack:{slack.team.id}:{channel}"
    async with wren.replica.replica.pool.session() as connection:
        identity = f"slack:{slack.team.id}:{person.user_id}"
        await connection.execute(_PAY, identity, place, cost)


async def all_done(pool: Pool) -> bool:
    """Whether every event was dealt with and none failed."""
    async with pool.session() as connection:
        rows = await connection.fetch("SELECT state, error FROM inbox")
    return all((row["state"], row["error"]) == ("done", None) for row in rows)


def told(slack: FakeSlack, person: Person) -> list[str]:
    return [message.plain for message in slack.ephemerals(person)]


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_who_is_over_the_limit_is_told_once_and_the_event_is_done(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool, *, over_http: bool
) -> None:
    """E12 (Slack): also when Slack sends the event again, and of a mention it sends two."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http) as wren:
        await wren.engine.limits.change_policy(period=Period.MONTH, default_limit_micros=2_500_000)
        await pay(wren, slack, ada, 2_600_000)
        question = await ada.say(harbour, "<@BOT> hello")
        await slack.wait_until(lambda: slack.ephemerals(ada))
        (sentence,) = told(slack, ada)
        # Slack shows nothing in a thread that nobody has answered in.
        assert slack.ephemerals(ada)[0].thread_ts is None
        assert "$2.60 of $2.50" in sentence
        assert "You have used up" in sentence
        now = datetime.now(UTC)
        assert f"{now.year + now.month // 12}-{now.month % 12 + 1:02}-01 00:00 UTC" in sentence
        for delivery in list(slack.deliveries):
            await slack.replay(delivery)
            await slack.replay(delivery, with_new_event_id=True)
        # A later message proves that everything before it was dealt with.
        answered = await bo.say(harbour, "<@BOT> me too")
        await until_says(slack, harbour, answered, "All right.")
        await slack.wait_until_settled()
        assert told(slack, ada) == [sentence]
        assert told(slack, bo) == []
        assert texts(slack, harbour, question) == []
        await eventually(partial(all_done, pool))
    assert len(model.streamed) == 1


async def test_who_is_over_the_limit_in_a_thread_is_told_there_and_what_waits_is_answered(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """E13, E15 (Slack): what was queued is answered, a message and an edit are not."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Let me"), Gate("thinking"), Say(" see.")])
    async with house(slack, model, database_url) as wren:
        await wren.engine.limits.change_policy(default_limit_micros=100)
        question = await ada.say(harbour, "<@BOT> hello")
        await until_growing(slack, harbour, question, "Let me")
        queued = await ada.say(harbour, "and this?", thread_ts=question.ts)
        await slack.wait_until(lambda: slack.thread(harbour, question)[-1].reactions.get("eyes"))
        await pay(wren, slack, ada, 100)
        await ada.say(harbour, "and that?", thread_ts=question.ts)
        await slack.wait_until(lambda: len(told(slack, ada)) == 1)
        (message,) = slack.ephemerals(ada)
        assert message.thread_ts == question.ts
        model.release("thinking")
        await until_says(slack, harbour, question, "Let me see.", "All right.")
        await ada.edit(queued, "and these?")
        await slack.wait_until(lambda: len(told(slack, ada)) == 2)
        await slack.wait_until_settled()
        assert texts(slack, harbour, question) == ["Let me see.", "All right."]
        assert len(told(slack, ada)) == 2
    assert [request.last_text for request in model.streamed] == ["Ada: hello", "Ada: and this?"]


async def test_channel_that_is_over_its_limit_is_named(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour, quay = slack.user("Ada"), slack.channel("harbour"), slack.channel("quay")
    async with house(slack, model, database_url) as wren:
        subject = f"slack:{slack.team.id}:{harbour.id}"
        limit = SpendLimit(scope=LimitSubject.CHANNEL, subject=subject, limit_micros=1_000_000)
        await wren.engine.limits.set_limit(limit)
        await pay(wren, slack, slack.user("Bo"), 1_000_000, channel=harbour.id)
        await ada.say(harbour, "<@BOT> hello")
        await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "This channel has used up what may be spent: $1.00 of $1.00." in told(slack, ada)[0]
        elsewhere = await ada.say(quay, "<@BOT> hello")
        await until_says(slack, quay, elsewhere, "All right.")
