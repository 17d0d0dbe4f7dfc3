"""The slash command: what it answers to its person alone, what it begins and what it stops."""

import asyncio
from dataclasses import replace

import pytest

from tests.acceptance.slack_house import (
    chat_of,
    house,
    texts,
    until_growing,
    until_says,
)
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_deliveries import Delivery, DeliveryKind
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message

COMMAND = "/agent"


async def until_told(slack: FakeSlack, person: Person, *words: str) -> ShownMessage:
    """Wait until the person alone is told something with these words."""

    def met() -> ShownMessage | None:
        said = [m for m in slack.ephemerals(person) if all(word in m.plain for word in words)]
        return said[-1] if said else None

    found = await slack.wait_until(met)
    assert found is not None
    return found


async def until_asked(slack: FakeSlack, channel: Channel, words: str) -> ShownMessage:
    """Wait until a question is posted for somebody in the channel itself."""

    def met() -> ShownMessage | None:
        return next((m for m in slack.timeline(channel) if words in m.plain), None)

    found = await slack.wait_until(met)
    assert found is not None
    return found


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
@pytest.mark.parametrize("text", ["", "  HELP  ", "hlep me <!channel>", "sto p"])
async def test_help_is_shown_at_once_and_to_its_person_alone(
    slack: FakeSlack, model: FakeModel, database_url: str, text: str, *, over_http: bool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http):
        delivery = await ada.command(COMMAND, text, harbour)
    assert delivery.is_acked
    (told,) = slack.ephemerals(ada)
    assert "/agent" in told.plain
    assert "`usage`" in told.text
    assert not told.pings
    assert slack.timeline(harbour) == []
    assert ("Did you mean `help`?" in told.text) is text.startswith("hlep")


async def test_new_begins_a_chat_that_is_answered_in_the_thread_of_its_question(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("Low at nine.")
    model.say("And at noon.")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, " New  When is &lt;low&gt; tide? <!channel> ", harbour)
        asked = await until_asked(slack, harbour, "When is <low> tide?")
        await until_says(slack, harbour, asked.ts, "Low at nine.")
        await ada.say(harbour, "And then?", thread_ts=asked.ts)
        await until_says(slack, harbour, asked.ts, "Low at nine.", "And at noon.")
    assert asked.pings <= {ada.id}
    assert model.streamed[0].last_text == "Ada: When is <low> tide? @channel"
    assert len(slack.timeline(harbour)) == 1


async def test_a_question_whose_post_is_of_unknown_outcome_is_posted_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 3.4: a post is looked for before it is sent a second time."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    lost = slack.fail_next("chat.postMessage", drop_connection_after_handling=True)
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new Hello", harbour)
        asked = await until_asked(slack, harbour, "Hello")
        await until_says(slack, harbour, asked.ts, "All right.")
    assert lost.reached.is_set()
    assert len(slack.timeline(harbour)) == 1


async def test_a_command_that_comes_twice_is_carried_out_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        delivery = await ada.command(COMMAND, "new Hello", harbour)
        asked = await until_asked(slack, harbour, "Hello")
        await slack.replay(delivery)
        await slack.wait_until_settled()
        await until_says(slack, harbour, asked.ts, "All right.")
    assert len(slack.timeline(harbour)) == 1
    assert len(model.streamed) == 1


