"""Talking with Wren in Slack: what starts a chat, what goes on with it, what stops it."""

import asyncio

import pytest

from config.settings import BusyBehavior
from engine.chat.commands import Archive
from tests.acceptance.slack_house import (
    answers,
    both_ways,
    chat_of,
    house,
    texts,
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
async def test_a_mention_is_answered_in_its_thread_and_replies_go_on(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.say("Good morning, Ada.")
    model.say("And to you, Bo.")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> Good morning")
        await until_says(slack, harbour, question, "Good morning, Ada.")
        await bo.say(harbour, "Me too", thread_ts=question.ts)
        await until_says(slack, harbour, question, "Good morning, Ada.", "And to you, Bo.")
        await slack.wait_until_settled()
    assert asked(model) == ["Ada: Good morning", "Bo: Me too"]
    assert not [m for m in slack.timeline(harbour) if m.author == "Wren"]


async def test_a_message_is_acknowledged_by_a_reaction(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("thinking"), Say("Hm.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> think")
        await slack.wait_until(lambda: slack.thread(harbour, question)[0].reactions.get("eyes"))
        assert texts(slack, harbour, question) == []
        model.release("thinking")
        await until_says(slack, harbour, question, "Hm.")


@both_ways
async def test_a_direct_message_is_answered_in_a_thread(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada = slack.user("Ada")
    dm = slack.dm(ada)
    async with house(slack, model, database_url):
        first = await ada.say(dm, "hi")
        await until_says(slack, dm, first, "All right.")
        with_mention = await ada.say(dm, "<@BOT> hi")
        await until_says(slack, dm, with_mention, "All right.")


async def test_files_and_broadcast_replies_are_heard(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT>", files=[slack.file("boat.csv", b"a,b")])
        await until_says(slack, harbour, question, "All right.")
        assert "boat.csv" in str(model.streamed[0].messages[-1])
        await ada.say(harbour, "for all", thread_ts=question.ts, broadcast=True)
        await until_says(slack, harbour, question, "All right.", "All right.")
    assert len(model.streamed) == 2


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_nobody_but_people_starts_a_run(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D10"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    gull = slack.other_bot("Gull")
    harbour.members.append(gull.user_id)
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> see https://example.com")
        (answer,) = await until_says(slack, harbour, question, "All right.")
        await gull.say(harbour, "<@BOT> hello")
        await gull.say(harbour, "I think so too", thread_ts=question.ts)
        await slack.team.unfurl(question)
        await slack.team.join(harbour, slack.user("Bo"), inviter=ada)
        await ada.react(answer, "+1")
        await ada.say(harbour, "lunch?")
        # All of it was heard, and a last message proves that it was dealt with before.
        await slack.wait_until_settled()
        await ada.say(harbour, "go on", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
    assert len(model.streamed) == 2


async def test_two_bots_in_one_thread_fall_silent(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D10"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    gull = slack.other_bot("Gull")
    harbour.members.append(gull.user_id)
    model.default = (Say("And what do you say, <@gull>?"),)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> talk to Gull")
        await until_says(slack, harbour, question, "And what do you say, <@gull>?")
        for _ in range(5):
            await gull.say(harbour, "<@BOT> indeed", thread_ts=question.ts)
        await slack.wait_until_settled()
    assert len(model.streamed) == 1


async def test_the_reply_grows_in_one_message(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One"), Gate("a"), Say(" two"), Gate("b"), Say(" three.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> count")
        first = await until_growing(slack, harbour, question, "One")
        assert first.button_labels == ["Stop"]
        model.release("a")
        await until_growing(slack, harbour, question, "One two")
        model.release("b")
        (last,) = await until_says(slack, harbour, question, "One two three.")
    assert last.ts == first.ts
    assert [block["type"] for block in last.blocks] == ["markdown"]


@both_ways
@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_text_typed_meanwhile_waits_its_turn(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D12"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("First"), Gate("first"), Say(".")], [Say("Second.")], [Say("Third.")])
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> one")
        await until_growing(slack, harbour, question, "First")
        await ada.say(harbour, "two", thread_ts=question.ts)
        await ada.say(harbour, "three", thread_ts=question.ts)
        await slack.wait_until(
            lambda: (
                all(m.reactions.get("eyes") for m in slack.thread(harbour, question)[2:])
                and len(slack.thread(harbour, question)) == 4
            )
        )
        model.release("first")
        await until_says(slack, harbour, question, "First.", "Second.", "Third.")
    assert asked(model) == ["Ada: one", "Ada: two", "Ada: three"]


@both_ways
async def test_text_typed_meanwhile_interrupts_where_that_is_wanted(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("First"), Gate("never"), Say(".")], [Say("Second.")])
    async with house(slack, model, database_url, busy_behavior=BusyBehavior.INTERRUPT):
        question = await ada.say(harbour, "<@BOT> one")
        await until_growing(slack, harbour, question, "First")
        await ada.say(harbour, "two", thread_ts=question.ts)
        await until_says(slack, harbour, question, "First\n\nStopped.", "Second.")


@pytest.mark.parametrize("way", ["word", "mention", "button", "reaction", "question", "native"])
@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_stop_means_stop(
    slack: FakeSlack, model: FakeModel, database_url: str, way: str, *, over_http: bool
) -> None:
    """D13"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("So much to"), Gate("never")])
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> tell me all")
        growing = await until_growing(slack, harbour, question, "So much to")
        match way:
            case "word":
                await bo.say(harbour, "Stop!", thread_ts=question.ts)
            case "mention":
                await bo.say(harbour, "<@BOT> stop", thread_ts=question.ts)
            case "button":
                await bo.click(growing, "Stop")
            case "reaction":
                await bo.react(growing, "octagonal_sign")
            case "question":
                await bo.react(question, "octagonal_sign")
            case "native":
                await bo.press_stop(harbour, question.ts)
        await until_says(slack, harbour, question, "So much to\n\nStopped.")
        await model.streamed[0].left.wait()


async def test_stop_takes_effect_at_once_however_long_the_queue(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D13"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Endless"), Gate("never")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> go")
        growing = await until_growing(slack, harbour, question, "Endless")
        for number in range(15):
            await ada.say(harbour, f"and {number}", thread_ts=question.ts)
        await ada.click(growing, "Stop")
        await slack.wait_until(
            lambda: texts(slack, harbour, question)[:1] == ["Endless\n\nStopped."]
        )
        await slack.wait_until(lambda: len(texts(slack, harbour, question)) == 16)


async def test_stopping_what_does_not_run_is_told_to_the_person_alone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await ada.say(harbour, "stop", thread_ts=question.ts)
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "nothing to stop" in told.plain
        assert texts(slack, harbour, question) == ["All right."]


async def test_a_full_queue_is_told_to_the_person_alone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("Busy"), Gate("busy")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> go")
        await until_growing(slack, harbour, question, "Busy")
        for number in range(21):
            await bo.say(harbour, f"and {number}", thread_ts=question.ts)
        (told,) = await slack.wait_until(lambda: slack.ephemerals(bo))
        assert "many messages waiting" in told.plain
        model.release("busy")
        await slack.wait_until(lambda: len(answers(slack, harbour, question)) == 21)


async def test_a_chat_that_was_put_away_is_taken_out_by_a_reply(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.do(chat_id, Archive())
        await ada.say(harbour, "still there?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
        assert not (await wren.replica.view(chat_id)).archived


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_threads_of_one_channel_are_answered_side_by_side(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D12, B27"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("Slow.")])
    async with house(slack, model, database_url, over_http=over_http):
        slow = await ada.say(harbour, "<@BOT> slow")
        await model.reached("slow")
        model.say("Quick.")
        quick = await ada.say(harbour, "<@BOT> quick")
        await until_says(slack, harbour, quick, "Quick.")
        assert texts(slack, harbour, slow) == []
        model.release("slow")
        await until_says(slack, harbour, slow, "Slow.")


async def test_a_mention_without_words_gets_an_answer(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT>")
        await until_says(slack, harbour, question, "All right.")


async def test_a_slash_command_says_how_to_talk(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        delivery = await ada.command("/wren", "hi", harbour)
        assert delivery.is_acked
        (told,) = slack.ephemerals(ada)
        assert "I do not know “hi”" in told.plain


@both_ways
async def test_many_threads_at_once_are_each_answered_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D12"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.answer(lambda request: [Say(f"Echo {request.last_text.split()[-1]}.")])
    async with house(slack, model, database_url):
        asked = [await ada.say(harbour, f"<@BOT> {number}") for number in range(20)]
        await asyncio.gather(
            *(
                until_says(slack, harbour, question, f"Echo {number}.")
                for number, question in enumerate(asked)
            )
        )
    assert len(model.streamed) == 20
