"""Any history becomes a Responses request that the API accepts and that loses no word of people."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.chat.content import Role, ToolResultPart, text_of
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.responses_request import responses_body
from engine.models.surrogates import without_surrogates
from engine.models.words import result_text
from tests.fakes.model_responses_rules import Refused, check_responses_request
from tests.unit.engine.models.histories import FILES, OWN, histories, texts

LOOK = ToolOffer(name="look", description="Look.", input_schema={"type": "object"})
options = st.fixed_dictionaries(
    {},
    optional={
        "reasoning": st.sampled_from([None, {}, {"effort": "low"}]),
        "reasoning_effort": st.sampled_from(["low", None]),
        "tools": st.just([{"type": "web_search"}]),
        "previous_response_id": st.just("resp_1"),
        "store": st.sampled_from([True]),
        "input": st.just([]),
        "stream": st.just("no"),
        "top_p": st.just(0.5),
    },
)
prompts = st.builds(
    ModelPrompt,
    model=st.just("m"),
    messages=histories,
    system=texts,
    tools=st.sampled_from([(), (LOOK,), (LOOK, LOOK)]),
    temperature=st.sampled_from([None, 0.0]),
    max_output_tokens=st.sampled_from([None, 1, 5000]),
    options=options,
    files=st.just(FILES),
    accepts=st.sampled_from([frozenset(), frozenset({"image", "pdf"})]),
)
slow = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow
@given(prompt=prompts, is_streamed=st.booleans())
def test_any_history_is_accepted_and_loses_no_word_of_people(
    prompt: ModelPrompt,
    is_streamed: bool,  # noqa: FBT001 - given by name
) -> None:
    """E56: whatever is stored, the next request is not refused."""
    body = json.loads(responses_body(prompt, provider=OWN, is_streamed=is_streamed))
    try:
        check_responses_request(body)
    except Refused as reason:
        pytest.fail(f"{reason}\n{json.dumps(body, indent=1)}")
    said = [
        part["text"]
        for item in body["input"]
        if item.get("role") == "user"
        for part in item["content"]
        if part["type"] == "input_text"
    ]
    for message in prompt.messages:
        text = text_of(message.content)
        if message.role is Role.USER and text.strip():
            assert any(without_surrogates(text) in words for words in said)
    _keeps_results(prompt, body)


@slow
@given(prompt=prompts)
def test_same_history_gives_the_same_bytes_and_changes_nothing_stored(prompt: ModelPrompt) -> None:
    """E56: the provider's cache of the common beginning stays of use."""
    before = repr(prompt)
    assert responses_body(prompt, provider=OWN) == responses_body(prompt, provider=OWN)
    assert repr(prompt) == before


def _keeps_results(prompt: ModelPrompt, body: dict[str, Any]) -> None:
    """The first result of each call is there, whatever became of the call."""
    sent = [i["output"] for i in body["input"] if i["type"] == "function_call_output"]
    stored: dict[str, ToolResultPart] = {}
    for message in prompt.messages:
        if message.role in (Role.TOOL, Role.ASSISTANT):
            for part in message.content:
                if isinstance(part, ToolResultPart):
                    stored.setdefault(part.tool_call_id, part)
    assert all(without_surrogates(result_text(part)) in sent for part in stored.values())