async def test_two_replicas_share_the_orders_of_a_workspace(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """Whichever socket an order comes by, whichever replica carries it out: once, and told once."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url), house(slack, model, database_url):
        for number in range(6):
            await ada.command(COMMAND, f"new Question {number}", harbour)
        for number in range(6):
            asked = await until_asked(slack, harbour, f"Question {number}")
            await until_says(slack, harbour, asked.ts, "All right.")
        await ada.command(COMMAND, "status", harbour)
        listed = await until_told(slack, ada, "Your chats in this channel")
    assert len(slack.timeline(harbour)) == 6
    assert len(model.streamed) == 6
    assert all(f"Question {number}" in listed.plain for number in range(6))
    assert len(slack.ephemerals(ada)) == 1


@pytest.mark.parametrize("archived", [False, True])
async def test_where_nothing_can_be_posted_the_person_is_told_why(
    slack: FakeSlack, model: FakeModel, database_url: str, *, archived: bool
) -> None:
    ada, bo = slack.user("Ada"), slack.user("Bo")
    elsewhere = slack.channel("elsewhere", members=() if archived else (bo,))
    if archived:
        elsewhere.members.append(slack.bot.user_id)
        elsewhere.is_archived = True
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new Hello", elsewhere)
        await until_told(slack, ada, "archived" if archived else "Invite me")
    assert slack.timeline(elsewhere) == []
    assert not model.streamed


async def test_stop_stops_the_only_chat_that_runs_for_its_person(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("Ada's tale "), Gate("ada"), Say("goes on.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell")
        await until_growing(slack, harbour, question, "Ada's tale")
        await bo.command(COMMAND, "stop", harbour)
        await until_told(slack, bo, "nothing for you")
        assert "stopped" not in texts(slack, harbour, question)[0]
        await ada.command(COMMAND, "STOP", harbour)
        await until_told(slack, ada, "I stop “")
        await slack.wait_until(lambda: not _is_open(slack, harbour, question))
        await ada.command(COMMAND, "stop", harbour)
        await until_told(slack, ada, "nothing for you")


async def test_of_several_running_chats_the_person_chooses_which_one_to_stop(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One "), Gate("one"), Say("done.")])
    model.script([Say("Two "), Gate("two"), Say("done.")])
    async with house(slack, model, database_url) as wren:
        first = await ada.say(harbour, "<@BOT> one *bold* <!here>")
        await until_growing(slack, harbour, first, "One")
        second = await ada.say(harbour, "<@BOT> two")
        await until_growing(slack, harbour, second, "Two")
        await ada.command(COMMAND, "stop", harbour)
        listed = await until_told(slack, ada, "Which one do I stop?")
        chat_id = await chat_of(wren, slack, harbour, first)
        stops = [button for button in listed.buttons if button.label == "Stop"]
        assert len(stops) == 2
        assert not listed.pings
        wanted = next(each for each in stops if each.value == str(chat_id))
        await ada.click(_with_only(listed, wanted.block_id), "Stop")
        await until_told(slack, ada, "I stop “")
        await slack.wait_until(lambda: not _is_open(slack, harbour, first))
        assert _is_open(slack, harbour, second)
        model.release("two")
        await until_says(slack, harbour, second, "Two done.")


async def test_nobody_stops_a_chat_of_somebody_else_by_a_button(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("One "), Gate("one"), Say("done.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> one")
        await until_growing(slack, harbour, question, "One")
        await ada.command(COMMAND, "status", harbour)
        listed = await until_told(slack, ada, "working")
        await bo.click(listed, "Stop")
        # The fake shows the answer in place of the list, whoever pressed.
        await until_told(slack, ada, "none of your chats")
        assert _is_open(slack, harbour, question)
        model.release("one")
        await until_says(slack, harbour, question, "One done.")


async def test_status_lists_the_persons_chats_here_with_their_links(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    quay = slack.channel("quay")
    async with house(slack, model, database_url):
        await bo.say(harbour, "<@BOT> Bo's")
        question = await ada.say(harbour, "<@BOT> When is low tide?")
        await until_says(slack, harbour, question, "All right.")
        await ada.command(COMMAND, "status", harbour)
        listed = await until_told(slack, ada, "When is low tide?", "at rest")
        await ada.command(COMMAND, "status", quay)
        await until_told(slack, ada, "no chats")
    assert "Bo's" not in listed.plain
    assert question.ts.replace(".", "") in listed.control("Open").element["url"]


async def test_usage_tells_what_the_person_has_spent(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "usage", harbour)
        told = await until_told(slack, ada, "You have spent")
    assert "this month; there is no limit" in told.plain


async def test_tools_tells_what_the_bot_can_use(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tools = {"chart": "Draws <charts>.", "tide": ""}
    async with house(slack, model, database_url, bot_tools=tools):
        await ada.command(COMMAND, "tools", harbour)
        told = await until_told(slack, ada, "chart")
    assert "Draws <charts>." in told.plain


async def test_an_answer_whose_address_is_over_is_told_beside_the_channel(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, works=False):
        await ada.command(COMMAND, "tools", harbour)
        await until_told(slack, ada, "I have no tools")
        assert not slack.calls("chat.postEphemeral")
        slack.backend.triggers.end_urls()
        body = slack.deliveries[-1].body | {"trigger_id": "1.2.other"}
        await slack.replay(Delivery(id="1.2.other", kind=DeliveryKind.COMMAND, body=body))
        await slack.wait_until(lambda: slack.calls("chat.postEphemeral"))
        await slack.wait_until(lambda: len(slack.ephemerals(ada)) == 2)


async def test_an_answer_never_goes_to_a_foreign_address(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    callers: list[object] = []
    async with house(slack, model, database_url), await _listen(callers) as stranger:
        delivery = await ada.command(COMMAND, "help", harbour)
        port = stranger.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/steal"
        foreign = {"text": "tools", "trigger_id": "1.2.other", "response_url": url}
        body = delivery.body | foreign
        await slack.replay(Delivery(id="1.2.other", kind=DeliveryKind.COMMAND, body=body))
        await slack.wait_until(lambda: slack.calls("chat.postEphemeral"))
    assert slack.calls("chat.postEphemeral")[0].args["user"] == ada.id
    assert not callers


async def _listen(callers: list[object]) -> asyncio.Server:
    def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        callers.append(writer)
        writer.close()

    return await asyncio.start_server(note, "127.0.0.1", 0)


def _is_open(slack: FakeSlack, channel: Channel, root: Message) -> bool:
    shown = slack.replies(channel, root)
    return any(message.buttons or message.is_streaming for message in shown)


def _with_only(shown: ShownMessage, block_id: str) -> ShownMessage:
    return replace(shown, buttons=tuple(b for b in shown.buttons if b.block_id == block_id))
