"""Reactions that tell how a question is getting on, and the one that has it answered anew."""

from typing import Any

import pytest

from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    until_growing,
    until_says,
)
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.replica import TestReplica, eventually
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

ALL: dict[str, Any] = {
    "working_reaction": "hourglass",
    "done_reaction": "white_check_mark",
    "failed_reaction": "warning",
}


def reactions(slack: FakeSlack, channel: Channel, message: Message) -> set[str]:
    """What the bot has put on a message."""
    found = channel.messages[message.ts].reactions
    return {name for name, users in found.items() if slack.bot.user_id in users}


async def until_marked(slack: FakeSlack, channel: Channel, message: Message, *wanted: str) -> None:
    """Wait until the bot's reactions at the message are these and no others."""
    await slack.wait_until(lambda: reactions(slack, channel, message) == set(wanted))


async def test_a_question_is_marked_as_seen_worked_on_and_answered(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("Done.")])
    async with house(slack, model, database_url, **ALL):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_marked(slack, harbour, question, "eyes", "hourglass")
        model.release("slow")
        await until_says(slack, harbour, question, "Done.")
        await until_marked(slack, harbour, question, "white_check_mark")


async def test_a_stopped_question_is_marked_as_seen_alone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("A tale "), Gate("slow"), Say("goes on.")])
    async with house(slack, model, database_url, **ALL):
        question = await ada.say(harbour, "<@BOT> tell")
        await until_marked(slack, harbour, question, "eyes", "hourglass")
        reply = await until_growing(slack, harbour, question, "A tale")
        before = len(slack.calls("conversations.replies"))
        await ada.react(reply, "octagonal_sign")
        await until_marked(slack, harbour, question, "eyes")
    # The ledger knows which thread the reply is in.
    assert len(slack.calls("conversations.replies")) == before


async def test_each_question_of_a_queue_is_marked_for_itself(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("One.")])
    model.script([Gate("slower"), Say("Two.")])
    async with house(slack, model, database_url, **ALL):
        first = await ada.say(harbour, "<@BOT> one")
        await until_marked(slack, harbour, first, "eyes", "hourglass")
        second = await ada.say(harbour, "two", thread_ts=first.ts)
        await until_marked(slack, harbour, second, "eyes")
        model.release("slow")
        await until_marked(slack, harbour, first, "white_check_mark")
        await until_marked(slack, harbour, second, "eyes", "hourglass")
        model.release("slower")
        await until_marked(slack, harbour, second, "white_check_mark")


async def test_after_a_restart_the_mark_tells_how_it_ended(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("Never seen.")])
    async with house(slack, model, database_url, **ALL) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_marked(slack, harbour, question, "eyes", "hourglass")
        chat_id = await chat_of(wren, slack, harbour, question)
    model.say("Done.")
    # The turn ends where nobody tells Slack, so that whoever does next sees only the end.
    async with TestReplica.start(database_url, model.url) as replica:

        async def is_over() -> bool:
            chat = await replica.engine.read_chat(chat_id)
            return chat is not None and chat.status is ShownStatus.WAITING

        assert await eventually(is_over)
    assert reactions(slack, harbour, question) == {"eyes", "hourglass"}
    async with house(slack, model, database_url, **ALL):
        await until_marked(slack, harbour, question, "white_check_mark")


async def test_text_never_waits_for_reactions(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    refused = slack.fail_next("reactions.add", status=429, retry_after=600, times=99)
    async with house(slack, model, database_url, **ALL):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    assert refused.reached.is_set()


async def test_reactions_that_are_off_are_not_put(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, seen_reaction="off"):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    assert not slack.calls("reactions.add")


@pytest.mark.parametrize("on_reply", [False, True], ids=["question", "reply"])
async def test_a_reaction_has_the_last_question_answered_anew(
    slack: FakeSlack, model: FakeModel, database_url: str, *, on_reply: bool
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.say("One.")
    model.say("Two.")
    model.say("Two, but better.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> one")
        await until_says(slack, harbour, question, "One.")
        again = await ada.say(harbour, "two", thread_ts=question.ts)
        await until_says(slack, harbour, question, "One.", "Two.")
        shown = answers(slack, harbour, question)
        await bo.react(shown[-1] if on_reply else again, "repeat")
        await until_says(slack, harbour, question, "One.", "Two, but better.")
    assert [request.last_text for request in model.streamed][1:] == ["Ada: two", "Ada: two"]


async def test_a_retry_while_the_answer_is_made_begins_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("A tale "), Gate("slow"), Say("is over.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell")
        await until_growing(slack, harbour, question, "A tale")
        await ada.react(question, "repeat")
        await slack.wait_until(lambda: slack.ephemerals(ada))
        model.release("slow")
        await until_says(slack, harbour, question, "A tale is over.")
    assert "still at it" in slack.ephemerals(ada)[0].plain
    assert len(model.streamed) == 1


async def test_our_own_reactions_begin_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """What the bot itself puts on a question is neither a stop nor a retry."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    marks: dict[str, Any] = {"done_reaction": "repeat", "seen_reaction": "octagonal_sign"}
    async with house(slack, model, database_url, **marks):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await until_marked(slack, harbour, question, "repeat")
        await slack.wait_until_settled()
        again = await ada.say(harbour, "<@BOT> and again")
        await until_says(slack, harbour, again, "All right.")
    assert [r.last_text for r in model.streamed] == ["Ada: hi", "Ada: and again"]
