"""The form of a question: what is asked, how it is put, and what an answer becomes."""

from sys import float_info
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.form import BUTTONS_MAX, QUESTION_MAX, Field, FieldKind, Form, FormKind
from engine.chat.form_answers import answer_of_fields, answer_of_option
from engine.chat.form_fields import derive_form


def form(schema: Any = None, args: Any = None) -> Form:
    return derive_form(
        tool_name="pick", description="Pick one.", args=args or {}, output_schema=schema or {}
    )


def labels(derived: Form) -> list[str]:
    return [option.label for option in derived.options]


def test_the_question_is_what_the_model_asks() -> None:
    assert form(args={"question": "Which gate?"}).question == "Which gate?"
    assert form(args={"question": " ", "prompt": "Gate?"}).question == "Gate?"
    assert form(args={"question": 7}).question == "Pick one."
    bare = derive_form(tool_name="pick", description="", args={}, output_schema={})
    assert bare.question == "pick"
    assert len(form(args={"question": "x" * 9999}).question) == QUESTION_MAX


def test_a_few_options_are_buttons_and_more_a_menu() -> None:
    few = form(args={"options": list("abcde")})
    assert (few.kind, len(few.options)) == (FormKind.BUTTONS, BUTTONS_MAX)
    many = form(args={"choices": list("abcdef")})
    assert many.kind is FormKind.SELECT
    assert answer_of_option(few, 1) == {"answer": "b"}
    for index in (-1, 5):
        with pytest.raises(IndexError):
            answer_of_option(few, index)


def test_no_option_is_ever_left_out() -> None:
    """D8"""
    names = [f"berth {number}" for number in range(500)]
    of_arguments = form(args={"options": names})
    assert (of_arguments.kind, labels(of_arguments)) == (FormKind.SELECT, names)
    of_schema = form({"type": "object", "properties": {"berth": {"enum": names}}})
    assert answer_of_option(of_schema, 499) == {"berth": "berth 499"}


def test_options_may_have_labels_and_odd_ones_are_left_out() -> None:
    options = [{"label": "North", "value": 1}, {"label": "South"}, 3, None, {}, " "]
    derived = form(args={"options": options})
    assert labels(derived) == ["North", "South", "3"]
    assert [option.value for option in derived.options] == [
        {"answer": 1}, {"answer": "South"}, {"answer": 3},
    ]  # fmt: skip


def test_the_schema_of_the_result_decides_without_options() -> None:
    assert labels(form()) == ["Done", "Decline"]
    assert labels(form({"type": "object"})) == ["Done", "Decline"]
    yes_no = form({"type": "object", "properties": {"ok": {"type": "boolean"}}})
    assert labels(yes_no) == ["Yes", "No"]
    assert answer_of_option(yes_no, 1) == {"ok": False}
    one_enum = form({"type": "object", "properties": {"gate": {"enum": ["n", "s"]}}})
    assert answer_of_option(one_enum, 0) == {"gate": "n"}
    menu = form({"type": "object", "properties": {"gate": {"enum": list("abcdef")}}})
    assert menu.kind is FormKind.SELECT


FIELDS = {
    "name": ({"type": "string", "title": "Your name", "description": "In full."}, FieldKind.TEXT),
    "count": ({"type": "integer", "minimum": 1, "maximum": 9}, FieldKind.INTEGER),
    "price": ({"type": "number"}, FieldKind.NUMBER),
    "sure": ({"type": "boolean"}, FieldKind.BOOLEAN),
    "day": ({"type": "string", "format": "date"}, FieldKind.DATE),
    "gate": ({"enum": ["n", "s"]}, FieldKind.CHOICE),
    "gates": ({"type": "array", "items": {"enum": ["n", "s"]}}, FieldKind.CHOICES),
    "who": ({"type": "string", "format": "user"}, FieldKind.USER),
}


