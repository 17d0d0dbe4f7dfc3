"""The root of a tool's schema says plainly what it said by alternatives and references."""

from typing import Any

import pytest

from engine.models.flat_schema import flat_schema

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def with_properties(*required: str, **properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("schema", "flat"),
    [
        ({"allOf": [with_properties(a=TEXT), with_properties(a=NUMBER)]},
         {"properties": {"a": {"allOf": [TEXT, NUMBER]}}}),
        ({"anyOf": [with_properties(a=TEXT), with_properties(a=NUMBER)]},
         {"properties": {"a": {"anyOf": [TEXT, NUMBER]}}}),
        ({"oneOf": [with_properties("a", a=TEXT), with_properties("b", "a", a=TEXT, b=NUMBER)]},
         {"properties": {"a": TEXT, "b": NUMBER}, "required": ["a"]}),
        ({"allOf": [with_properties("a", a=TEXT)], "properties": {"b": TEXT}, "required": ["b"]},
         {"properties": {"b": TEXT, "a": TEXT}, "required": ["b", "a"]}),
        ({"anyOf": [{"type": ["object", "null"], **with_properties("a", a=TEXT)}]},
         {"properties": {"a": TEXT}, "required": ["a"]}),
        ({"anyOf": [{"type": kind, **with_properties("a", a=TEXT)}
                    for kind in ("null", ["object"], ["string", "null"])]}, {"properties": {}}),
        ({"anyOf": "odd", "allOf": {"a": TEXT}, "title": "kept"}, {"title": "kept", "properties": {}}),
    ],
)  # fmt: skip
def test_alternatives_are_merged_into_the_widest_object(
    schema: dict[str, Any], flat: dict[str, Any]
) -> None:
    assert flat_schema(schema) == flat


def test_a_reference_is_replaced_by_what_it_points_to() -> None:
    here = with_properties("a", a=TEXT)
    assert flat_schema({"$ref": "#/$defs/here", "$defs": {"here": here}}) == {
        "$defs": {"here": here},
        **here,
    }


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_alternatives_are_followed_eight_deep(key: str) -> None:
    schema = with_properties(deep=TEXT)
    for _ in range(8):
        schema = {key: [schema]}
    assert flat_schema(schema)["properties"] == {"deep": TEXT}
    assert flat_schema({key: [schema]})["properties"] == {}


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_a_schema_that_holds_itself_comes_to_an_end(key: str) -> None:
    schema = {key: [{"$ref": "#"}], "properties": {"a": TEXT}}
    assert flat_schema(schema) == {"properties": {"a": TEXT}}
