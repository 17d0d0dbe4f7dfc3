"""Modals and menus of questions on Slack: what they begin with, what is refused in them, and what keeps them from opening."""

from typing import Any

import pytest

from adapters.slack.form_pages import INPUTS_MAX
from adapters.slack.forms import NOT_OPENED, TOO_LATE, TOO_MANY
from engine.chat.view import ShownStatus
from engine.tools.definition import ToolDefinition
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    texts,
    until_asks,
    until_says,
    until_true,
)
from tests.acceptance.slack_tools import people_tool
from tests.fakes.model_server import Call, FakeModel, Say
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message, View

NOTE = people_tool({"note": {"type": "string", "title": "Note"}, "more": {"type": "string"}})
TRIP = people_tool(
    {
        "crew": {"type": "integer", "title": "Crew", "minimum": 1, "maximum": 9},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "code": {"type": "string", "title": "Code", "pattern": "^[A-Z]+$", "maxLength": 4},
        "berths": {"type": "array", "items": {"enum": ["n", "s", "w"]}, "title": "Berths"},
        "night": {"type": "boolean", "title": "Night"},
        "who": {"type": "string", "format": "user", "title": "Who"},
        "pilots": {
            "type": "array",
            "items": {"type": "string", "format": "user"},
            "title": "Pilots",
        },
        "stops": {"type": "array", "items": {"type": "string"}, "title": "Stops"},
        "boat": {"enum": ["Marigold", "Petrel"], "title": "Boat"},
    },
    required=("crew", "code"),
)

both = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


async def asked(
    slack: FakeSlack,
    model: FakeModel,
    asker: Person,
    channel: Channel,
    args: dict[str, Any] | None = None,
) -> tuple[Message, ShownMessage]:
    """Have somebody ask, so that Wren asks back."""
    call = Call("ask_crew", {"question": "Where to?", **(args or {})}, "call_trip")
    model.script([call], [Say("Aye.")])
    root = await asker.say(channel, "<@BOT> shall we?")
    return root, await until_asks(slack, channel, root, "Where to?")


async def opened(slack: FakeSlack, person: Person, shown: ShownMessage) -> View:
    """The form that the button opens."""
    await person.click(shown, "Answer…")
    return await slack.wait_until(lambda: slack.modal(person))


async def until_told(slack: FakeSlack, person: Person, text: str) -> None:
    (told,) = await slack.wait_until(lambda: slack.ephemerals(person))
    assert told.plain == text


def result(model: FakeModel) -> Any:
    return model.streamed[-1].tool_result("call_trip")


@both
async def test_a_form_begins_with_what_the_call_proposes(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8: sent as it is, it is the answer that was proposed."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    proposed: dict[str, Any] = {
        "crew": 3,
        "day": "2026-12-24",
        "code": "ABC",
        "berths": ["n", "w"],
        "night": False,
        "who": bo.id,
        "pilots": [ada.id, bo.id],
        "stops": ["North & <south>", "east"],
        "boat": "Petrel",
    }
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(TRIP,)):
        root, question = await asked(slack, model, ada, harbour, proposed)
        await ada.submit_view(await opened(slack, ada, question))
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
        closed = answers(slack, harbour, root)[0]
        assert "Who: Bo, Pilots: Ada, Bo, Stops:" in closed.plain
        assert "Who: Bo, Pilots: Ada, Bo, Stops:" in closed.text
        assert not closed.pings
    assert result(model) == proposed


