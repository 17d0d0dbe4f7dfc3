"""The shapes of Anthropic's and of Responses' events: odd ones keep what makes sense, tokens are ours."""

import json
from typing import Any

import pytest

from engine.chat.content import Usage
from engine.models import anthropic_wire, responses_wire
from engine.models.anthropic_wire import OutputDetails, WireDelta, WireEvent, WireMessage, WireUsage
from engine.models.parts import StreamFault
from engine.models.responses_wire import Event

STRINGS = ("item_id", "delta", "text", "refusal", "arguments")
NUMBERS = ("output_index", "summary_index", "content_index")
VALUES = (
    "item", "response", "error", "code", "message", "detail", "object", "output", "status",
    "incomplete_details", "usage",
)  # fmt: skip
WHOLE: dict[str, Any] = {
    "type": "t",
    **{name: name.upper() for name in STRINGS},
    **{name: place for place, name in enumerate(NUMBERS)},
    **{name: {"is": name} for name in VALUES},
}


def responses_event(value: Any) -> Event | None:
    return responses_wire.read_event(json.dumps(value).encode())


def test_a_usual_and_an_odd_event_of_responses_hold_the_same() -> None:
    usual = responses_event(WHOLE)
    assert usual == Event(**WHOLE)
    # The odd number sends the second one through the lenient reader.
    odd = responses_event(WHOLE | {"output_index": "0"})
    assert odd == Event(**WHOLE, is_odd=True)
    assert responses_event([WHOLE]) == odd


@pytest.mark.parametrize(
    ("value", "event"),
    [
        (7, None),
        ([], None),
        ([{}, {}], None),
        ({"type": 7}, Event(is_odd=True)),
        ({"type": "t", "delta": {"a": [1, "é"]}}, Event(type="t", delta='{"a":[1,"é"]}', is_odd=True)),
        ({"type": 7, "text": 7, "output_index": True}, Event(is_odd=True)),
        ({"type": 7, "output_index": [], "content_index": "x"}, Event(is_odd=True)),
        ({"type": 7, "item": "\ud800"}, Event(item="\ufffd", is_odd=True)),
    ],
)  # fmt: skip
def test_of_an_odd_event_of_responses_is_kept_what_makes_sense(
    value: Any, event: Event | None
) -> None:
    assert responses_event(value) == event


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000])
def test_what_is_no_json_is_no_event(data: bytes) -> None:
    assert responses_wire.read_event(data) is None
    assert anthropic_wire.read_event(data) == (None, True)


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert responses_wire.read_event(b'{"type": "\xff"}') == Event(type="\ufffd", is_odd=True)
    assert anthropic_wire.read_event(b'{"type": "\xff"}') == (WireEvent(type="\ufffd"), True)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({"total_tokens": 3}, None),
        ({"input_tokens": "5"}, Usage(input_tokens=5)),
        ({"output_tokens": 5}, Usage(output_tokens=5)),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3},
          "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 13},
         Usage(input_tokens=4, cache_read_tokens=2, cache_write_tokens=3, output_tokens=4,
               reasoning_tokens=1, total_tokens=13)),
        ({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 2}},
         Usage(input_tokens=0, cache_read_tokens=2)),
        ({"input_tokens": 0, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
          "output_tokens_details": {"reasoning_tokens": 0}}, Usage(input_tokens=0)),
    ],
)  # fmt: skip
def test_tokens_of_responses_are_counted_in_our_terms(usage: Any, expected: Usage | None) -> None:
    assert responses_wire.usage_of(usage) == expected


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"content": "a"}, "a"),
        ({"content": [{"text": "a"}, 7, {"refusal": "b"}, {"text": 7}]}, "ab"),
        ({"content": 7}, ""),
    ],
)
def test_a_message_of_responses_is_its_words(item: dict[str, Any], said: str) -> None:
    assert responses_wire.message_text(item) == said


@pytest.mark.parametrize(
    ("item", "thought"),
    [
        ({"summary": [{"text": "a"}, {"text": ""}, {"text": "b"}], "content": [{"text": "c"}]}, "a\n\nb"),
        ({"summary": [], "content": [{"text": "c"}]}, "c"),
        ({}, ""),
    ],
)  # fmt: skip
def test_reasoning_of_responses_is_its_summary_else_itself(
    item: dict[str, Any], thought: str
) -> None:
    assert responses_wire.reasoning_text(item) == thought


