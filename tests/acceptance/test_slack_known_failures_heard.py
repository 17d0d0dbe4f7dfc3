"""What other bots on Slack missed, heard twice or answered twice, and is heard once here."""

import pytest

from tests.acceptance.slack_house import answers, both_ways, house, until_asks, until_says
from tests.fakes.model_server import Call, FakeModel, Say
from tests.fakes.slack_server import FakeSlack

both = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


@both
@pytest.mark.parametrize("missing", ["app_mention", "message"])
async def test_one_of_the_two_events_of_a_mention_is_enough(
    slack: FakeSlack, model: FakeModel, database_url: str, missing: str, *, over_http: bool
) -> None:
    """B02: apps that are told of only one of them answer as well."""
    slack.events.unsubscribed.add(missing)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await slack.wait_until_settled()
    assert len(model.streamed) == 1


@both
async def test_a_mention_in_a_direct_message_is_answered_once(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """facts/field.md, nanobot: no app_mention comes there, so nobody may wait for one."""
    ada = slack.user("Ada")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(slack.dm(ada), "<@BOT> hi")
        await until_says(slack, slack.dm(ada), question, "All right.")
        await slack.wait_until_settled()
    assert [request.last_text for request in model.streamed] == ["Ada: hi"]


@both_ways
async def test_an_edit_of_a_mention_that_was_answered_is_no_second_mention(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11, inkeep/agents#2284, openclaw#28834: also told as a mention, it makes no second reply."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("It is at noon.")
    model.say("It is at one.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> when is luhcn?")
        (first,) = await until_says(slack, harbour, question, "It is at noon.")
        await ada.edit(question, "<@BOT> when is lunch?")
        (changed,) = [d for d in slack.deliveries if d.event.get("subtype") == "message_changed"
                      and d.event["message"]["ts"] == question.ts]  # fmt: skip
        mention = changed.event["message"] | {"type": "app_mention", "channel": harbour.id}
        await slack.emit(mention)
        (again,) = await until_says(slack, harbour, question, "It is at one.")
        await slack.wait_until_settled()
    assert again.ts == first.ts
    assert [request.last_text for request in model.streamed] == [
        "Ada: when is luhcn?",
        "Ada: when is lunch?",
    ]


async def test_a_file_at_the_root_of_a_thread_is_told_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """openclaw#99886: it is not brought along again with every message of the thread."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url):
        root = await bo.say(harbour, "Look at this", files=[slack.file("catch.csv", b"cod,3")])
        for count in (1, 2, 3):
            await ada.say(harbour, "<@BOT> what is it?", thread_ts=root.ts)
            await until_says(slack, harbour, root, *["All right."] * count)
    assert str(model.streamed[-1].messages).count("catch.csv") == 1


@both_ways
async def test_a_button_answers_the_question_that_it_is_of(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8, hermes-agent#104915: of two that are open, not simply the oldest."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asks = [
        Call("ask_people", {"question": f"{what}?", "options": ["Yes", "No"]}, f"call_{what}")
        for what in ("Sail", "Row")
    ]
    model.script(asks, [Say("Understood.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> shall we?")
        sail = await until_asks(slack, harbour, question, "Sail?")
        row = await until_asks(slack, harbour, question, "Row?")
        await ada.click(row, "Yes")
        await slack.wait_until(
            lambda: any(m.plain.endswith("Row?\n✅ Ada answered: Yes")
                        for m in answers(slack, harbour, question))
        )  # fmt: skip
        await ada.click(sail, "No")
        await slack.wait_until(lambda: answers(slack, harbour, question)[-1].plain == "Understood.")
    assert model.streamed[-1].tool_result("call_Sail") == {"answer": "No"}
    assert model.streamed[-1].tool_result("call_Row") == {"answer": "Yes"}


@both_ways
async def test_an_approval_outlives_the_process_and_is_given_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8, B29, B30: after a restart the click reaches whatever waits, and the message says who it was."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    ship = Call("ask_people", {"question": "Ship it?", "options": ["Allow", "Deny"]}, "call_ship")
    model.script([ship], [Say("Shipped.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
    async with house(slack, model, database_url):
        delivery = await bo.click(asked, "Allow")
        await until_says(slack, harbour, question, "❓ Ship it?\n✅ Bo answered: Allow", "Shipped.")
        await slack.replay(delivery)
        await ada.click(asked, "Deny")
        await slack.wait_until(lambda: slack.ephemerals(ada))
        await slack.wait_until_settled()
    assert model.streamed[-1].tool_result("call_ship") == {"answer": "Allow"}
    assert len(model.streamed) == 2
    assert slack.ephemerals(bo) == []