def modal() -> Form:
    return form(
        {
            "type": "object",
            "properties": {name: schema for name, (schema, _) in FIELDS.items()},
            "required": ["name", "count"],
        },
        {"name": "Ada"},
    )


def test_anything_else_is_a_modal_with_a_field_each() -> None:
    asked = modal()
    assert asked.kind is FormKind.MODAL
    assert {field.name: field.kind for field in asked.fields} == {
        name: kind for name, (_, kind) in FIELDS.items()
    }
    name, count, price, *_ = asked.fields
    assert (name.label, name.hint, name.initial, name.required) == (
        "Your name", "In full.", "Ada", True,
    )  # fmt: skip
    assert (count.minimum, count.maximum, price.required) == (1, 9, False)


def test_what_is_filled_in_becomes_the_result() -> None:
    values = {
        "name": "Bo", "count": "3", "price": " 2.5 ", "sure": "yes", "day": "2026-03-01",
        "gate": "s", "gates": ["n"], "who": "U2",
    }  # fmt: skip
    assert answer_of_fields(modal(), values) == (
        {**values, "count": 3, "price": 2.5, "sure": True},
        {},
    )
    assert answer_of_fields(modal(), {"name": "Bo", "count": "1", "gates": []})[1] == {}


@pytest.mark.parametrize(
    ("field", "raw", "says"),
    [
        ("name", "", "Please fill this in."),
        ("count", None, "Please fill this in."),
        ("count", "2.5", "This must be a whole number."),
        ("count", "0", "This must be at least 1."),
        ("count", "10", "This must be at most 9."),
        ("count", "9" * 400, "This must be a number."),
        ("count", "9" * 9000, "This must be a whole number."),
        ("price", "cheap", "This must be a number."),
        ("price", "nan", "This must be a number."),
        ("price", "inf", "This must be a number."),
        ("price", "1e999", "This must be a number."),
        ("gate", "west", "Please choose one of the options."),
        ("gates", ["n", "west"], "Please choose one of the options."),
    ],
)
def test_what_does_not_fit_is_said_at_its_field(field: str, raw: Any, says: str) -> None:
    _, problems = answer_of_fields(modal(), {"name": "Bo", "count": "3", field: raw})
    assert problems == {field: says}


def test_numbers_at_their_limits_are_taken() -> None:
    for count in (1, 9):
        answered = answer_of_fields(modal(), {"name": "Bo", "count": str(count)})
        assert answered == ({"name": "Bo", "count": count}, {})
    for price in (-float_info.max, float_info.max):
        answered = answer_of_fields(modal(), {"name": "Bo", "count": "3", "price": repr(price)})
        assert answered == ({"name": "Bo", "count": 3, "price": price}, {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = ["type", "properties", "required", "enum", "items", "format", "title", "minimum", "options"]


@given(
    st.dictionaries(st.sampled_from(KEYS), JSON),
    st.dictionaries(st.sampled_from(["options", "choices", "question", "a"]), JSON),
    st.dictionaries(st.sampled_from(KEYS), JSON),
)
def test_whatever_clients_and_models_write_gives_a_form_that_can_be_kept(
    schema: dict[str, Any], args: dict[str, Any], inner: dict[str, Any]
) -> None:
    for given_schema in (schema, {**schema, "properties": {"a": inner, "b": schema}}):
        derived = form(given_schema, args)
        kept = msgspec.json.decode(msgspec.json.encode(derived), type=Form)
        assert [field.name for field in kept.fields] == [field.name for field in derived.fields]
        answer_of_fields(derived, {"a": "1", "b": ["x"]})


def test_a_field_without_options_takes_no_choice() -> None:
    field = Field(name="gate", label="Gate", kind=FieldKind.CHOICE)
    derived = Form(question="?", kind=FormKind.MODAL, fields=(field,))
    assert answer_of_fields(derived, {"gate": "n"}) == (
        {},
        {"gate": "Please choose one of the options."},
    )
