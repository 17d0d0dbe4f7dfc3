"""What of a model's options goes into an Anthropic request, with thinking and without."""

from typing import Any

import pytest

from engine.models.anthropic_tools import input_schema, tool_definitions
from engine.models.call_record import request_record
from engine.models.model import ModelPrompt, ToolOffer
from tests.unit.engine.models.anthropic_asked import BUDGET, THOUGHT, body, call, result, said, user

LOOK = ToolOffer(name="look", input_schema={})
FORCED = {"type": "tool", "name": "look"}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
CHOSEN = ("temperature", "top_p", "top_k", "tool_choice", "thinking", "max_tokens")


def choices(options: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What is chosen in the request of these options, beside the usual limit."""
    sent = body(user("Hi"), options=options, **fields)
    chosen = {name: sent[name] for name in CHOSEN if name in sent}
    return {name: value for name, value in chosen.items() if value != 32_000}


@pytest.mark.parametrize(
    ("options", "fields", "chosen"),
    [
        ({}, {}, {}),
        ({"temperature": 0.5, "top_p": 0.4, "top_k": 3}, {}, {"temperature": 0.5, "top_k": 3}),
        ({"temperature": 0.5}, {"temperature": 1.5}, {"temperature": 1.0}),
        ({}, {"temperature": 0.0}, {"temperature": 0.0}),
        ({"top_p": 0.4}, {}, {"top_p": 0.4}),
        (ADAPTIVE | {"temperature": 0.5, "top_k": 3, "top_p": 0.95}, {}, ADAPTIVE | {"top_p": 0.95}),
        (ADAPTIVE | {"top_p": 0.94}, {}, ADAPTIVE),
        (ADAPTIVE | {"top_p": "x"}, {"temperature": 0.5}, ADAPTIVE),
        ({"thinking": {"type": "disabled"}, "top_k": 3}, {},
         {"thinking": {"type": "disabled"}, "top_k": 3}),
        ({"thinking": {"type": "odd"}}, {}, {}),
        ({"thinking": "odd"}, {}, {}),
        ({"tool_choice": FORCED}, {"tools": (LOOK,)}, {"tool_choice": FORCED}),
        ({"tool_choice": "odd"}, {"tools": (LOOK,)}, {}),
        (ADAPTIVE | {"tool_choice": FORCED}, {"tools": (LOOK,)}, ADAPTIVE),
        (ADAPTIVE | {"tool_choice": {"type": "auto"}}, {"tools": (LOOK,)},
         ADAPTIVE | {"tool_choice": {"type": "auto"}}),
        (ADAPTIVE | {"tool_choice": {"type": "none"}}, {"tools": (LOOK,)},
         ADAPTIVE | {"tool_choice": {"type": "none"}}),
        ({"tool_choice": FORCED}, {}, {}),
        ({"max_tokens": 9}, {}, {"max_tokens": 9}),
        ({"max_tokens": 9}, {"max_output_tokens": 7}, {"max_tokens": 7}),
        ({"max_tokens": True}, {}, {}),
        ({"max_tokens": -1}, {}, {}),
        ({"max_tokens": 1}, {}, {"max_tokens": 1}),
        ({}, {"max_output_tokens": 1}, {"max_tokens": 1}),
        (BUDGET | {"max_tokens": 2001}, {}, BUDGET | {"max_tokens": 2001}),
        (BUDGET | {"max_tokens": 2000}, {}, BUDGET | {"max_tokens": 4000}),
        (ADAPTIVE | {"max_tokens": 9}, {}, ADAPTIVE | {"max_tokens": 9}),
    ],
)  # fmt: skip
def test_options_that_the_api_takes_together_are_sent(
    options: dict[str, Any], fields: dict[str, Any], chosen: dict[str, Any]
) -> None:
    assert choices(options, **fields) == chosen


def test_other_options_are_sent_but_change_nothing_of_ours() -> None:
    sent = body(user("Hi"), options={"service_tier": "auto", "stream": False, "model": "x"})
    assert (sent["service_tier"], sent["stream"], sent["model"]) == ("auto", True, "m")
    assert "tools" not in body(user("Hi"), options={"tools": "odd"})


def thinks(*messages: Any) -> bool:
    return "thinking" in body(*messages, options=BUDGET, tools=(LOOK,))


def test_a_turn_that_began_without_thinking_goes_on_without() -> None:
    assert thinks(user("Hi"), said(THOUGHT, call("c1")), result("c1"))
    assert not thinks(user("Hi"), said(call("c1")), result("c1"))
    first, second = said(call("c1")), said(THOUGHT, call("c2"))
    assert not thinks(user("Hi"), first, result("c1"), second, result("c2"))
    assert thinks(user("Hi"), said(call("c1")), result("c1"), said("Calm."), user("And now?"))
    answered = (user("Hi"), said(THOUGHT, "Calm."), user("And now?"))
    assert not thinks(*answered, said(call("c1")), result("c1"))
    assert thinks(
        user("Hi"), said("Calm."), user("And now?"), said(THOUGHT, call("c1")), result("c1")
    )


def test_tools_are_told_once_and_described_where_there_are_words() -> None:
    described = ToolOffer(name="look", description="Look.", input_schema={})
    blank = ToolOffer(name="see", description=" ", input_schema={})
    empty = {"type": "object", "properties": {}}
    own = {"type": "web_search", "name": "search"}
    assert tool_definitions(
        [described, LOOK, blank], [own, {"name": "look"}, {"name": 7}, 7], ["gone"]
    ) == [
        {"name": "look", "description": "Look.", "input_schema": empty},
        {"name": "see", "input_schema": empty},
        own,
    ]
    assert tool_definitions([], (), ["gone", "gone"]) == [{"name": "gone", "input_schema": empty}]


def test_properties_without_a_plain_name_are_left_out() -> None:
    schema = {
        "properties": {"a.b-c_1": {}, "a b": {}, "x" * 64: {}, "y" * 65: {}},
        "required": ["a b", "a.b-c_1"],
    }
    assert input_schema(schema) == {
        "type": "object",
        "properties": {"a.b-c_1": {}, "x" * 64: {}},
        "required": ["a.b-c_1"],
    }
    assert "required" not in input_schema({"properties": {"a b": {}}, "required": ["a b"]})


def test_a_schema_that_is_nested_without_end_is_cut_in_records() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"items": schema}
    prompt = ModelPrompt(
        model="m", messages=(), tools=(ToolOffer(name="look", input_schema=schema),)
    )
    assert "(nested too deep to be kept)" in str(request_record(prompt))
