"""Questions to people: buttons, menus and forms in a thread."""

from datetime import UTC, datetime
from typing import Any

import pytest

from engine.chat.snapshot import Executor
from engine.tools.definition import ToolDefinition
from tests.acceptance.slack_house import (
    answers,
    both_ways,
    house,
    texts,
    until_asks,
    until_says,
)
from tests.fakes.model_server import Call, FakeModel, Say
from tests.fakes.slack_server import FakeSlack

BOOKING = ToolDefinition(
    name="book_table",
    description="Book a table for lunch.",
    input_schema={"type": "object", "properties": {}},
    output_schema={
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "title": "Guests", "minimum": 1, "maximum": 9},
            "day": {"type": "string", "format": "date", "title": "Day"},
            "table": {"enum": ["Window", "Door"], "title": "Table"},
            "note": {"type": "string", "title": "Note"},
        },
        "required": ["guests", "day"],
    },
    executor=Executor.PEOPLE,
)
SHIP = Call("ask_people", {"question": "Ship it?", "options": ["Yes", "No"]}, "call_ship")
MANY = Call("ask_people", {"question": "Which?", "options": list("abcdefg")}, "call_which")

both = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


def result(model: FakeModel, call_id: str) -> Any:
    return model.streamed[-1].tool_result(call_id)


@both
@both_ways
async def test_a_button_answers_and_the_reply_goes_on_below(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Say("All green."), SHIP], [Say("Shipped.")])
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
        assert asked.button_labels == ["Yes", "No"]
        delivery = await bo.click(asked, "Yes")
        assert delivery.is_acked
        shown = await until_says(
            slack, harbour, question, "All green.", "❓ Ship it?\n✅ Bo answered: Yes", "Shipped."
        )
    assert result(model, "call_ship") == {"answer": "Yes"}
    assert shown[1].ts == asked.ts


