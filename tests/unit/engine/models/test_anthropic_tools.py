"""Which schemas of tools Anthropic is given."""

from typing import Any

from engine.models.model import ToolOffer
from tests.unit.engine.models.anthropic_asked import body, user


def schema_of(schema: dict[str, Any]) -> dict[str, Any]:
    (tool,) = body(user("Hi"), tools=(ToolOffer(name="look", input_schema=schema),))["tools"]
    return dict(tool["input_schema"])


def test_alternatives_at_the_root_become_one_object_that_allows_each() -> None:
    by_name = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "null"}}}
    by_place = {"properties": {"lat": {"type": "number"}, "n": {"type": "integer"}}}
    schema = schema_of(
        {
            "type": "object",
            "properties": {"unit": {"type": "string"}},
            "required": ["unit"],
            "anyOf": [
                by_name | {"required": ["name", "n"]},
                by_place | {"required": ["n", "lat"]},
                {"type": "null"},
            ],
        }
    )
    assert schema == {
        "type": "object",
        "properties": {
            "unit": {"type": "string"},
            "name": {"type": "string"},
            "n": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
            "lat": {"type": "number"},
        },
        "required": ["unit", "n"],
    }


def test_what_all_parts_of_a_root_demand_is_demanded() -> None:
    schema = schema_of(
        {
            "allOf": [{"$ref": "#/$defs/place"}, {"required": ["unit"]}],
            "properties": {"unit": {"type": "string"}},
            "$defs": {"place": {"properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
        }
    )
    assert schema["properties"] == {"unit": {"type": "string"}, "lat": {"type": "number"}}
    assert schema["required"] == ["lat", "unit"]
    assert "allOf" not in schema


def test_schema_that_refers_to_itself_comes_to_an_end() -> None:
    schema = schema_of({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}})
    assert schema["type"] == "object"


def test_alternatives_below_the_root_stay() -> None:
    inner = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert schema_of({"properties": {"at": inner}})["properties"] == {"at": inner}
