"""How replies arrive: once, complete, in pages, slowed down only where Slack asks for it."""

import asyncio
import re
import time

import pytest

from adapters.slack.limits import PAGE_TEXT_MAX
from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    answers,
    both_ways,
    chat_of,
    house,
    texts,
    until_growing,
    until_says,
    until_true,
)
from tests.fakes.model_server import FakeModel, Gate, Pause, Say, Think
from tests.fakes.slack_server import FakeSlack

LONG = "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(60))
CODE = (
    "Look:\n\n```python\n"
    + "".join(f"    line_{n} = {n} < {n + 1}\n" for n in range(400))
    + "```\n\nDone."
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@both_ways
async def test_a_long_reply_goes_on_in_further_messages(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D5"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    half = len(LONG) // 2
    model.script([Say(LONG[:half]), Gate("half"), Say(LONG[half:])])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await until_growing(slack, harbour, question, "Paragraph")
        model.release("half")
        await slack.wait_until(lambda: "Paragraph 59" in "".join(texts(slack, harbour, question)))
        await slack.wait_until(
            lambda: (
                squeezed(" ".join(texts(slack, harbour, question))) == squeezed(LONG)
                and not any(m.buttons for m in answers(slack, harbour, question))
            )
        )
        shown = answers(slack, harbour, question)
        assert len(shown) > 3
        assert all(len(m.text) <= PAGE_TEXT_MAX for m in shown)


@both_ways
async def test_code_over_several_pages_is_whole_on_each(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D5"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say(CODE)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> code")
        await slack.wait_until(lambda: texts(slack, harbour, question)[-1:] == ["Done."] or
                               "Done." in "".join(texts(slack, harbour, question)[-1:]))  # fmt: skip
        shown = texts(slack, harbour, question)
        assert len(shown) > 1
        assert all(page.count("```") % 2 == 0 for page in shown)
        lines = re.findall(r"    line_(\d+) = \d+ < \d+", "\n".join(shown))
        assert lines == [str(n) for n in range(400)]


async def test_a_page_that_slack_finds_too_long_is_cut_smaller(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D5"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say(LONG)
    slack.fail_next(
        "chat.postMessage",
        error="msg_too_long",
        times=1000,
        when=lambda args: len(str(args.get("text"))) > 2500,
    )
    slack.fail_next(
        "chat.update",
        error="msg_too_long",
        times=1000,
        when=lambda args: len(str(args.get("text"))) > 2500,
    )
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await slack.wait_until(
            lambda: squeezed(" ".join(texts(slack, harbour, question))) == squeezed(LONG),
            timeout=20,
        )


@both_ways
async def test_nothing_that_the_model_says_pings_anybody(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    nasty = (
        f"<!channel> <!here> @everyone <!subteam^S1|crew> {bo.mention} &lt;!channel&gt; `<!here>`"
    )
    model.script([Say(nasty), Gate("mid"), Say(f"\n\n> {nasty}\n\n- [{nasty}](https://x.example)")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> wake them")
        await until_growing(slack, harbour, question, "<!channel>")
        model.release("mid")
        await slack.wait_until(
            lambda: "x.example" in "".join(m.text for m in answers(slack, harbour, question))
        )
    assert not any(m.pings for m in answers(slack, harbour, question))
    for call in slack.calls("chat.postMessage") + slack.calls("chat.update"):
        sent = str(call.args.get("text")) + str(call.args.get("blocks"))
        assert "<!" not in sent
        assert "<@" not in sent


@both_ways
@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_an_error_is_said_once_without_secrets(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    caplog: pytest.LogCaptureFixture,
    *,
    over_http: bool,
) -> None:
    """D9"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.refuse(401, "Incorrect API key provided: sk-canary-secret-1234567890.")
    model.say("Back again.")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: texts(slack, harbour, question))
        (said,) = texts(slack, harbour, question)
        assert said.startswith("⚠️ ")
        await ada.say(harbour, "again", thread_ts=question.ts)
        await until_says(slack, harbour, question, said, "Back again.")
    everything = " ".join(str(call.args) for call in slack.calls()) + caplog.text
    assert "canary" not in everything


@both_ways
async def test_a_failed_attempt_leaves_no_trace(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """E55"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.refuse(503, "busy", headers={"Retry-After": "0"})
    model.say("There you are.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "There you are.")


@both_ways
async def test_an_answer_without_words_gets_a_short_notice(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Think("Nothing to add."), Say(" \u200b\n")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "There was nothing to say.")


async def test_a_post_whose_answer_is_lost_is_found_not_repeated(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.postMessage", drop_connection_after_handling=True)
    model.say("Only once.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "Only once.")
        await until_true(lambda: slack.calls("conversations.replies"))
    assert texts(slack, harbour, question) == ["Only once."]


async def test_a_post_that_never_arrived_is_repeated_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.postMessage", drop_connection_before_handling=True)
    model.say("Only once.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "Only once.")


@both_ways
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_slack_that_is_down_for_a_moment_is_asked_again(
    slack: FakeSlack, model: FakeModel, database_url: str, status: int
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("chat.postMessage", status=status)
    slack.fail_next("chat.update", status=status, times=2)
    model.script([Say("Half"), Gate("half"), Say(" and half.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")


@pytest.mark.parametrize("as_body", [False, True], ids=["http 429", "ok false"])
async def test_when_slack_says_wait_the_newest_text_is_sent_next_and_others_are_not_slowed(
    slack: FakeSlack, model: FakeModel, database_url: str, *, as_body: bool
) -> None:
    """D4"""
    ada = slack.user("Ada")
    harbour, lighthouse = slack.channel("harbour"), slack.channel("lighthouse")
    words = [f"w{n}" for n in range(30)]
    script = [step for word in words for step in (Say(f"{word} "), Pause(0.05))]
    model.script([Say("Start "), Gate("start"), *script], [Say("Quick.")])
    async with house(slack, model, database_url):
        slow = await ada.say(harbour, "<@BOT> slow")
        await until_growing(slack, harbour, slow, "Start")
        limited = slack.fail_next(
            "chat.update",
            **({"error": "ratelimited"} if as_body else {"status": 429}),
            retry_after=1,
            when=lambda args: args["channel"] == harbour.id,
        )
        model.release("start")
        async with asyncio.timeout(10):
            await limited.reached.wait()
        waits_since = time.monotonic()
        quick = await ada.say(lighthouse, "<@BOT> quick")
        await until_says(slack, lighthouse, quick, "Quick.")
        assert time.monotonic() - waits_since < 1
        await until_says(slack, harbour, slow, "Start " + " ".join(words))
    updates = [c for c in slack.calls("chat.update") if c.args["channel"] == harbour.id]
    at = next(n for n, call in enumerate(updates) if call.error == "ratelimited")
    refused, after = updates[at], updates[at + 1]
    assert after.at - refused.at >= 0.99
    # Meanwhile the text has grown, and what was refused is not sent again.
    assert len(str(after.args["text"])) > len(str(refused.args["text"]))


@both_ways
async def test_the_final_text_lands_under_a_hail_of_limits(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    script = [step for n in range(40) for step in (Say(f"w{n} "), Pause(0.03))]
    model.script(script)
    slack.rate_limits.enable_posting()
    slack.fail_next("chat.update", status=429, retry_after=1, times=2)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, " ".join(f"w{n}" for n in range(40)))


async def test_edits_keep_their_distance(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    script = [step for n in range(40) for step in (Say(f"w{n} "), Pause(0.03))]
    model.script(script)
    async with house(slack, model, database_url, edit_interval_ms_min=400):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, " ".join(f"w{n}" for n in range(40)))
    posted = slack.calls("chat.postMessage")[0]
    edits = [call.at for call in slack.calls("chat.update")]
    gaps = [after - before for before, after in zip([posted.at, *edits], edits, strict=False)]
    # The last one is final, and the reader waits for it.
    assert all(gap >= 0.39 for gap in gaps[:-1])
    assert 2 <= len(edits) <= 6


@both_ways
async def test_a_reply_that_people_deleted_stays_deleted(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")], [Say("Next.")])
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Half")
        await ada.delete(harbour.messages[growing.ts])
        model.release("half")
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, ShownStatus.WAITING)
        await ada.say(harbour, "and now?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "Next.")


@both_ways
async def test_a_channel_that_was_archived_is_put_off_and_tried_again(
    slack: FakeSlack, model: FakeModel, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("thinking"), Say("Here.")])
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await model.reached("thinking")
        harbour.is_archived = True
        model.release("thinking")

        async def put_off() -> bool:
            return bool(await wren.engine.deliveries.failing())

        while not await put_off():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        (failing,) = await wren.engine.deliveries.failing()
        assert failing.last_error == "is_archived"
        assert texts(slack, harbour, question) == []
    assert any(getattr(r, "action", "") == "delivery_put_off" for r in caplog.records)


@both_ways
async def test_every_page_can_be_found_again(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say(LONG)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: "Paragraph 59" in "".join(texts(slack, harbour, question)))
    shown = answers(slack, harbour, question)
    nonces = {m.metadata["event_payload"]["nonce"] for m in shown if m.metadata}
    assert len(nonces) == len(shown) > 1


async def test_a_delivery_costs_few_calls(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """A short answer that was ready at once is one post and at most one edit."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await until_true(lambda: wren.adapter.deliveries_held == 0)
    assert len(slack.calls("chat.postMessage")) == 1
    assert len(slack.calls("chat.update")) <= 1
    assert slack.calls("conversations.replies") == []
