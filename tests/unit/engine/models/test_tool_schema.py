"""Any schema of a tool becomes one that OpenAI accepts, on either of its wires."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.model import ModelPrompt, ToolOffer
from engine.models.request import request_body
from engine.models.responses_request import responses_body
from engine.models.words import tool_name_on_wire
from tests.fakes.model_responses_rules import check_responses_request
from tests.fakes.model_rules import check_request

schemas = st.recursive(
    st.sampled_from(
        [
            {},
            {"type": "string"},
            {"type": None},
            {"type": "array"},
            {"properties": None},
            {"required": []},
            {"enum": [None]},
            {"$ref": "#/$defs/here"},
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", "array", None]),
            "properties": st.dictionaries(st.sampled_from(["at", "a b", "required"]), inner),
            "required": st.sampled_from([None, [], ["at"], ["gone"]]),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "$defs": st.fixed_dictionaries({"here": inner}),
        },
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("name", "sent"),
    [("look", "look"), ("f.look at", "f_look_at"), ("x" * 65, "x" * 64), ("", "unknown_tool")],
)
def test_a_tool_has_a_name_that_every_provider_takes(name: str, sent: str) -> None:
    assert tool_name_on_wire(name) == sent


@settings(max_examples=150, deadline=None)
@given(schema=schemas, name=st.sampled_from(["look", "a.b", "", "x" * 90, "\u00e4"]))
def test_any_schema_of_a_tool_is_accepted(schema: dict[str, Any], name: str) -> None:
    offers = tuple(ToolOffer(name=n, input_schema=schema) for n in (name, "look", name))
    prompt = ModelPrompt(model="m", messages=(), tools=offers)
    check_request(json.loads(request_body(prompt)))
    check_responses_request(json.loads(responses_body(prompt, provider="wren")))
