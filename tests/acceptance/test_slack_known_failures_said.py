"""What made other bots lose, repeat or leak what they said on Slack, and does not here."""

import pytest

from config.slack_stream_settings import SlackStreaming
from engine.store.pool import Pool
from tests.acceptance.slack_house import (
    answers,
    both_ways,
    house,
    texts,
    until_growing,
    until_says,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Pause, Say, Step, Think
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_stream_state import STREAM_SECONDS_MAX

_STORED = "SELECT string_agg(c::text, ' ') FROM chats c"


@pytest.mark.parametrize("error", ["ratelimited", "internal_error"])
async def test_edits_of_which_every_third_fails_show_the_complete_text(
    slack: FakeSlack, model: FakeModel, database_url: str, error: str
) -> None:
    """D4, B08, facts/slack.md 7.12: HTTP 200 with ok false is no success."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    words = [f"w{n}" for n in range(40)]
    edits = iter(range(1, 10_000))
    refused = slack.fail_next(
        "chat.update", error=error, times=1000, when=lambda _: next(edits) % 3 == 0
    )
    pieces = [step for word in words for step in (Say(f"{word} "), Pause(0.03))]
    model.script([Say("Start "), Gate("start"), *pieces, Gate("end"), Say("and no more.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, question, "Start")
        model.release("start")
        await refused.reached.wait()
        model.release("end")
        await until_says(slack, harbour, question, f"Start {' '.join(words)} and no more.")


@pytest.mark.parametrize("slack", [SlackStreaming.AUTO], indirect=True)
async def test_streams_that_die_again_and_again_lose_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6, B10, facts/slack.md 7.7, 7.8: whatever is said after each death is shown, once."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    steps: list[Step] = []
    for number in range(4):
        steps += [Say(f"Part {number}. "), Gate(f"after {number}")]
    model.script([*steps, Say("The end.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> go on")
        for number in range(4):
            said = " ".join(f"Part {n}." for n in range(number + 1))
            await slack.wait_until(
                lambda: " ".join(texts(slack, harbour, question)).startswith(said)  # noqa: B023
            )
            slack.clock.advance(STREAM_SECONDS_MAX)
            model.release(f"after {number}")
        await slack.wait_until(
            lambda: (
                " ".join(texts(slack, harbour, question)) == f"{said} The end."
                and not any(m.is_streaming or m.buttons for m in answers(slack, harbour, question))
            )
        )


SILENT: dict[str, list[Step]] = {
    "nothing": [],
    "reasoning": [Think("Nothing to add.")],
    "blanks": [Say(" \n\t \n")],
    "zero width": [Say("\u200b\u200b\u2060")],
    "a marker": [Say("```\n```")],
}


@both_ways
@pytest.mark.parametrize("script", SILENT.values(), ids=SILENT.keys())
async def test_an_answer_with_nothing_to_see_is_a_notice_and_no_empty_message(
    slack: FakeSlack, model: FakeModel, database_url: str, script: list[Step]
) -> None:
    """B19: Slack would say no_text, and a placeholder would stay."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("thinking"), *script], [Say("Back.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        model.release("thinking")
        await until_says(slack, harbour, question, "There was nothing to say.")
        await ada.say(harbour, "and now?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "There was nothing to say.", "Back.")
    assert "no_text" not in [call.error for call in slack.calls()]


@both_ways
async def test_a_turn_of_tools_alone_ends_with_a_notice(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B19"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Call("no_such_tool", {}, "call_a")], [Say("")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "There was nothing to say.")


CANARIES = {
    "provider key": "Incorrect API key provided: sk-canary-1234567890abcdef.",
    "bot token": "Upstream said: token xoxb-canary-1234567890-abcdef is wrong.",
    "address with a key": "POST https://api.example/v1/chat?key=canary1234567890abcdef failed.",
    "database": "could not connect to postgresql://wren:canary123456@db.internal/harbour",
    "header": "Authorization: Bearer canary-1234567890abcdef was refused",
}


@both_ways
@pytest.mark.parametrize("status", [400, 401, 503])
@pytest.mark.parametrize("said", CANARIES.values(), ids=CANARIES.keys())
async def test_no_secret_that_an_error_quotes_reaches_thread_log_or_table(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    pool: Pool,
    caplog: pytest.LogCaptureFixture,
    *,
    said: str,
    status: int,
) -> None:
    """D9, B25: the thread gets words that a person can act on."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    for _ in range(2):
        model.refuse(status, said, headers={"Retry-After": "0"})
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(
            lambda: any("⚠️" in t or t == "All right." for t in texts(slack, harbour, question))
        )
    sent = " ".join(str(call.args) for call in slack.calls())
    logged = " ".join(str(vars(record)) for record in caplog.records)
    async with pool.session() as connection:
        stored = str(await connection.fetchval(_STORED))
    assert "canary" not in sent + logged + stored