async def test_what_slack_would_not_take_is_left_out_and_the_form_still_opens(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    odd: dict[str, Any] = {
        "crew": 77,
        "day": "2026-02-30",
        "code": "TOO LONG",
        "berths": ["nowhere"],
        "night": "perhaps",
        "who": "the captain",
        "pilots": ["Ada"],
        "stops": ["x" * 4000],
        "boat": "Titanic",
    }
    async with house(slack, model, database_url, dynamic_tools=(TRIP,)):
        root, question = await asked(slack, model, ada, harbour, odd)
        view = await opened(slack, ada, question)
        assert "initial" not in str(view.content["blocks"])
        await ada.submit_view(view, {"Crew": "2", "Code": "AB"})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
    assert result(model) == {"crew": 2, "code": "AB"}


async def test_a_user_who_is_gone_keeps_no_form_from_opening(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: what nobody can know before is refused by Slack, and the form opens without."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, dynamic_tools=(TRIP,)):
        root, question = await asked(slack, model, ada, harbour, {"who": "U0GONE", "crew": 3})
        view = await opened(slack, ada, question)
        assert [call.error for call in slack.calls("views.open")] == ["invalid_arguments", None]
        await ada.submit_view(view, {"Crew": "2", "Code": "AB"})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
        assert slack.ephemerals(ada) == []


@both
async def test_what_does_not_fit_is_said_beside_its_field(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(TRIP,)):
        root, question = await asked(slack, model, ada, harbour)
        view = await opened(slack, ada, question)
        delivery = await ada.submit_view(view, {"Crew": "2", "Code": "abc"})
        assert view.errors == {"tw:field:2": "This is not written as it is expected."}
        assert delivery.acked_at is not None
        assert delivery.acked_at - delivery.attempts[0].at < 3
        assert view.is_open
        assert [m.plain for m in answers(slack, harbour, root)] == ["❓ Where to?"]
        await ada.submit_view(view, {"Crew": "2", "Code": "ABC"})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
    assert result(model) == {"crew": 2, "code": "ABC"}


@both
async def test_a_trigger_that_is_over_is_told_and_the_next_press_opens_the_form(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8, slackapi/bolt-python#886 and #772: expired_trigger_id loses nothing and is no silence."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(NOTE,)):
        root, question = await asked(slack, model, ada, harbour)
        fault = slack.fail_next("views.open", hang=True)
        await ada.click(question, "Answer…")
        await until_true(lambda: slack.calls("views.open"))
        slack.clock.advance(4)
        fault.release()
        await until_told(slack, ada, TOO_LATE)
        assert [call.error for call in slack.calls("views.open")] == ["expired_trigger_id"]
        await ada.submit_view(await opened(slack, ada, question), {"Note": "aye"})
        await until_says(slack, harbour, root, "❓ Where to?\n✅ Ada answered: Note: aye", "Aye.")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"error": "exchanged_trigger_id"}, TOO_LATE),
        ({"status": 429, "retry_after": 1}, TOO_MANY),
        ({"status": 503}, NOT_OPENED),
        ({"drop_connection_before_handling": True}, NOT_OPENED),
        (
            {"error": "access_denied", "times": 2},
            "Slack does not let me open this form (access_denied). "
            "Please tell whoever looks after me here.",
        ),
    ],
    ids=["exchanged", "too many", "away", "dropped", "denied"],
)
async def test_whatever_keeps_a_form_from_opening_is_said_to_whoever_pressed(
    slack: FakeSlack, model: FakeModel, database_url: str, fault: dict[str, Any], words: str
) -> None:
    """D8: nothing is lost, the button is still there."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, dynamic_tools=(NOTE,)):
        root, question = await asked(slack, model, ada, harbour)
        slack.fail_next("views.open", **fault)
        await ada.click(question, "Answer…")
        await until_told(slack, ada, words)
        assert slack.ephemerals(bo) == []
        await ada.submit_view(await opened(slack, ada, question), {"Note": "aye"})
        await until_says(slack, harbour, root, "❓ Where to?\n✅ Ada answered: Note: aye", "Aye.")


@both
async def test_a_form_that_is_closed_changes_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(
        slack, model, database_url, over_http=over_http, dynamic_tools=(NOTE,)
    ) as wren:
        root, question = await asked(slack, model, ada, harbour)
        view = await opened(slack, ada, question)
        # Ours do not ask to be told; a view of an older release might have.
        view.content["notify_on_close"] = True
        delivery = await ada.close_view(view)
        assert delivery
        assert delivery.is_acked
        chat_id = await chat_of(wren, slack, harbour, root)
        assert (await wren.replica.view(chat_id)).status is ShownStatus.REQUIRES_ACTION
        await ada.submit_view(await opened(slack, ada, question), {"Note": "aye"})
        await until_says(slack, harbour, root, "❓ Where to?\n✅ Ada answered: Note: aye", "Aye.")


async def test_a_form_is_opened_by_one_replica_and_taken_by_another(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D8: the modal is older than the process that takes it."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, redis_url=redis_url, dynamic_tools=(NOTE,)):
        root, question = await asked(slack, model, ada, harbour)
        view = await opened(slack, ada, question)
    async with house(slack, model, database_url, redis_url=redis_url, dynamic_tools=(NOTE,)):
        await ada.submit_view(view, {"Note": "aye"})
        await until_says(slack, harbour, root, "❓ Where to?\n✅ Ada answered: Note: aye", "Aye.")


# -- many options ----------------------------------------------------------------------------------

BERTHS = [f"Berth {number}" for number in range(250)]


@both
async def test_more_options_than_a_menu_holds_are_all_reachable(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8: answered from the database, so after a restart too."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tool = people_tool({"berth": {"enum": BERTHS}})
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        root, question = await asked(slack, model, ada, harbour)
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        first = await ada.search(question, "")
        assert [option["text"]["text"] for option in first] == BERTHS[:100]
        (found,) = await ada.search(question, "berth 249")
        await ada.choose(question, found)
        await until_says(slack, harbour, root, "❓ Where to?\n✅ Ada answered: Berth 249", "Aye.")
        assert await ada.search(question, "berth 249") == []
    assert result(model) == {"berth": "Berth 249"}


@both
async def test_more_options_than_a_field_holds_are_all_reachable(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tool = people_tool(
        {
            "berth": {"enum": BERTHS, "title": "Berth"},
            "others": {"type": "array", "items": {"enum": BERTHS}, "title": "Others"},
        }
    )
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        root, question = await asked(slack, model, ada, harbour, {"others": ["Berth 200"]})
        view = await opened(slack, ada, question)
        (berth,) = await ada.search(view, "249", "Berth")
        others = await ada.search(view, "Berth 24", "Others")
        assert len(others) == 11
        await ada.submit_view(view, {"Berth": berth, "Others": others[:2]})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
    assert result(model) == {"berth": "Berth 249", "others": ["Berth 24", "Berth 240"]}


# -- long forms ------------------------------------------------------------------------------------


def long_form() -> ToolDefinition:
    names = [f"Field {number}" for number in range(INPUTS_MAX + 2)]
    return people_tool(
        {name: {"type": "string", "title": name, "maxLength": 9} for name in names},
        required=("Field 0", names[-1]),
    )


@both
async def test_more_fields_than_a_modal_holds_are_filled_in_page_by_page(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8: the pages before the last are kept, also by another replica, and checked when they are left."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    tool = long_form()
    last = f"Field {INPUTS_MAX + 1}"
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        root, question = await asked(slack, model, ada, harbour, {last: "there"})
        view = await opened(slack, ada, question)
        assert view.title == "Your answer (1/2)"
        await ada.submit_view(view, {"Field 0": "here", "Field 7": "seven"})
        assert slack.modal(ada) is view
        assert view.title == "Your answer (2/2)"
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        await ada.submit_view(view, {f"Field {INPUTS_MAX}": "late"})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
    assert result(model) == {
        "Field 0": "here",
        "Field 7": "seven",
        f"Field {INPUTS_MAX}": "late",
        last: "there",
    }


async def test_a_long_form_that_was_closed_goes_on_with_what_was_filled_in(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: everybody finds their own pages again."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, dynamic_tools=(long_form(),)):
        root, question = await asked(slack, model, ada, harbour)
        view = await opened(slack, ada, question)
        await ada.submit_view(view, {"Field 0": "mine", "Field 1": "gone"})
        await ada.close_view(view)
        assert "mine" not in str((await opened(slack, bo, question)).blocks)
        view = await opened(slack, ada, question)
        await ada.submit_view(view, {"Field 1": None})
        await ada.submit_view(view, {f"Field {INPUTS_MAX + 1}": "end"})
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
    assert result(model) == {"Field 0": "mine", f"Field {INPUTS_MAX + 1}": "end"}


# -- hostile words ---------------------------------------------------------------------------------


async def test_nothing_in_a_form_or_its_outcome_pings_anybody(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7: labels, hints, options, what is filled in, and the name of who did it."""
    nasty = "<!channel> @here <!everyone> &lt;!here&gt; *b* <@U1>"
    ada, harbour = slack.user(nasty), slack.channel("harbour")
    tool = people_tool(
        {
            "pick": {"enum": [nasty, nasty + "2"], "title": nasty, "description": nasty},
            "note": {"type": "string", "title": "Note", "description": nasty, "default": nasty},
        }
    )
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, question = await asked(slack, model, ada, harbour)
        view = await opened(slack, ada, question)
        await ada.submit_view(view)
        await slack.wait_until(lambda: "Aye." in texts(slack, harbour, root))
        assert not any(m.pings for m in answers(slack, harbour, root))
    for call in slack.calls():
        shown = str([call.args.get(name) for name in ("text", "blocks")])
        labels = str([b.get("label") for b in (call.args.get("view") or {}).get("blocks", [])])
        for text in (shown, labels):
            assert "<!" not in text
            assert "<@" not in text
    assert result(model) == {"note": nasty}
