"""What Slack is sent: within its limits, and without anything in it that pings."""

import json
from typing import Any
from uuid import UUID

import pytest

from adapters.contract import MessageRef, Page, Place, Question
from adapters.slack.buttons import FormOrigin, origin_of_form, press_of, values_of_form
from adapters.slack.form_inputs import errors_of
from adapters.slack.plain_labels import label_of
from adapters.slack.render import (
    edit_arguments,
    form_view,
    nonce_of_message,
    notice_view,
    post_arguments,
)
from engine.chat.form import Field, FieldKind, Form, FormKind, Option, answer_of_fields
from engine.chat.ids import ActionId
from engine.chat.writes import ActionState
from tests.fakes.slack_forms import fill_form
from tests.fakes.slack_limits import check_blocks, check_view
from tests.fakes.slack_text import pings_in, text_leaves

HERE = Place(installation="T1", channel="C1", thread="1700000000.000100")
NONCE = UUID(int=5)
NASTY = "<!channel> <@U1> @here &lt;!everyone&gt; <!subteam^S1> " * 40


def question(form: Form, state: ActionState = ActionState.OPEN, outcome: str = "") -> Question:
    return Question(action_id=ActionId(7), form=form, state=state, outcome=outcome)


def form(kind: FormKind, *labels: str, ask: str = "Which?", fields: tuple[Field, ...] = ()) -> Form:
    options = tuple(Option(label=label, value={"answer": label}) for label in labels)
    return Form(question=ask, kind=kind, options=options, fields=fields)


FIELDS = (
    Field(name="why", label="Why", kind=FieldKind.TEXT, required=True, hint="In a word"),
    Field(name="count", label="Count", kind=FieldKind.INTEGER, minimum=1, maximum=9, initial=3),
    Field(name="ratio", label="Ratio", kind=FieldKind.NUMBER, initial="x"),
    Field(name="now", label="Now", kind=FieldKind.BOOLEAN, initial=True),
    Field(name="day", label="Day", kind=FieldKind.DATE, initial="someday"),
    Field(name="who", label="Who", kind=FieldKind.USER),
    Field(
        name="boat",
        label="Boat",
        kind=FieldKind.CHOICE,
        options=(Option(label="Red", value=1), Option(label="Blue", value={"hue": "b"})),
        initial={"hue": "b"},
    ),
    Field(
        name="crew",
        label="Crew",
        kind=FieldKind.CHOICES,
        options=(Option(label="Ada", value="ada"), Option(label="Bo", value="bo")),
        initial=["bo"],
    ),
)


def test_a_page_is_plain_text_that_is_found_again_by_its_nonce() -> None:
    sent = post_arguments(HERE, Page(text="*Hi*"), NONCE)
    assert (sent["channel"], sent["thread_ts"], sent["text"]) == ("C1", HERE.thread, "*Hi*")
    assert "blocks" not in sent
    assert sent["unfurl_links"] is sent["unfurl_media"] is False
    assert nonce_of_message(sent) == str(NONCE)


@pytest.mark.parametrize(
    "message",
    [{}, {"metadata": None}, {"metadata": {"event_type": "other"}},
     {"metadata": {"event_type": "threadwright_page", "event_payload": []}}],
)  # fmt: skip
def test_other_messages_have_no_nonce(message: dict[str, Any]) -> None:
    assert nonce_of_message(message) is None


def test_a_growing_page_can_be_stopped_while_it_fits_a_section() -> None:
    """D13"""
    short = post_arguments(HERE, Page(text="a" * 3000, can_stop=True), NONCE)
    assert check_blocks(short["blocks"]) == []
    stop = short["blocks"][1]["elements"][0]
    assert press_of({"actions": [stop]}).__class__.__name__ == "StopPressed"
    assert "blocks" not in post_arguments(HERE, Page(text="a" * 3001, can_stop=True), NONCE)


def test_a_final_edit_takes_the_stop_button_away() -> None:
    ref = MessageRef(place=HERE, message_id="1700000001.000200")
    assert edit_arguments(ref, Page(text="Done")) == {
        "channel": "C1",
        "ts": "1700000001.000200",
        "text": "Done",
        "blocks": [],
    }


@pytest.mark.parametrize(
    "shown",
    [
        question(form(FormKind.BUTTONS, *"abcde")),
        question(form(FormKind.BUTTONS, NASTY, NASTY, ask=NASTY)),
        question(form(FormKind.SELECT, *[NASTY] * 100, ask=NASTY)),
        question(form(FormKind.SELECT, *[f"{n}" for n in range(100)], ask="```\n" + NASTY)),
        question(form(FormKind.MODAL, ask=NASTY, fields=FIELDS)),
        question(form(FormKind.BUTTONS, "x", ask="  "), ActionState.ANSWERED, NASTY),
        question(form(FormKind.BUTTONS, "x"), ActionState.EXPIRED, "Nobody answered in time."),
        question(form(FormKind.BUTTONS, "x"), ActionState.CANCELLED, "No answer is needed."),
    ],
)
def test_every_question_is_within_limits_and_pings_nobody(shown: Question) -> None:
    """D7"""
    sent = post_arguments(HERE, shown, NONCE)
    assert check_blocks(sent["blocks"]) == []
    assert len(sent["text"]) <= 4000
    assert pings_in(sent["text"], sent["blocks"]) == frozenset()
    for text in (sent["text"], *(leaf for leaf, _ in text_leaves(sent["blocks"]))):
        assert "<!" not in text
        assert "<@" not in text


