"""Calls to Slack that were done while their answer was lost: nobody sees anything twice."""

import pytest

from adapters.slack.surface import CLOCKS_APART_SECONDS
from config.settings import SlackSettings
from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    texts,
    until_asks,
    until_growing,
    until_says,
    until_true,
)
from tests.acceptance.test_slack_questions import BOOKING
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack


async def test_a_reaction_whose_answer_is_lost_is_made_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    lost = slack.fail_next("reactions.add", drop_connection_after_handling=True)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await lost.reached.wait()
        await until_says(slack, harbour, question, "All right.")
    assert len(slack.calls("reactions.add")) == 1
    assert "eyes" in slack.thread(harbour, question)[0].reactions


async def test_a_private_word_whose_answer_is_lost_is_said_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Done."), Gate("never")])
    lost = slack.fail_next("chat.postEphemeral", drop_connection_after_handling=True)
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Done.")
        await ada.say(harbour, "stop", thread_ts=question.ts)
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, ShownStatus.WAITING)
        await ada.say(harbour, "stop", thread_ts=question.ts)
        await lost.reached.wait()
        # A later message proves that the event was dealt with.
        await ada.say(harbour, "and now?", thread_ts=question.ts)
        await slack.wait_until(lambda: "All right." in texts(slack, harbour, question))
        await slack.wait_until_settled()
    assert len(slack.ephemerals(ada)) == 1
    assert len(slack.calls("chat.postEphemeral")) == 1


async def test_a_form_whose_opening_is_not_answered_is_opened_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3, D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Call("book_table", {}, "call_book")], [Say("Booked.")])
    lost = slack.fail_next("views.open", drop_connection_after_handling=True)
    async with house(slack, model, database_url, dynamic_tools=(BOOKING,)):
        question = await ada.say(harbour, "<@BOT> lunch")
        asked = await until_asks(slack, harbour, question, "Book a table")
        await ada.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(ada))
        await lost.reached.wait()
        assert view is not None
        await ada.submit_view(view, {"Guests": "4", "Day": "2026-12-24"})
        await slack.wait_until(lambda: "Booked." in texts(slack, harbour, question))
    assert len(slack.calls("views.open")) == 1


@pytest.mark.parametrize("error", ["ratelimited", "rate_limited"])
async def test_an_edit_that_is_not_ok_drops_no_output(
    slack: FakeSlack, model: FakeModel, database_url: str, error: str
) -> None:
    """D4: slack.md section 7 no. 12: the final edit is refused in a body with status 200."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        refused = slack.fail_next("chat.update", error=error)
        model.release("half")
        await refused.reached.wait()
        await until_says(slack, harbour, question, "Half and half.")


async def test_a_post_that_was_lost_is_found_on_the_last_page_of_a_long_thread(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3: slack.md section 7 no. 18: the newest replies are on the last page, the root on the first."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("typed"), Say("Only once.")])
    slack.fail_next("chat.postMessage", drop_connection_after_handling=True)
    async with house(
        slack, model, database_url, edit_interval_ms_min=SlackSettings().edit_interval_ms_min
    ):
        question = await ada.say(harbour, "<@BOT> hi")
        await model.reached("typed")
        for number in range(450):
            await slack.other_bot("Gull").say(harbour, f"{number}", thread_ts=question.ts)
        model.release("typed")
        await until_says(slack, harbour, question, "Only once.")
        await until_true(lambda: slack.calls("conversations.replies"))
    assert len(answers(slack, harbour, question)) == 1
    pages = slack.calls("conversations.replies")
    posted = slack.calls("chat.postMessage")[0]
    assert len(pages) >= 3
    for page in pages[-3:]:
        assert posted.at - float(page.args["oldest"]) < 2 * CLOCKS_APART_SECONDS