@both_ways
async def test_buttons_work_after_a_restart_and_their_question_is_mended(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8, B29: the click reaches what waits, once, and the message says who decided."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([SHIP], [Say("Not shipped.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
    async with house(slack, model, database_url):
        await ada.click(asked, "No")
        await until_says(
            slack, harbour, question, "❓ Ship it?\n✅ Ada answered: No", "Not shipped."
        )
    assert len(model.streamed) == 2


async def test_many_options_are_a_menu(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([MANY], [Say("c it is.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> choose")
        asked = await until_asks(slack, harbour, question, "Which?")
        assert asked.menus[0].option_labels == list("abcdefg")
        await ada.choose(asked, "c")
        await until_says(slack, harbour, question, "❓ Which?\n✅ Ada answered: c", "c it is.")
    assert result(model, "call_which") == {"answer": "c"}


@both
async def test_a_form_is_checked_before_it_is_taken(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Call("book_table", {}, "call_book")], [Say("Booked.")])
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(BOOKING,)):
        question = await ada.say(harbour, "<@BOT> lunch")
        asked = await until_asks(slack, harbour, question, "Book a table")
        await ada.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(ada))
        # What a person's Slack would let through, ours need not.
        (guests,) = [b for b in view.content["blocks"] if b.get("block_id") == "tw:field:0"]
        del guests["element"]["max_value"]
        await ada.submit_view(view, {"Guests": "12", "Day": "2026-12-24"})
        assert view.errors == {"tw:field:0": "This must be at most 9."}
        assert view.is_open
        await ada.submit_view(
            view, {"Guests": "4", "Day": "2026-12-24", "Table": "Window", "Note": "a & b <c>"}
        )
        assert not view.is_open
        said = "Ada answered: Guests: 4, Day: 2026-12-24, Table: Window, Note: a & b <c>"
        await until_says(
            slack, harbour, question, f"❓ Book a table for lunch.\n✅ {said}", "Booked."
        )
    assert result(model, "call_book") == {
        "guests": 4,
        "day": "2026-12-24",
        "table": "Window",
        "note": "a & b <c>",
    }


async def test_the_first_answer_wins_and_later_ones_are_told_who_answered(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    people = [slack.user(name) for name in ("Ada", "Bo", "Cy", "Di", "Eve")]
    harbour = slack.channel("harbour")
    model.script([SHIP], [Say("Done.")])
    async with house(slack, model, database_url):
        question = await people[0].say(harbour, "<@BOT> release")
        for person in people[1:]:
            harbour.members.append(person.id)
        asked = await until_asks(slack, harbour, question, "Ship it?")
        for person in people:
            await person.click(asked, "Yes", wait=False)
        await slack.wait_until_settled()
        await slack.wait_until(lambda: "Done." in texts(slack, harbour, question))
        told = await slack.wait_until(
            lambda: [slack.ephemerals(p) for p in people if slack.ephemerals(p)][3:] and True
        )
        assert told
        closed = answers(slack, harbour, question)[0].plain
        (winner,) = [person for person in people if not slack.ephemerals(person)]
        assert closed == f"❓ Ship it?\n✅ {winner.name} answered: Yes"
        for person in people:
            assert [m.plain for m in slack.ephemerals(person)] in (
                [],
                [f"{winner.name} answered this already."],
            )
    assert len(model.streamed) == 2


async def test_a_form_that_comes_too_late_says_who_answered(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    model.script([Call("book_table", {}, "call_book")], [Say("Booked.")])
    async with house(slack, model, database_url, dynamic_tools=(BOOKING,)):
        question = await ada.say(harbour, "<@BOT> lunch")
        asked = await until_asks(slack, harbour, question, "Book a table")
        await ada.click(asked, "Answer…")
        await bo.click(asked, "Answer…")
        await slack.wait_until(lambda: slack.modal(ada) and slack.modal(bo))
        first, second = slack.modal(ada), slack.modal(bo)
        assert first
        assert second
        await ada.submit_view(first, {"Guests": "4", "Day": "2026-12-24"})
        await slack.wait_until(lambda: "Booked." in texts(slack, harbour, question))
        await bo.submit_view(second, {"Guests": "2", "Day": "2026-12-25"})
        shown = slack.modal(bo)
        assert shown
        assert "Ada answered this already." in str(shown.blocks)


async def test_the_same_click_twice_is_one_answer_and_no_reproach(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([SHIP], [Say("Shipped.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
        delivery = await ada.click(asked, "Yes")
        await slack.replay(delivery)
        await ada.click(asked, "Yes")
        await until_says(slack, harbour, question, "❓ Ship it?\n✅ Ada answered: Yes", "Shipped.")
        await slack.wait_until_settled()
        # A last message proves that the clicks were dealt with.
        await ada.say(harbour, "thanks", thread_ts=question.ts)
        await slack.wait_until(lambda: "All right." in texts(slack, harbour, question))
        assert slack.ephemerals(ada) == []


async def test_after_the_deadline_the_buttons_are_gone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    quick = ToolDefinition(
        name="ask_people",
        description="Ask.",
        input_schema={"type": "object", "properties": {"question": {"type": "string"}}},
        output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}},
        executor=Executor.PEOPLE,
        timeout_seconds=1.0,
    )
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Call("ask_people", {"question": "Ship it?"}, "call_ship")])
    began = datetime.now(UTC)
    async with house(slack, model, database_url, dynamic_tools=(quick,)):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Ship it?")
        shown = await until_says(
            slack,
            harbour,
            question,
            "❓ Ship it?\n⌛ Nobody answered in time.",
            "⚠️ Nobody answered in time, so I stopped here. Write again to go on.",
        )
        assert (datetime.now(UTC) - began).total_seconds() > 1
        assert shown[0].ts == asked.ts
        await ada.click(asked, "Yes")
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "Too late" in told.plain


@both_ways
async def test_a_stop_takes_the_question_back(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D13"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One thing:"), SHIP])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        await until_asks(slack, harbour, question, "Ship it?")
        await ada.say(harbour, "stop", thread_ts=question.ts)
        await until_says(
            slack, harbour, question, "One thing:", "❓ Ship it?\n✖️ No answer is needed any more."
        )


@both_ways
async def test_an_edit_takes_the_question_of_the_old_turn_away(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One thing:"), SHIP], [Say("Nothing to ask.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        await until_asks(slack, harbour, question, "Ship it?")
        await ada.edit(question, "<@BOT> do not release")
        await until_says(slack, harbour, question, "Nothing to ask.")


async def test_nothing_in_a_question_pings_anybody(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    nasty = f"<!channel> @here <!everyone> {bo.mention}"
    model.script([Call("ask_people", {"question": nasty, "options": [nasty, "No"]}, "c")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await slack.wait_until(
            lambda: [m for m in answers(slack, harbour, question) if m.buttons]
        )
        await ada.click(asked[0], asked[0].button_labels[0])
        await slack.wait_until(lambda: "answered" in "".join(texts(slack, harbour, question)))
        assert not any(m.pings for m in answers(slack, harbour, question))
    assert not any(
        "<!" in str(call.args.get(name, "")) or "<@" in str(call.args.get(name, ""))
        for call in slack.calls()
        for name in ("text", "blocks")
    )


async def test_a_question_too_long_for_a_block_is_asked_all_the_same(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8, metabase PR#80105: a section over 3000 is invalid_blocks, and must not end in silence."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    long = "Is a < b & b > c? " * 200
    options = [f"{long} {name}" for name in ("Yes", "No")]
    model.script([Call("ask_people", {"question": long, "options": options}, "c")], [Say("Aye.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> release")
        asked = await until_asks(slack, harbour, question, "Is a < b & b > c?")
        labels = asked.button_labels
        assert len(set(labels)) == 2
        await ada.click(asked, labels[1])
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, question))
    assert model.streamed[-1].tool_result("c") == {"answer": options[1]}
    assert [call.error for call in slack.calls("chat.postMessage") if call.error] == []