def test_arguments_of_responses_are_text_or_become_it() -> None:
    assert responses_wire.call_arguments({"arguments": "{}"}) == "{}"
    assert responses_wire.call_arguments({"arguments": {"a": 1}}) == '{"a":1}'
    assert responses_wire.call_arguments({"arguments": 7}) == ""


def test_an_odd_event_of_anthropic_is_read_and_known_for_odd() -> None:
    read = anthropic_wire.read_event
    assert read(b'{"type": "ping", "index": 1}') == (WireEvent(type="ping", index=1), False)
    assert read(b'{"type": "ping", "index": "1"}') == (WireEvent(type="ping", index=1), True)
    assert read(b'{"type": []}') == (None, True)


def test_a_message_of_anthropic_is_read_as_far_as_it_is_one() -> None:
    usage = {"input_tokens": "3"}
    assert anthropic_wire.message_of({"id": "m", "usage": usage}) == WireMessage(
        id="m", usage=WireUsage(input_tokens=3)
    )
    assert anthropic_wire.message_of(7) == WireMessage()


def test_a_body_of_anthropic_is_the_events_that_it_would_have_been() -> None:
    usage = WireUsage(output_tokens=2)
    body = WireEvent(
        type="message", id="m", content=["a", "b"], stop_reason="end_turn", usage=usage
    )
    assert anthropic_wire.events_of_body(body) == [
        WireEvent(type="message_start", message={"id": "m"}),
        WireEvent(type="content_block_start", index=0, content_block="a"),
        WireEvent(type="content_block_stop", index=0),
        WireEvent(type="content_block_start", index=1, content_block="b"),
        WireEvent(type="content_block_stop", index=1),
        WireEvent(type="message_delta", delta=WireDelta(stop_reason="end_turn"), usage=usage),
        WireEvent(type="message_stop"),
    ]
    assert len(anthropic_wire.events_of_body(WireEvent(type="message"))) == 3


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        (WireUsage(cache_read_input_tokens=1), None),
        (WireUsage(input_tokens=0), Usage(input_tokens=0, total_tokens=0)),
        (WireUsage(output_tokens=2), Usage(output_tokens=2, total_tokens=2)),
        (WireUsage(input_tokens=1, output_tokens=2, cache_read_input_tokens=4,
                   cache_creation_input_tokens=8,
                   output_tokens_details=OutputDetails(thinking_tokens=1)),
         Usage(input_tokens=1, output_tokens=2, cache_read_tokens=4, cache_write_tokens=8,
               reasoning_tokens=1, total_tokens=15)),
        (WireUsage(input_tokens=1, cache_read_input_tokens=0, cache_creation_input_tokens=0,
                   output_tokens_details=OutputDetails(thinking_tokens=0)),
         Usage(input_tokens=1, total_tokens=1)),
    ],
)  # fmt: skip
def test_tokens_of_anthropic_are_counted_in_our_terms(wire: WireUsage, usage: Usage | None) -> None:
    assert anthropic_wire.usage_of(wire) == usage


def test_a_later_count_of_anthropic_replaces_an_earlier_one() -> None:
    first = WireUsage(input_tokens=1, output_tokens=2)
    later = WireUsage(output_tokens=5, cache_read_input_tokens=7)
    assert first.updated_by(later) == WireUsage(
        input_tokens=1, output_tokens=5, cache_read_input_tokens=7
    )


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"type": "overloaded_error", "message": "a"},
         StreamFault(message="a", code="overloaded_error", status=529)),
        ({"type": "overloaded_error", "message": "a", "status": 500},
         StreamFault(message="a", code="overloaded_error", status=500)),
        ({"type": "odd", "message": "a"}, StreamFault(message="a", code="odd")),
        ("a", StreamFault(message="a")),
    ],
)  # fmt: skip
def test_an_error_of_anthropic_has_the_status_of_its_name(error: Any, fault: StreamFault) -> None:
    assert anthropic_wire.fault_of_error(error) == fault


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("redacted_thinking", True),
        ("compaction", True),
        ("server_tool_use", True),
        ("web_search_tool_result", True),
        ("tool_use", False),
        ("text", False),
    ],
)
def test_what_a_provider_ran_or_hid_is_its_own(kind: str, *, own: bool) -> None:
    assert anthropic_wire.is_providers_own(kind) is own
