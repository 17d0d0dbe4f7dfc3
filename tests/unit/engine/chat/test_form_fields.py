"""What each field of a modal is made of, and which words of people count as what."""

from typing import Any

import pytest

from engine.chat.form import Field, FieldKind, Form, FormKind, Option
from engine.chat.form_answers import answer_of_fields
from engine.chat.form_fields import DONE_OR_DECLINE, derive_form


def form(schema: Any = None, args: Any = None) -> Form:
    return derive_form(
        tool_name="pick", description="Pick one.", args=args or {}, output_schema=schema or {}
    )


def field_of(schema: dict[str, Any], args: dict[str, Any] | None = None) -> Field:
    """The field that a property of this schema becomes, beside another one."""
    properties = {"which_gate": schema, "other": {}}
    derived = form({"type": "object", "properties": properties, "required": ["which_gate"]}, args)
    field, other = derived.fields
    assert other == Field(name="other", label="Other", kind=FieldKind.TEXT, multiline=True)
    return field


NORTH_SOUTH = (Option(label="n", value="n"), Option(label="2", value=2))
TITLED = (Option(label="North", value="n"), Option(label="Two", value=2))
NAMED: dict[str, Any] = {"name": "which_gate", "label": "Which gate", "required": True}


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "string"}, Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
        ({"type": "string", "title": "Gate", "description": "Which."},
         Field(**{**NAMED, "label": "Gate"}, hint="Which.", kind=FieldKind.TEXT, multiline=True)),
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
        ({"type": "string", "minLength": 2, "maxLength": 150, "pattern": "^[a-z]+$"},
         Field(**NAMED, kind=FieldKind.TEXT, fewest=2, most=150, pattern="^[a-z]+$")),
        ({"type": "string", "minLength": -1, "maxLength": 151.5, "pattern": 7},
         Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
        ({"type": "string", "maxLength": 151},
         Field(**NAMED, kind=FieldKind.TEXT, most=151, multiline=True)),
        ({"type": "string", "minLength": 10**9},
         Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
        ({"type": ["null", "integer"]}, Field(**NAMED, kind=FieldKind.INTEGER)),
        ({"type": ["null"]}, Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
        ({"enum": ["n", 2], "enumNames": ["North", "Two"]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=TITLED)),
        ({"enum": ["n", 2], "enumNames": ["North"]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"oneOf": [{"const": "n", "title": "North"}, {"const": 2, "title": "Two"}]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=TITLED)),
        ({"anyOf": [{"const": "n"}, {"const": 2}]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"anyOf": [{"const": "n"}, {"type": "null"}]},
         Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
        ({"enum": ["n", 2]}, Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"type": "array", "items": {"enum": ["n", 2]}},
         Field(**NAMED, kind=FieldKind.CHOICES, options=NORTH_SOUTH)),
        ({"type": "array", "items": {"enum": ["n", 2]}, "minItems": 1, "maxItems": 2},
         Field(**NAMED, kind=FieldKind.CHOICES, options=NORTH_SOUTH, fewest=1, most=2)),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 3},
         Field(**NAMED, kind=FieldKind.LINES, most=3, multiline=True)),
        ({"type": "array", "items": {"type": "string", "format": "user"}},
         Field(**NAMED, kind=FieldKind.USERS)),
        ({"type": "array", "items": {"type": "object"}},
         Field(**NAMED, kind=FieldKind.JSON, multiline=True)),
        ({"type": "array"}, Field(**NAMED, kind=FieldKind.JSON, multiline=True)),
        ({"type": "object"}, Field(**NAMED, kind=FieldKind.JSON, multiline=True)),
        ({"type": "array", "enum": ["n", 2]},
         Field(**NAMED, kind=FieldKind.CHOICE, options=NORTH_SOUTH)),
        ({"type": "string", "items": {"enum": ["n", 2]}}, Field(**NAMED, kind=FieldKind.TEXT, multiline=True)),
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
        Field(name="answer", label="Answer", kind=FieldKind.TEXT, multiline=True),
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
        Field(name="a", label="A", kind=FieldKind.TEXT, multiline=True),
        Field(name="b", label="B", kind=FieldKind.TEXT, multiline=True),
    )


@pytest.mark.parametrize(
    ("schema", "typed", "meant"),
    [
        ({"type": "string", "minLength": 2}, "é!", "é!"),
        ({"type": "string", "minLength": 2}, "x", "This must have at least 2 characters."),
        ({"type": "string", "maxLength": 2}, "xyz", "This must have at most 2 characters."),
        ({"type": "string", "pattern": "^a+$"}, "aa", "aa"),
        ({"type": "string", "pattern": "^a+$"}, "ab", "This is not written as it is expected."),
        ({"type": "string", "format": "date"}, " 2026-12-24 ", "2026-12-24"),
        ({"type": "string", "format": "date"}, "2026-02-30",
         "This must be a date, such as 2026-12-24."),
        ({"type": "array", "items": {"type": "string"}}, "a\n\n b \r\nc", ["a", "b", "c"]),
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"], ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, "a",
         "Please give at least 2."),
        ({"type": "array", "items": {"enum": ["n", 2]}, "maxItems": 1}, ["n", 2],
         "Please give at most 1."),
        ({"type": "array", "items": {"type": "string", "format": "user"}}, ["U1", "U2"],
         ["U1", "U2"]),
        ({"type": "array", "items": {"type": "string", "format": "user"}}, "U1", ["U1"]),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "object"}, {"a": [1]}, {"a": [1]}),
        ({"type": "object"}, "{a}",
         'This must be JSON, such as {"name": "value"} or [1, 2].'),
        ({"type": "object"}, "NaN",
         'This must be JSON, such as {"name": "value"} or [1, 2].'),
    ],
)  # fmt: skip
def test_what_is_typed_is_held_against_the_schema(
    schema: dict[str, Any], typed: Any, meant: Any
) -> None:
    asked = Form(question="?", kind=FormKind.MODAL, fields=(field_of(schema),))
    result, problems = answer_of_fields(asked, {"which_gate": typed})
    assert result.get("which_gate", problems.get("which_gate")) == meant
    assert bool(problems) is (isinstance(meant, str) and meant.endswith("."))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?=a)b", r"(a)\1", "[", "a*b*c*d*e", "a" * 301])
def test_a_pattern_that_could_take_long_or_is_none_is_left_to_the_tool(pattern: str) -> None:
    field = field_of({"type": "string", "pattern": pattern})
    asked = Form(question="?", kind=FormKind.MODAL, fields=(field,))
    for typed in ("a" * 40 + "!", "b" * 201):
        assert answer_of_fields(asked, {"which_gate": typed}) == ({"which_gate": typed}, {})


def test_an_option_is_known_by_its_value_before_its_label() -> None:
    options = (
        Option(label="x", value=1),
        Option(label="1", value="x"),
        Option(label="On", value=True),
    )
    field = Field(name="gate", label="Gate", kind=FieldKind.CHOICE, options=options)
    asked = Form(question="?", kind=FormKind.MODAL, fields=(field,))
    for typed, meant in (("x", "x"), (1, 1), ("1", "x"), (True, True), ("On", True)):
        result, _ = answer_of_fields(asked, {"gate": typed})
        assert result == {"gate": meant}
        assert type(result["gate"]) is type(meant)
