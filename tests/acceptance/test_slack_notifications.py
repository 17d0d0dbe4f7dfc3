"""Owners who have turned to something else are told, once, of what became of their threads in Slack."""

from typing import Any

import pytest

from config.side_settings import SlackNotify
from engine.chat.details import DetailsChange
from engine.store.pool import Pool
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    texts,
    until_asks,
    until_growing,
    until_says,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Refuse, Say, SeenRequest, Step
from tests.fakes.replica import eventually
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage

ALWAYS: dict[str, Any] = {"notify_after": 0.0}
SHIP = Call("ask_people", {"question": "Ship it?", "options": ["Yes", "No"]}, "call_ship")
DONE = "SELECT state FROM notifications WHERE state IN ('sent', 'dropped') ORDER BY id"


def told(slack: FakeSlack, person: Person) -> list[ShownMessage]:
    """What the bot has told somebody in their direct messages."""
    return [m for m in slack.timeline(slack.dm(person)) if m.author_id == slack.bot.user_id]


async def until_told(slack: FakeSlack, person: Person, count: int = 1) -> list[ShownMessage]:
    await slack.wait_until(lambda: len(told(slack, person)) >= count)
    return told(slack, person)


async def settled(pool: Pool, count: int) -> list[str]:
    """How notifications ended, once so many have."""

    async def met() -> list[str] | None:
        async with pool.session() as connection:
            states = [row["state"] for row in await connection.fetch(DONE)]
        return states if len(states) >= count else None

    return await eventually(met) or []


async def count_of(pool: Pool) -> int:
    async with pool.session() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM notifications"))


async def test_the_owner_is_told_once_with_a_link(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """E36, E38: with two replicas, of which either may find the words and either may send."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.say("The light was dirty. I have cleaned it and tried it out.")
    model.aside("The lighthouse shines again.")
    async with (
        house(slack, model, database_url, redis_url=redis_url, **ALWAYS),
        house(slack, model, database_url, redis_url=redis_url, **ALWAYS),
    ):
        question = await ada.say(harbour, "<@BOT> why is it dark?")
        (message,) = await until_told(slack, ada)
        assert await settled(pool, 1) == ["sent"]
        link = f"/archives/{harbour.id}/p{question.ts.replace('.', '')}"
        assert link in message.text
        assert "why is it dark?" in message.text
        assert message.plain.endswith("The lighthouse shines again.")
        assert told(slack, ada) == [message]
        assert told(slack, bo) == []
        (asked,) = model.asides
        assert "The light was dirty." in str(asked.body["messages"])
    assert await count_of(pool) == 1


async def test_an_interrupted_turn_tells_nobody(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """E35"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("So much to"), Gate("never")])
    async with house(slack, model, database_url, **ALWAYS):
        question = await ada.say(harbour, "<@BOT> tell me all")
        growing = await until_growing(slack, harbour, question, "So much to")
        await ada.click(growing, "Stop")
        await until_says(slack, harbour, question, "So much to\n\nStopped.")
        other = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, other, "All right.")
        await until_told(slack, ada)
    assert len(told(slack, ada)) == await count_of(pool) == 1
    assert len(model.asides) == 1


async def test_the_call_that_finds_the_words_is_recorded_where_the_chat_asks_for_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, **ALWAYS) as wren:
        question = await ada.say(harbour, "<@BOT> why is it dark?")
        await until_told(slack, ada)
        chat_id = await chat_of(wren, slack, harbour, question)
        assert await wren.engine.change_details(chat_id, DetailsChange(records_calls=True))
        await ada.say(harbour, "<@BOT> and now?", thread_ts=question.ts)
        await until_told(slack, ada, 2)

        async def both() -> list[str]:
            listed = await wren.engine.recordings.list_recordings(chat_id)
            kinds = [call.kind.value for call in listed if call.finished_at]
            return kinds if len(kinds) == 2 else []

        assert sorted(await eventually(both)) == ["step", "summary"]


