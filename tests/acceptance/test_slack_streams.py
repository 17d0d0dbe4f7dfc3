"""Replies that grow as Slack's native streams: without edits, in further messages in time, where Slack takes them."""

import re
from datetime import UTC, datetime

import pytest

from adapters.slack import limits
from config.slack_stream_settings import SlackStreaming, StreamDisplay
from engine.chat.commands import SendMessage
from engine.chat.content import plain
from engine.chat.view import ShownStatus
from engine.tools.builtin import current_time_tool
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    texts,
    until_growing,
    until_says,
    until_true,
)
from tests.acceptance.slack_streams import (
    EDIT,
    POST,
    START,
    STOP,
    half_and_half,
    sent,
    squeezed,
    typed,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import ChannelKind

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.parametrize("slack", [SlackStreaming.AUTO], indirect=True)


async def test_a_reply_grows_without_being_edited(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One"), Gate("a"), Say(" two"), Gate("b"), Say(" three.")])
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, question, "One")
        model.release("a")
        await until_growing(slack, harbour, question, "One two")
        model.release("b")
        (shown,) = await until_says(slack, harbour, question, "One two three.")
        await until_true(lambda: wren.adapter.deliveries_held == 0)
    assert shown.metadata is not None
    assert len(slack.calls(START)) == len(slack.calls(STOP)) == 1
    assert slack.calls(POST) == slack.calls(EDIT) == []
    begun = slack.calls(START)[0].args
    assert (begun["recipient_user_id"], begun["recipient_team_id"]) == (ada.id, "T1")


async def test_in_direct_messages_the_reader_is_named_as_well(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6; facts/slack.md section 7, no. 16."""
    ada = slack.user("Ada")
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(slack.dm(ada), "hi")
        await until_growing(slack, slack.dm(ada), question, "Half")
        model.release("half")
        await until_says(slack, slack.dm(ada), question, "Half and half.")
    begun = slack.calls(START)[0].args
    assert (begun["recipient_user_id"], begun["recipient_team_id"]) == (ada.id, "T1")


async def test_a_short_answer_is_posted_at_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: no empty stream, and nothing twice."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, works=False):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until_settled()
        async with house(slack, model, database_url):
            await until_says(slack, harbour, question, "All right.")
    shown = slack.calls(POST) + slack.calls(START)
    assert len(shown) == 1


async def test_a_tool_is_shown_as_a_card_that_comes_to_its_end(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    clock = Call("current_time", {}, "call_clock")
    model.script([Say("Let me see."), Gate("a"), clock, Gate("b")], [Say("Noon."), Gate("c")])
    clocks = (current_time_tool(lambda: NOON),)
    async with house(slack, model, database_url, tools=clocks, stream_display=StreamDisplay.PLAN):
        question = await ada.say(harbour, "<@BOT> what time is it?")
        await until_growing(slack, harbour, question, "Let me see.")
        model.release("a")
        await slack.wait_until(
            lambda: answers(slack, harbour, question)[0].tasks == (("current_time", "pending"),)
        )
        model.release("b")
        await slack.wait_until(
            lambda: answers(slack, harbour, question)[0].tasks == (("current_time", "complete"),)
        )
        model.release("c")
        (shown,) = await until_says(slack, harbour, question, "Let me see.\n\nNoon.")
    assert shown.tasks == (("current_time", "complete"),)
    assert slack.calls(EDIT) == []
    assert slack.calls(START)[0].args["task_display_mode"] == "plan"


async def test_a_long_reply_goes_on_in_a_further_stream_before_the_first_is_full(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: joined messages are the text, and none had to be edited."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    long = "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(40))
    model.script(typed(long))
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await slack.wait_until(
            lambda: (
                squeezed(" ".join(texts(slack, harbour, question))) == squeezed(long)
                and not any(m.is_streaming for m in answers(slack, harbour, question))
            ),
            timeout=30,
        )
        shown = answers(slack, harbour, question)
    assert len(shown) > 3
    assert all(len(m.text.encode()) <= limits.STREAM_BYTES_USED for m in shown)
    assert all(m.plain.startswith("Paragraph") for m in shown)
    assert slack.calls(EDIT) == []


@pytest.mark.parametrize("kind", ["fence", "list", "table"])
async def test_what_a_further_stream_interrupts_is_opened_again(
    slack: FakeSlack, model: FakeModel, database_url: str, kind: str
) -> None:
    """D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    lines = {
        "fence": ["```python", *(f"    line_{n} = {n} + 1" for n in range(300)), "```"],
        "list": [f"{n + 1}. item line_{n} and more of it" for n in range(200)],
        "table": ["| a | b |", "|---|---|", *(f"| line_{n} | {'x' * 60} |" for n in range(90))],
    }[kind]
    model.script(typed("\n".join(lines), size=60))
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> code")
        count = sum("line_" in line for line in lines)

        def is_told() -> bool:
            shown = answers(slack, harbour, question)
            told = re.findall(r"line_(\d+)\b", "\n".join(m.plain for m in shown))
            is_open = any(m.is_streaming for m in shown)
            return told == [str(n) for n in range(count)] and not is_open

        await slack.wait_until(is_told, timeout=30)
        shown = answers(slack, harbour, question)
    assert len(shown) > 1
    if kind == "fence":
        assert all(m.text.count("```") == 2 for m in shown)
    if kind == "table":
        assert all(m.plain.startswith("a | b\n") for m in shown)
    assert slack.calls(EDIT) == []


async def test_a_slow_reply_goes_on_in_a_further_stream_before_the_first_is_old(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6; facts/slack.md section 7, nos. 7 and 8."""
    monkeypatch.setattr(limits, "STREAM_SECONDS_USED", 3.0)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slow = " ".join(f"word{n}" for n in range(100))
    model.script(typed(slow, size=20, seconds=0.2))
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> slowly")
        await slack.wait_until(
            lambda: (
                squeezed(" ".join(texts(slack, harbour, question))) == slow
                and not any(m.is_streaming for m in answers(slack, harbour, question))
            ),
            timeout=30,
        )
    starts, stops = slack.calls(START), slack.calls(STOP)
    assert len(starts) > 1
    assert all(stop.at - start.at < 4 for start, stop in zip(starts, stops, strict=True))
    assert slack.calls(EDIT) == []


async def test_channels_shared_with_others_are_left_to_edits(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: Slack Connect."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    harbour.is_ext_shared = True
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")
    assert slack.calls(START) == []


async def test_without_starts_left_replies_go_by_edits(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: there are 20 starts a minute in a workspace, and nobody waits for one."""
    slack.rate_limits.enable_tiers()
    people = [slack.user(name) for name in ("Ada", "Bo")]
    channels = [slack.channel(f"pier-{n}") for n in range(8)]
    model.script(*[half_and_half() for _ in channels])
    async with house(slack, model, database_url, call_rate=1.0):
        questions = [await people[n % 2].say(c, "<@BOT> hi") for n, c in enumerate(channels)]
        for channel, question in zip(channels, questions, strict=True):
            await until_growing(slack, channel, question, "Half")
        model.release("half")
        for channel, question in zip(channels, questions, strict=True):
            await slack.wait_until(
                lambda: texts(slack, channel, question) == ["Half and half."],  # noqa: B023
                timeout=30,
            )
    assert 0 < len(slack.calls(START)) < len(channels)
    assert not any(call.status == 429 for call in slack.calls())


async def test_nothing_in_a_stream_pings_anybody(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7: however the model's text is cut into parts."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    nasty = f"Up <!channel> and <!here> @everyone <!subteam^S1|crew> {bo.mention} <#C1|x> `<!here>`"
    model.script(typed(f"{nasty}\n\n> {nasty}\n\n- [{nasty}](https://x.example)\n", size=3))
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> wake them")
        await slack.wait_until(
            lambda: (
                "x.example" in "".join(m.text for m in answers(slack, harbour, question))
                and not any(m.is_streaming for m in answers(slack, harbour, question))
            )
        )
        shown = answers(slack, harbour, question)
    assert not any(m.pings for m in shown)
    grown = ""
    for part in sent(slack):
        grown += part
        outside_code = re.sub(r"`[^`\n]*`?", "", grown)
        assert not re.search(r"<[!@#]", outside_code)


async def test_people_who_are_not_of_slack_are_answered_by_edits(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: there is nobody to name as the reader."""
    harbour = slack.channel("harbour", kind=ChannelKind.CHANNEL)
    ada = slack.user("Ada")
    model.say("Hello.")
    model.script(half_and_half())
    async with house(slack, model, database_url) as wren:
        first = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: texts(slack, harbour, first))
        chat_id = await chat_of(wren, slack, harbour, first)
        await wren.replica.until(chat_id, ShownStatus.WAITING)
        begun = len(slack.calls(START))
        await wren.replica.do(chat_id, SendMessage(content=plain("And now?")))
        await slack.wait_until(lambda: "Half" in texts(slack, harbour, first)[-1])
        model.release("half")
        await slack.wait_until(lambda: texts(slack, harbour, first)[-1] == "Half and half.")
        assert len(slack.calls(START)) == begun
