"""Editing and deleting one's own messages in Slack: what it changes, and whom it never costs a word."""

import pytest

from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    both_ways,
    chat_of,
    house,
    until_growing,
    until_says,
)
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack


def asked(model: FakeModel) -> list[str]:
    """What the model was asked last in each request."""
    return [request.last_text for request in model.streamed]


@both_ways
@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_editing_the_last_message_answers_it_anew_in_place(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D11"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("Six.")
    model.say("Eight.")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> three and three?")
        (before,) = await until_says(slack, harbour, question, "Six.")
        await ada.edit(question, "<@BOT> four and four?")
        (after,) = await until_says(slack, harbour, question, "Eight.")
        assert after.ts == before.ts
    assert asked(model) == ["Ada: three and three?", "Ada: four and four?"]


async def test_editing_an_earlier_message_changes_the_chat_but_answers_nothing_anew(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("One.")
    model.say("Two.")
    model.say("Three.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> I am Adda")
        await until_says(slack, harbour, question, "One.")
        await ada.say(harbour, "and you?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "One.", "Two.")
        await ada.edit(question, "<@BOT> I am Ada")
        await slack.wait_until_settled()
        await ada.say(harbour, "who am I?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "One.", "Two.", "Three.")
    said = [m["content"] for m in model.streamed[-1].messages if m["role"] == "user"]
    assert said == ["Ada: I am Ada", "Ada: and you?", "Ada: who am I?"]
    assert len(model.streamed) == 3


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_editing_and_deleting_queued_messages_changes_the_queue(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D11"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Wait"), Gate("wait"), Say(".")], [Say("Now.")])
    async with house(slack, model, database_url, over_http=over_http) as wren:
        question = await ada.say(harbour, "<@BOT> go")
        await until_growing(slack, harbour, question, "Wait")
        mended = await ada.say(harbour, "tow", thread_ts=question.ts)
        dropped = await ada.say(harbour, "never mind", thread_ts=question.ts)
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, lambda chat: chat.queue_length == 2)
        await ada.edit(mended, "two")
        await ada.delete(dropped)
        await wren.replica.until(chat_id, lambda chat: chat.queue_length == 1)
        await slack.wait_until_settled()
        model.release("wait")
        await until_says(slack, harbour, question, "Wait.", "Now.")
        await wren.replica.until(chat_id, ShownStatus.WAITING)
    assert asked(model) == ["Ada: go", "Ada: two"]


@both_ways
async def test_editing_what_is_being_answered_forgets_nobody_who_waits(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("South"), Gate("never")], [Say("North.")], [Say("You too.")])
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> go south")
        await until_growing(slack, harbour, question, "South")
        await bo.say(harbour, "me too", thread_ts=question.ts)
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, lambda chat: chat.queue_length == 1)
        await ada.edit(question, "<@BOT> go north")
        await until_says(slack, harbour, question, "North.", "You too.")
    assert asked(model) == ["Ada: go south", "Ada: go north", "Bo: me too"]


async def test_a_mention_added_by_an_edit_starts_a_chat_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.events.mention_on_edit = True
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "anybody there?")
        await ada.edit(question, "<@BOT> anybody there?")
        await until_says(slack, harbour, question, "All right.")
        await slack.wait_until_settled()
    assert len(model.streamed) == 1