async def test_a_blank_answer_is_told_without_asking_a_model(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """E39"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say(" \n ")
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> say nothing")
        (message,) = await until_told(slack, ada)
    assert message.plain.endswith("The agent has finished.")
    assert model.asides == []


async def test_a_model_that_does_not_answer_is_asked_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.aside_script([Refuse(503, "overloaded")])
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> hi")
        (message,) = await until_told(slack, ada)
    assert message.plain.endswith("The agent has finished.")
    assert len(model.asides) == 1


async def test_a_question_is_told_and_the_answer_to_it_too(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([SHIP], [Say("Shipped.")])
    model.aside("It is on its way.")
    async with house(slack, model, database_url, **ALWAYS):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
        (message,) = await until_told(slack, ada)
        assert message.plain.endswith("Ship it?")
        await ada.click(asked, "Yes")
        (_, finished) = await until_told(slack, ada, 2)
        assert finished.plain.endswith("It is on its way.")
    assert len(model.asides) == 1


async def test_an_error_is_told_in_its_own_words(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.refuse(401, "Incorrect API key provided.")
    async with house(slack, model, database_url, **ALWAYS) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        (message,) = await until_told(slack, ada)
        chat = await wren.engine.read_chat(await chat_of(wren, slack, harbour, question))
    assert chat is not None
    assert chat.last_error is not None
    assert message.plain.endswith(chat.last_error.message)
    assert model.asides == []


async def test_a_chat_that_goes_on_with_its_queue_is_told_of_when_it_rests(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One"), Gate("one")], [Say("Two.")])
    async with house(slack, model, database_url, **ALWAYS) as wren:
        question = await ada.say(harbour, "<@BOT> one")
        await until_growing(slack, harbour, question, "One")
        await ada.say(harbour, "<@BOT> two", thread_ts=question.ts)
        chat_id = await chat_of(wren, slack, harbour, question)

        async def is_queued() -> bool:
            return bool(await wren.engine.read_queue(chat_id))

        await eventually(is_queued)
        model.release("one")
        await until_says(slack, harbour, question, "One", "Two.")
        await until_told(slack, ada)
    assert len(told(slack, ada)) == await count_of(pool) == 1


async def test_a_short_turn_tells_nobody(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, notify_after=60.0):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    assert await count_of(pool) == 0


async def test_a_turn_that_another_replica_took_over_has_taken_as_long_as_its_owner_waits(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    # The lease of a dead replica alone takes a second.
    long: dict[str, Any] = {"notify_after": 0.9, "redis_url": redis_url}
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("never")], [Say("Half and half.")])
    async with house(slack, model, database_url, **long) as first:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        async with house(slack, model, database_url, **long):
            await first.replica.kill()
            (message,) = await until_told(slack, ada)
            assert message.plain.endswith("A short title")
            await first.adapter.drain()


async def test_a_direct_message_with_the_bot_is_not_told_of(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada = slack.user("Ada")
    dm = slack.dm(ada)
    async with house(slack, model, database_url, **ALWAYS):
        question = await ada.say(dm, "hi")
        await until_says(slack, dm, question, "All right.")
        assert await settled(pool, 1) == ["dropped"]
    assert model.asides == []
    assert len(slack.calls("conversations.open")) == 0


async def test_a_mention_in_the_thread_is_another_way(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.aside("The <!channel> is @here quiet, says <@U999>.")
    async with house(slack, model, database_url, notify=SlackNotify.MENTION, **ALWAYS):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: len(answers(slack, harbour, question)) == 2)
        assert await settled(pool, 1) == ["sent"]
    (_, mention) = answers(slack, harbour, question)
    assert mention.text.startswith(f"✅ <@{ada.id}> The &lt;")
    assert mention.text.count("<") == 1
    assert told(slack, ada) == []


async def test_nobody_calls_anybody_in_what_owners_are_told(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.aside("Ask <!channel> or <@U999>, @everyone & <https://evil.example|Ada>")
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> <!here> | hi")
        (message,) = await until_told(slack, ada)
    assert "<!" not in message.text
    assert "<@" not in message.text
    assert message.text.count("<http") <= 2


async def test_told_off_tells_nobody(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, notify=SlackNotify.OFF, **ALWAYS):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        assert await settled(pool, 1) == ["dropped"]
    assert told(slack, ada) == []


async def test_a_thread_is_told_of_by_the_title_that_a_model_gave_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")

    def answer(seen: SeenRequest) -> list[Step] | None:
        if seen.is_streamed:
            return [Say("Done."), Gate("done")]
        is_title = "name conversations" in str(seen.body["messages"][0])
        return [Say("Lights | of the harbour" if is_title else "All lights shine.")]

    model.answer(answer)
    async with house(slack, model, database_url, makes_titles=True, **ALWAYS) as wren:
        question = await ada.say(harbour, "<@BOT> please make all of the lights shine again")
        await until_growing(slack, harbour, question, "Done.")
        chat_id = await chat_of(wren, slack, harbour, question)

        async def is_named() -> bool:
            view = await wren.engine.read_chat(chat_id)
            return view is not None and view.title == "Lights | of the harbour"

        await eventually(is_named)
        model.release("done")
        (message,) = await until_told(slack, ada)
    assert "|Lights ∣ of the harbour>" in message.text  # noqa: RUF001
    assert message.plain.endswith("All lights shine.")


# -- Slack does not do as it is asked --------------------------------------------------------------


def is_notice(arguments: dict[str, Any]) -> bool:
    return "threadwright_notice" in str(arguments.get("metadata"))


async def test_too_many_calls_are_waited_out(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.postMessage", status=429, retry_after=1, when=is_notice)
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> hi")
        await until_told(slack, ada)
        assert await settled(pool, 1) == ["sent"]
    first, second = (call for call in slack.calls("chat.postMessage") if is_notice(call.args))
    assert second.at - first.at >= 1.0


@pytest.mark.parametrize("method", ["chat.postMessage", "conversations.open", "chat.getPermalink"])
async def test_a_call_whose_outcome_is_unknown_tells_once(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool, method: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    is_post = method == "chat.postMessage"
    slack.fail_next(
        method, drop_connection_after_handling=True, when=is_notice if is_post else None
    )
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> hi")
        assert await settled(pool, 1) == ["sent"]
    assert len(told(slack, ada)) == 1
    posts = [call for call in slack.calls("chat.postMessage") if is_notice(call.args)]
    assert len(posts) == 1
    if is_post:
        assert len(slack.calls("conversations.history")) == 1


@pytest.mark.parametrize("error", ["user_not_found", "cannot_dm_bot", "missing_scope"])
async def test_whoever_cannot_be_told_is_not_tried_again(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool, error: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("conversations.open", error=error)
    async with house(slack, model, database_url, **ALWAYS):
        question = await ada.say(harbour, "<@BOT> hi")
        assert await settled(pool, 1) == ["dropped"]
        await slack.wait_until(lambda: texts(slack, harbour, question) == ["All right."])
    assert told(slack, ada) == []
    assert len(slack.calls("conversations.open")) == 1


async def test_a_thread_that_is_gone_is_told_of_without_a_link(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.getPermalink", error="message_not_found")
    async with house(slack, model, database_url, **ALWAYS):
        await ada.say(harbour, "<@BOT> hi")
        (message,) = await until_told(slack, ada)
        assert await settled(pool, 1) == ["sent"]
    assert "<http" not in message.text
