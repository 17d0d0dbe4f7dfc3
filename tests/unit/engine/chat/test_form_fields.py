"""What each field of a modal is made of, and which words of people count as what."""

from typing import Any

import pytest

from engine.chat.form import (
    DONE_OR_DECLINE,
    Field,
    FieldKind,
    Form,
    FormKind,
    Option,
    answer_of_fields,
    derive_form,
)


def form(schema: Any = None, args: Any = None) -> Form:
    return derive_form(
        tool_name="pick", description="Pick one.", args=args or {}, output_schema=schema or {}
    )


def field_of(schema: dict[str, Any], args: dict[str, Any] | None = None) -> Field:
    """The field that a property of this schema becomes, beside another one."""
    properties = {"which_gate": schema, "other": {}}
    derived = form({"type": "object", "properties": properties, "required": ["which_gate"]}, args)
    field, other = derived.fields
    assert other == Field(name="other", label="Other", kind=FieldKind.TEXT)
    return field


NORTH_SOUTH = (Option(label="n", value="n"), Option(label="2", value=2))
NAMED: dict[str, Any] = {"name": "which_gate", "label": "Which gate", "required": True}


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "string"}, Field(**NAMED, kind=FieldKind.TEXT)),
        ({"type": "string", "title": "Gate", "description": "Which."},
         Field(**{**NAMED, "label": "Gate"}, hint="Which.", kind=FieldKind.TEXT)),
        ({"type": "integer", "minimum": 1, "maximum": 9},
         Field(**NAMED, kind=FieldKind.INTEGER, minimum=1.0, maximum=9.0)),
        ({"type": "number", "minimum": True, "maximum": "9"}, Field(**NAMED, kind=FieldKind.NUMBER)),
        ({"type": "number", "minimum": float("-inf"), "maximum": 10**400},
         Field(**NAMED, kind=FieldKind.NUMBER)),
        ({"type": "boolean", "default": True},
         Field(**NAMED, kind=FieldKind.BOOLEAN, initial=True,
               options=(Option(label="Yes", value=True), Option(label="No", value=False)))),
        ({"type": "string", "format": "date"}, Field(**NAMED, kind=FieldKind.DATE)),
        ({"type": "string", "format": "user"}, Field(**NAMED, kind=FieldKind.USER)),
        ({"type": "string", "format": "email"}, Field(**NAMED, kind=FieldKind.TEXT)),
        ({"enum": ["n", 2]}, Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"type": "array", "items": {"enum": ["n", 2]}},
         Field(**NAMED, kind=FieldKind.CHOICES, options=NORTH_SOUTH)),
        ({"type": "array", "items": {"type": "string"}}, Field(**NAMED, kind=FieldKind.TEXT)),
        ({"type": "array", "enum": ["n", 2]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"type": "string", "items": {"enum": ["n", 2]}}, Field(**NAMED, kind=FieldKind.TEXT)),
    ],
)  # fmt: skip
def test_a_property_becomes_a_field(schema: dict[str, Any], field: Field) -> None:
    assert field_of(schema) == field


def test_a_field_begins_with_what_the_model_proposes_else_with_its_default() -> None:
    schema = {"type": "string", "default": "n"}
    assert field_of(schema).initial == "n"
    assert field_of(schema, {"which_gate": "s"}).initial == "s"


def test_a_result_that_is_no_object_is_one_choice_or_one_field() -> None:
    choice = form({"enum": ["n", 2]})
    assert (choice.kind, choice.options) == (FormKind.BUTTONS, NORTH_SOUTH)
    assert form({"type": "string"}).fields == (
        Field(name="answer", label="Answer", kind=FieldKind.TEXT),
    )
    assert form({"type": "boolean"}).options == (
        Option(label="Yes", value=True),
        Option(label="No", value=False),
    )


def test_a_result_without_a_shape_is_done_or_declined() -> None:
    assert form().options == form({"type": "object", "properties": {}}).options == DONE_OR_DECLINE


def test_an_option_without_a_label_is_called_by_its_value() -> None:
    options = [{"value": 7}, {"label": "South"}]
    assert form(args={"options": options}).options == (
        Option(label="7", value={"answer": 7}),
        Option(label="South", value={"answer": "South"}),
    )


@pytest.mark.parametrize("key", ["question", "prompt", "message", "title"])
def test_the_question_may_be_called_in_four_ways(key: str) -> None:
    assert form(args={key: "Which gate?"}).question == "Which gate?"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (True, True), (False, False), ("true", True), ("Yes", True), ("1", True), ("ON", True),
        ("false", False), ("no", False), ("0", False), ("xtruex", False),
    ],
)  # fmt: skip
def test_a_yes_may_be_written_in_four_ways(typed: Any, meant: Any) -> None:
    asked = Form(question="?", kind=FormKind.MODAL, fields=(field_of({"type": "boolean"}),))
    assert answer_of_fields(asked, {"which_gate": typed}) == ({"which_gate": meant}, {})


def test_one_of_many_choices_may_come_alone() -> None:
    field = field_of({"type": "array", "items": {"enum": ["n", 2]}})
    asked = Form(question="?", kind=FormKind.MODAL, fields=(field,))
    for typed, meant in (("n", ["n"]), (2, [2]), (["n", "2"], ["n", 2])):
        assert answer_of_fields(asked, {"which_gate": typed}) == ({"which_gate": meant}, {})


def test_a_property_without_a_schema_is_a_field_of_text() -> None:
    odd: Any = {"properties": {"a": True, "b": 7}}
    assert form(odd).fields == (
        Field(name="a", label="A", kind=FieldKind.TEXT),
        Field(name="b", label="B", kind=FieldKind.TEXT),
    )
