"""What made replies of other bots too long, unreadable or silent on Slack, and does not here."""

import re
from pathlib import Path

import pytest

from adapters.slack import limits
from config.slack_stream_settings import SlackStreaming
from tests.acceptance.slack_house import (
    answers,
    both_ways,
    house,
    texts,
    until_asks,
    until_growing,
    until_says,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message
from tests.fakes.slack_stream_state import STREAM_SECONDS_MAX

TORTURE = Path(__file__).parents[1] / "recordings" / "markdown" / "torture"
LONG = "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(45))
TABLE = "\n".join(["| Host | Use |", "|---|---|", *(f"| **db{n}** | {n} % |" for n in range(60))])


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def refused(slack: FakeSlack) -> list[str]:
    """The calls that Slack refused, by method and Slack's word."""
    return [f"{call.method}: {call.error}" for call in slack.calls() if call.error]


async def until_complete(
    slack: FakeSlack, channel: Channel, root: Message, wanted: str
) -> list[str]:
    """Wait until the bot's messages together say this and none may grow."""

    def met() -> bool:
        shown = answers(slack, channel, root)
        is_open = any(m.buttons or m.is_streaming for m in shown)
        return squeezed(" ".join(m.plain for m in shown)) == squeezed(wanted) and not is_open

    await slack.wait_until(met, timeout=25)
    return texts(slack, channel, root)


@both_ways
async def test_no_size_that_a_reply_grows_through_is_refused(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.11, 7.13-7.15: 3000 in a section, 4000 in an edit, 13.2k in all blocks."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    ends = [2_950, 3_050, 3_950, 4_050, 12_050, len(LONG)]
    steps: list[Say | Gate] = []
    for start, end in zip([0, *ends], ends, strict=False):
        steps += [Say(LONG[start:end]), Gate(f"at {end}")]
    model.script(steps)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        for end in ends:
            seen = squeezed(LONG[: end - 400])
            await slack.wait_until(
                lambda: squeezed(" ".join(texts(slack, harbour, question))).startswith(seen)  # noqa: B023
            )
            model.release(f"at {end}")
        await until_complete(slack, harbour, question, LONG)
    assert refused(slack) == []


@pytest.mark.parametrize("slack", [SlackStreaming.AUTO], indirect=True)
async def test_a_long_reply_that_may_not_be_streamed_is_posted_in_pages(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D5, D6, openclaw PR#71124 and #117809: what takes the place of a stream is cut as well."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.startStream", error="not_allowed", times=100)
    half = len(LONG) // 2
    model.script([Say(LONG[:half]), Gate("half"), Say(LONG[half:])])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await slack.wait_until(lambda: len(texts(slack, harbour, question)) > 1)
        model.release("half")
        pages = await until_complete(slack, harbour, question, LONG)
    assert len(pages) > 3
    assert all(len(m.text) <= limits.PAGE_TEXT_MAX for m in answers(slack, harbour, question))
    assert {call.split(":")[0] for call in refused(slack)} == {"chat.startStream"}


@both_ways
async def test_a_table_is_shown_as_one_and_never_as_pipes(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.22, B31: while it grows, when it is complete, and where only text is shown."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    code = "```\n| a | b |\n|---|---|\n| **x** | y |\n```"
    rows = TABLE.split("\n")
    first, rest = "\n".join(rows[:20]), "\n".join(rows[20:])
    model.script([Say(first + "\n"), Gate("half"), Say(f"{rest}\n\n{code}\n\nThat is all.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> show me")
        await slack.wait_until(lambda: "db10" in "".join(texts(slack, harbour, question)))
        assert "|---" not in answers(slack, harbour, question)[0].plain
        model.release("half")
        await slack.wait_until(
            lambda: (
                "That is all." in "".join(texts(slack, harbour, question))
                and not any(m.buttons or m.is_streaming for m in answers(slack, harbour, question))
            )
        )
        shown = answers(slack, harbour, question)
    said = "\n".join(m.plain for m in shown)
    assert re.findall(r"\bdb(\d+)\b", said) == [str(n) for n in range(60)]
    assert "**db" not in said
    assert said.count("|---|---|") == said.count("| **x** | y |") == 1
    for call in slack.calls("chat.postMessage") + slack.calls("chat.update"):
        assert str(call.args["text"]).count("|---|---|") <= 1
        assert "| Host |" not in str(call.args["text"])
        assert "**db" not in str(call.args["text"])
    assert refused(slack) == []


@both_ways
async def test_a_turn_of_very_many_tool_calls_is_answered_all_the_same(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.10, B11: more cards than a message holds blocks cost no word of the answer."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    calls = [Call("no_such_tool", {}, f"call_{n}") for n in range(60)]
    model.script(
        [Say("Let me look."), Gate("a"), *calls], [Say("All is well."), Gate("b"), Say(" Really.")]
    )
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> look everywhere")
        await until_growing(slack, harbour, question, "Let me look.")
        model.release("a")
        await slack.wait_until(lambda: "All is well." in "".join(texts(slack, harbour, question)))
        model.release("b")
        await until_complete(slack, harbour, question, "Let me look. All is well. Really.")


@pytest.mark.parametrize("slack", [SlackStreaming.AUTO], indirect=True)
@pytest.mark.parametrize("ever", [True, False], ids=["closes without text", "never closes"])
@pytest.mark.parametrize("error", ["msg_blocks_too_long", "msg_too_long"])
async def test_an_end_that_is_too_large_with_its_cards_shows_the_answer(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    error: str,
    ever: bool,
) -> None:
    """B11: what a stream with cards refuses at its end is made up for by an edit."""
    monkeypatch.setattr(limits, "STREAM_SECONDS_MAX", 2.0)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    fault = slack.fail_next(
        "chat.stopStream",
        error=error,
        times=1_000,
        when=lambda args: bool(args.get("chunks")) or not ever,
    )
    look = Call("no_such_tool", {}, "call_a")
    model.script([Say("Look:"), look], [Say("Done."), Gate("b"), Say(" Yes.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> look")
        await slack.wait_until(lambda: "Done." in "".join(texts(slack, harbour, question)))
        model.release("b")
        await fault.reached.wait()
        if not ever:
            slack.clock.advance(STREAM_SECONDS_MAX)
        await until_complete(slack, harbour, question, "Look: Done. Yes.")
    assert len(answers(slack, harbour, question)) == 1


@both_ways
async def test_a_very_long_question_is_asked(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.14: a section takes 3000 characters, else invalid_blocks and silence."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asks = {"question": "Ship it? " + "<&> " * 600, "options": ["Yes" * 60, "No"]}
    model.script([Call("ask_people", asks, "call_ship")], [Say("Not shipped.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
        await ada.click(asked, "No")
        await slack.wait_until(lambda: texts(slack, harbour, question)[-1:] == ["Not shipped."])
    assert refused(slack) == []


@both_ways
async def test_an_error_of_any_length_is_said_in_one_message(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D9, facts/slack.md 7.13: an error that is itself too long must not fail in its turn."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.refuse(400, "This model cannot do that. " * 1_000)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: texts(slack, harbour, question))
        (said,) = texts(slack, harbour, question)
        await ada.say(harbour, "and now?", thread_ts=question.ts)
        await until_says(slack, harbour, question, said, "All right.")
    assert said.startswith("⚠️ ")
    assert len(said) < limits.SECTION_TEXT_MAX
    assert refused(slack) == []


@both_ways
async def test_no_control_sequence_of_the_model_is_live(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7, B14: torture/20, and blink's words in capitals that look like ids; targets are not hidden."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    nasty = (TORTURE / "20_slack_controls.md").read_text(encoding="utf-8")
    nasty += "\nUSERNAMES12 UNAUTHORIZED @USERNAMES12"
    half = len(nasty) // 2
    model.script([Say(nasty[:half]), Gate("half"), Say(f"{nasty[half:]}\n\nThat is all.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> repeat")
        await until_growing(slack, harbour, question, "Ping")
        model.release("half")
        await slack.wait_until(
            lambda: (
                "That is all." in "".join(texts(slack, harbour, question))
                and not any(m.buttons or m.is_streaming for m in answers(slack, harbour, question))
            )
        )
        shown = answers(slack, harbour, question)
    assert not any(m.pings for m in shown)
    for call in slack.calls("chat.postMessage") + slack.calls("chat.update"):
        assert not re.search(r"<[@!#]", str(call.args["text"]))
    said = "\n".join(m.plain for m in shown)
    assert "https://evil.example" in said
    assert "USERNAMES12 UNAUTHORIZED" in said
    assert "if (a < b && c > d) x &= y" in said
