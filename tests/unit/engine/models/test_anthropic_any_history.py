"""Any history becomes an Anthropic request that the API accepts and that loses no word of people."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.chat.content import NewMessage, Role, ToolResultPart, text_of
from engine.models.anthropic_request import messages_body
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.surrogates import without_surrogates
from engine.models.words import result_text
from tests.fakes.model_anthropic_rules import check_messages_request
from tests.fakes.model_rules import Refused
from tests.unit.engine.models.histories import FILES, OWN, histories, texts

LOOK = ToolOffer(name="look", description="Look.", input_schema={"type": "object"})
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
options = st.fixed_dictionaries(
    {},
    optional={
        "thinking": st.sampled_from(
            [
                {"type": "enabled", "budget_tokens": 2000},
                {"type": "enabled", "budget_tokens": 50_000},
                {"type": "adaptive"},
                {"type": "disabled"},
            ]
        ),
        "output_config": st.just({"effort": "low"}),
        "tools": st.just([SEARCH]),
        "tool_choice": st.sampled_from([{"type": "any"}, {"type": "auto"}]),
        "mcp_servers": st.just([{"type": "url", "url": "https://mcp.test", "name": "tides"}]),
        "context_management": st.just({"edits": [{"type": "compact_20260112"}]}),
        "top_p": st.sampled_from([0.5, 0.99]),
        "top_k": st.just(5),
        "max_tokens": st.sampled_from([0, 10, "many"]),
        "messages": st.just([]),
        "stream": st.just("no"),
    },
)
prompts = st.builds(
    ModelPrompt,
    model=st.just("m"),
    messages=histories,
    system=texts,
    tools=st.sampled_from([(), (LOOK,)]),
    temperature=st.sampled_from([None, 0.0, 1.7]),
    max_output_tokens=st.sampled_from([None, 1, 5000]),
    options=options,
    files=st.just(FILES),
    accepts=st.sampled_from([frozenset(), frozenset({"image", "pdf"})]),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompt=prompts)
def test_any_history_is_accepted_and_loses_no_word_of_people(prompt: ModelPrompt) -> None:
    """E56: whatever is stored, the next request is not refused."""
    body = json.loads(messages_body(prompt, provider=OWN))
    try:
        check_messages_request(body)
    except Refused as reason:
        pytest.fail(f"{reason}\n{json.dumps(body, indent=1)}")
    said = _said_by_people(body)
    for message in prompt.messages:
        if message.role is Role.USER and text_of(message.content).strip():
            assert any(without_surrogates(text_of(message.content)) in text for text in said)
    _keeps_results(prompt, body)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompt=prompts)
def test_same_history_gives_the_same_bytes_and_changes_nothing_stored(prompt: ModelPrompt) -> None:
    before = repr(prompt)
    assert messages_body(prompt, provider=OWN) == messages_body(prompt, provider=OWN)
    assert repr(prompt) == before


def _said_by_people(body: dict[str, Any]) -> list[str]:
    return [
        block["text"]
        for message in body["messages"]
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "text"
    ]


def _keeps_results(prompt: ModelPrompt, body: dict[str, Any]) -> None:
    """The first result of each call is there, whatever became of the call."""
    sent = [
        block["content"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    stored: dict[str, ToolResultPart] = {}
    for part in _result_parts(prompt.messages):
        stored.setdefault(part.tool_call_id, part)
    assert all(without_surrogates(result_text(part)) in sent for part in stored.values())


def _result_parts(messages: Any) -> list[ToolResultPart]:
    rows: list[NewMessage] = [m for m in messages if m.role in (Role.TOOL, Role.ASSISTANT)]
    return [part for m in rows for part in m.content if isinstance(part, ToolResultPart)]


schemas = st.recursive(
    st.sampled_from(
        [{}, {"type": "string"}, {"type": None}, {"properties": None}, {"$ref": "#/$defs/here"}]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", None]),
            "properties": st.dictionaries(st.sampled_from(["at", "a b", "x" * 65]), inner),
            "required": st.sampled_from([None, [], ["at"], ["a b"], ["gone"]]),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$defs": st.fixed_dictionaries({"here": inner}),
        },
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(schema=schemas, name=st.sampled_from(["look", "a.b", "", "x" * 90, "ä"]))
def test_any_schema_of_a_tool_is_accepted(schema: dict[str, Any], name: str) -> None:
    offers = (ToolOffer(name=name, input_schema=schema), LOOK, LOOK)
    body = json.loads(messages_body(ModelPrompt(model="m", messages=(), tools=offers), provider=""))
    check_messages_request(body)
