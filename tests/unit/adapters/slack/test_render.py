"""What Slack is sent: within its limits, and without anything in it that pings."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from adapters.contract import MessageRef, Page, Place, Question
from adapters.slack.buttons import (
    AnswerPressed,
    OptionsWanted,
    answer_value,
    options_wanted,
    press_of,
)
from adapters.slack.option_menus import found_options
from adapters.slack.plain_labels import distinct_labels, label_of
from adapters.slack.question_blocks import named_users
from adapters.slack.render import edit_arguments, nonce_of_message, post_arguments
from engine.chat.answerers import Answerers
from engine.chat.content import Author
from engine.chat.form import Field, FieldKind, Form, FormKind, Option
from engine.chat.ids import ActionId
from engine.chat.writes import ActionState
from tests.fakes.slack_limits import check_blocks
from tests.fakes.slack_text import pings_in, text_leaves

HERE = Place(installation="T1", channel="C1", thread="1700000000.000100")
NONCE = UUID(int=5)
NASTY = "<!channel> <@U1> @here &lt;!everyone&gt; <!subteam^S1> " * 40


def question(form: Form, state: ActionState = ActionState.OPEN, outcome: str = "") -> Question:
    return Question(action_id=ActionId(7), form=form, state=state, outcome=outcome)


def form(kind: FormKind, *labels: str, ask: str = "Which?", fields: tuple[Field, ...] = ()) -> Form:
    options = tuple(Option(label=label, value={"answer": label}) for label in labels)
    return Form(question=ask, kind=kind, options=options, fields=fields)


FIELDS = (Field(name="why", label="Why", kind=FieldKind.TEXT, required=True),)


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
        question(form(FormKind.SELECT, *[f"{n}" for n in range(101)])),
        question(form(FormKind.BUTTONS, *["<&>" * 400] * 5)),
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


@pytest.mark.parametrize("text", ["", "a" * 76, "<" * 76, "&" * 75, "x" * 70 + "<<<<<<"])
def test_a_label_is_never_longer_than_allowed_nor_cut_in_an_entity(text: str) -> None:
    label = label_of(text, 75)
    assert 1 <= len(label) <= 75
    assert "&" not in label.replace("&lt;", "").replace("&amp;", "").replace("&gt;", "")


def test_alike_labels_are_told_apart() -> None:
    """D8"""
    sent = post_arguments(HERE, question(form(FormKind.BUTTONS, "Yes", "No", "Yes")), NONCE)
    labels = [button["text"]["text"] for button in sent["blocks"][1]["elements"]]
    assert labels == ["Yes (1)", "No", "Yes (2)"]
    assert distinct_labels(["a" * 9, "a" * 8, "a" * 9, "a (1)"], 8) == [
        "aaa… (1)", "aaaaaaaa", "aaa… (2)", "a (1)",
    ]  # fmt: skip
    assert distinct_labels(["a", "a", "a (1)"], 8) == ["a (2)", "a (3)", "a (1)"]


def test_options_too_long_for_their_buttons_are_told_above_them() -> None:
    """D8"""
    long = "Take the ferry that leaves at noon and come back with the one at ten, " + "x" * 30
    sent = post_arguments(HERE, question(form(FormKind.BUTTONS, long, "No <!here>")), NONCE)
    assert [block["type"] for block in sent["blocks"]] == ["section", "section", "actions"]
    assert sent["blocks"][1]["text"]["text"] == f"• {long}"


def test_what_a_menu_has_no_room_for_is_said_below_the_option() -> None:
    """D8"""
    long = "a" * 75 + " and then b"
    sent = post_arguments(HERE, question(form(FormKind.SELECT, long, *"abcdef")), NONCE)
    first, second, *_ = sent["blocks"][1]["elements"][0]["options"]
    assert len(first["text"]["text"]) == 75
    assert first["description"]["text"].endswith("and then b")
    assert "description" not in second


def test_more_options_than_a_menu_holds_are_searched_for() -> None:
    """D8"""
    names = [f"Berth {number}" for number in range(101)]
    asked = form(FormKind.SELECT, *names)
    (menu,) = post_arguments(HERE, question(asked), NONCE)["blocks"][1]["elements"]
    assert (menu["type"], menu["min_query_length"]) == ("external_select", 0)
    wanted = options_wanted({"type": "block_suggestion", "action_id": menu["action_id"],
                             "value": " berth  100"})  # fmt: skip
    assert wanted == OptionsWanted(action_id=ActionId(7), typed=" berth  100")

    def value(index: int) -> str:
        return answer_value(ActionId(7), index)

    (found,) = found_options(asked.options, value, wanted.typed)
    pressed = press_of({"actions": [{"action_id": menu["action_id"], "selected_option": found}]})
    assert pressed == AnswerPressed(action_id=ActionId(7), option=100)
    assert len(found_options(asked.options, value, "")) == 100
    assert found_options(asked.options, value, "quay") == []


def test_options_that_begin_with_what_was_typed_come_first() -> None:
    options = form(FormKind.SELECT, "North Bo", "Bo", "Ada").options
    found = found_options(options, str, "bo")
    assert [option["value"] for option in found] == ["1", "0"]


@pytest.mark.parametrize(
    "payload",
    [{}, {"action_id": "tw:choose:x"}, {"action_id": "tw:open:7"}, {"action_id": "7"},
     {"view": {"callback_id": "tw:form", "private_metadata": '{"action": 7}'}, "block_id": "x"}],
)  # fmt: skip
def test_menus_that_are_not_ours_want_nothing(payload: dict[str, Any]) -> None:
    assert options_wanted(payload) is None


def test_who_may_answer_is_shown_while_the_question_is_open() -> None:
    """D7, D8"""
    rule = Answerers(asker=True, people=("slack:T1:U2",))
    asked = replace(
        question(form(FormKind.BUTTONS, "Yes")),
        answerers=rule,
        asker=Author(identity="slack:T1:U1", name="<!channel>"),
    )
    sent = post_arguments(HERE, asked, NONCE, names={"slack:T1:U2": "Bo"})
    assert [block["type"] for block in sent["blocks"]] == ["section", "context", "actions"]
    said = sent["blocks"][1]["elements"][0]["text"]
    assert said == "Only &lt;!channel&gt; or Bo may answer this."
    closed = replace(asked, state=ActionState.EXPIRED, outcome="Nobody answered in time.")
    assert "may answer" not in str(post_arguments(HERE, closed, NONCE)["blocks"])


def test_users_in_an_answer_are_called_by_their_names() -> None:
    """D7, D8"""
    answered = replace(
        question(
            form(FormKind.MODAL, fields=FIELDS), ActionState.ANSWERED, "Ada answered: U1, U12"
        ),
        named=("U1", "U12", "(.*", "U3"),
    )
    sent = post_arguments(HERE, answered, NONCE, names={"U1": "<!here>", "U3": "Cy"})
    assert sent["text"].endswith("Ada answered: &lt;!here&gt;, U12")
    assert "&lt;!here&gt;, U12" in str(sent["blocks"])
    many = replace(answered, named=tuple(f"U{n}" for n in range(99)))
    assert len(named_users(many)) == 20