def test_buttons_have_unique_ids_and_say_what_they_mean() -> None:
    sent = post_arguments(HERE, question(form(FormKind.BUTTONS, "Yes", "Yes")), NONCE)
    buttons = sent["blocks"][1]["elements"]
    assert len({button["action_id"] for button in buttons}) == 2
    pressed = press_of({"actions": [buttons[1]]})
    assert (pressed.action_id, pressed.option) == (7, 1)  # type: ignore[union-attr]


def test_an_answered_question_has_no_buttons_and_says_who_answered() -> None:
    """D8"""
    shown = question(form(FormKind.BUTTONS, "x"), ActionState.ANSWERED, "Ada answered: x")
    sent = post_arguments(HERE, shown, NONCE)
    assert [block["type"] for block in sent["blocks"]] == ["section", "context"]
    assert "Ada answered: x" in sent["text"]


def test_a_form_takes_every_kind_of_field_there_and_back() -> None:
    """D8"""
    asked = form(FormKind.MODAL, ask=NASTY, fields=FIELDS)
    origin = FormOrigin(
        action_id=ActionId(7), channel="C1", thread=HERE.thread, message_ts="1700000001.000200"
    )
    view = form_view(asked, origin)
    assert check_view(view) == []
    entered = {"Why": "Because", "Ratio": "0.5", "Day": "2026-12-24", "Who": "U1", "Boat": "Red"}
    state = fill_form(view["blocks"], entered)
    payload = {"view": {**view, "state": {"values": state}}}
    assert origin_of_form(payload) == origin
    assert answer_of_fields(asked, values_of_form(payload, asked)) == (
        {
            "why": "Because",
            "count": 3,
            "ratio": 0.5,
            "now": True,
            "day": "2026-12-24",
            "who": "U1",
            "boat": 1,
            "crew": ["bo"],
        },
        {},
    )


def test_a_choice_of_any_value_comes_back_as_it_was() -> None:
    asked = form(FormKind.MODAL, fields=FIELDS[6:7])
    view = form_view(asked, FormOrigin(action_id=ActionId(1), channel="", thread="", message_ts=""))
    payload = {"view": {**view, "state": {"values": fill_form(view["blocks"], {})}}}
    assert values_of_form(payload, asked) == {"boat": {"hue": "b"}}


@pytest.mark.parametrize("raw", ["", "9", "-1", "x", "1e3"])
def test_a_forged_option_is_no_option(raw: str) -> None:
    asked = form(FormKind.MODAL, fields=FIELDS[6:7])
    element = {"type": "static_select", "selected_option": {"value": raw}}
    payload = {"view": {"state": {"values": {"tw:field:0": {"value": element}}}}}
    values = values_of_form(payload, asked)
    result, problems = answer_of_fields(asked, values)
    assert result == {}
    assert set(problems) == ({"boat"} if raw else set())


def test_problems_are_told_by_block() -> None:
    asked = form(FormKind.MODAL, fields=FIELDS)
    assert errors_of(asked, {"count": "Too many"}) == {"tw:field:1": "Too many"}


@pytest.mark.parametrize(
    "metadata", ["", "[]", "{}", '{"action": true}', '{"action": "7"}', "not json"]
)
def test_a_form_that_is_not_ours_is_none(metadata: str) -> None:
    view = {"callback_id": "tw:form", "private_metadata": metadata}
    assert origin_of_form({"view": view}) is None
    assert origin_of_form({"view": {**view, "callback_id": "other"}}) is None


def test_a_notice_is_a_valid_view() -> None:
    assert check_view(notice_view(NASTY[:300])) == []


@pytest.mark.parametrize("text", ["", "a" * 76, "<" * 76, "&" * 75, "x" * 70 + "<<<<<<"])
def test_a_label_is_never_longer_than_allowed_nor_cut_in_an_entity(text: str) -> None:
    label = label_of(text, 75)
    assert 1 <= len(label) <= 75
    assert "&" not in label.replace("&lt;", "").replace("&amp;", "").replace("&gt;", "")


def test_form_metadata_fits() -> None:
    origin = FormOrigin(
        action_id=ActionId(2**62), channel="C" * 30, thread="1" * 30, message_ts="2" * 30
    )
    view = form_view(form(FormKind.MODAL, fields=FIELDS), origin)
    assert len(view["private_metadata"]) < 3000
    assert json.loads(view["private_metadata"])["action"] == 2**62
