"""What is typed may be as long, as many and as odd as a schema says, to the sign."""

from sys import float_info
from typing import Any

import pytest

from engine.chat.form import Field, FieldKind, Form, FormKind
from engine.chat.form_answers import MATCHED_MAX, answer_of_fields
from engine.chat.form_fields import derive_form


def problem(kind: FieldKind, raw: Any, **fields: Any) -> str | None:
    """What is wrong with an answer to a field; None: nothing."""
    field = Field(name="berth", label="Berth", kind=kind, **fields)
    form = Form(question="Which?", kind=FormKind.MODAL, fields=(field,))
    return answer_of_fields(form, {"berth": raw})[1].get("berth")


def test_a_text_may_be_as_short_and_as_long_as_is_said() -> None:
    bounds = {"fewest": 2, "most": 4}
    assert [problem(FieldKind.TEXT, "x" * length, **bounds) for length in (1, 2, 4, 5)] == [
        "This must have at least 2 characters.", None, None, "This must have at most 4 characters.",
    ]  # fmt: skip


def test_there_may_be_as_few_and_as_many_as_is_said() -> None:
    bounds = {"fewest": 2, "most": 4}
    assert [problem(FieldKind.LINES, ["x"] * count, **bounds) for count in (1, 2, 4, 5)] == [
        "Please give at least 2.", None, None, "Please give at most 4.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "text", "is_held"),
    [
        ("a" * 300, "b", True),
        ("a" * 301, "b", False),
        ("^a$", "b" * MATCHED_MAX, True),
        ("^a$", "b" * (MATCHED_MAX + 1), False),
        ("^a+b+$", "c", True),
        ("^a+b+c+$", "d", False),
    ],
)
def test_a_text_is_held_against_a_pattern_that_cannot_take_long(
    pattern: str, text: str, *, is_held: bool
) -> None:
    said = "This is not written as it is expected." if is_held else None
    assert problem(FieldKind.TEXT, text, pattern=pattern) == said


def field_of(schema: dict[str, Any]) -> Field:
    properties = {"berth": schema, "other": {}}
    form = derive_form(
        tool_name="pick", description="", args={}, output_schema={"properties": properties}
    )
    return form.fields[0]


@pytest.mark.parametrize(
    ("count", "kept"), [(0, 0), (1, 1), (1_000_000, 1_000_000), (1_000_001, None), (-1, None)]
)
def test_a_bound_is_kept_where_an_answer_can_meet_it(count: int, kept: int | None) -> None:
    field = field_of({"type": "string", "minLength": count, "maxLength": count})
    assert (field.fewest, field.most) == (kept, kept)


def test_a_number_may_be_bounded_by_all_that_there_are() -> None:
    bounds = {"minimum": -float_info.max, "maximum": float_info.max}
    field = field_of({"type": "number"} | bounds)
    assert {"minimum": field.minimum, "maximum": field.maximum} == bounds
