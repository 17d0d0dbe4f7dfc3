"""The lenient reader of chunks gives what the strict one does, and keeps what makes sense of odd ones."""

import json
from typing import Any

import pytest

from engine.chat.content import Usage
from engine.models.chat_wire import (
    CallPiece,
    Choice,
    Chunk,
    CompletionDetails,
    Delta,
    FunctionPiece,
    PromptDetails,
    VendorBlock,
    WireUsage,
    fault_of,
    read_chunk,
    read_odd_chunk,
    usage_of,
)
from engine.models.parts import StreamFault

COUNTED = {
    "prompt_tokens": 1,
    "completion_tokens": 2,
    "total_tokens": 3,
    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 6},
    "prompt_cache_hit_tokens": 7,
}
SAID = {
    "content": "a",
    "reasoning_content": "b",
    "reasoning": "c",
    "refusal": "d",
    "tool_calls": [
        {"index": 1, "id": "call_1", "function": {"name": "search", "arguments": "{}"}},
        {"index": 2},
    ],
    "function_call": {"name": "old", "arguments": "["},
}
WHOLE = {
    "choices": [
        {"index": 1, "delta": SAID, "message": {"content": "m"}, "finish_reason": "stop"},
        {"usage": COUNTED},
    ],
    "usage": COUNTED,
    "x_groq": {"usage": {"prompt_tokens": 8}},
    "error": {"message": "e"},
    "object": "o",
    "type": "t",
    "message": "m",
    "detail": "d",
}


def odd(value: Any) -> Chunk | None:
    return read_odd_chunk(json.dumps(value).encode())


def said(delta: Any) -> Delta | None:
    """What the lenient reader makes of the delta of a chunk's one choice."""
    chunk = odd({"choices": [{"delta": delta}]})
    assert chunk is not None
    assert chunk.choices is not None
    (choice,) = chunk.choices
    return choice.delta


@pytest.mark.parametrize("value", [WHOLE, {}, {"choices": []}, {"choices": [{"delta": {}}]}])
def test_a_usual_chunk_is_the_same_to_both_readers(value: Any) -> None:
    assert odd(value) == odd([value]) == read_chunk(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("value", "chunk"),
    [
        ("overloaded", Chunk(error="overloaded")),
        ("", None),
        (7, None),
        ([], None),
        ([{}, {}], None),
        ({"choices": {}, "usage": 7, "x_groq": 7}, Chunk()),
        ({"choices": [7, {"index": "1"}]}, Chunk(choices=[Choice(index=1)])),
        ({"choices": [{"index": None, "finish_reason": 7}]}, Chunk(choices=[Choice()])),
        ({"choices": [{"delta": "a", "message": "b"}]},
         Chunk(choices=[Choice(delta=Delta(content="a"), message=Delta(content="b"))])),
        ({"x_groq": {"usage": None}}, Chunk(x_groq=VendorBlock())),
        ({"usage": {"prompt_tokens": "12", "completion_tokens": True, "total_tokens": []}},
         Chunk(usage=WireUsage(prompt_tokens=12))),
        ({"usage": {"prompt_tokens_details": {}, "completion_tokens_details": {}}},
         Chunk(usage=WireUsage(prompt_tokens_details=PromptDetails(),
                               completion_tokens_details=CompletionDetails()))),
    ],
)  # fmt: skip
def test_of_an_odd_chunk_is_kept_what_makes_sense(value: Any, chunk: Chunk | None) -> None:
    assert odd(value) == chunk


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"data"])
def test_what_is_no_json_is_no_chunk(data: bytes) -> None:
    assert read_odd_chunk(data) is None


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert read_odd_chunk(b'"a\xff"') == Chunk(error="a\ufffd")


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (7, None),
        ({"content": {"text": "a"}}, Delta(content="a")),
        ({"content": {"refusal": "a"}}, Delta(content="a")),
        ({"content": {"text": 7}}, Delta()),
        ({"content": {"thinking": "a"}}, Delta(reasoning_content="a")),
        ({"content": [{"thinking": [{"text": "a"}]}, {"text": "b"}, 7, "c", {"thinking": "d"}]},
         Delta(content="bc", reasoning_content="ad")),
        ({"content": []}, Delta(content="")),
        ({"content": {"thinking": "a"}, "reasoning_content": "b"}, Delta(reasoning_content="b")),
        ({"reasoning_content": {"text": "a"}, "reasoning": [{"text": "b"}], "refusal": 7},
         Delta(reasoning_content="a", reasoning="b")),
        ({"tool_calls": {"id": 7}}, Delta(tool_calls=[CallPiece(id="7")])),
        ({"tool_calls": [7, {"id": [], "index": "2"}]}, Delta(tool_calls=[CallPiece(index=2)])),
        ({"tool_calls": 7, "function_call": 7}, Delta()),
        ({"function_call": {"name": 7, "arguments": {"a": [1, "é"]}}},
         Delta(function_call=FunctionPiece(arguments='{"a":[1,"é"]}'))),
    ],
)  # fmt: skip
def test_of_an_odd_delta_is_kept_what_makes_sense(delta: Any, expected: Delta | None) -> None:
    assert said(delta) == expected


@pytest.mark.parametrize(
    ("wire", "usage"),
    [
        (WireUsage(total_tokens=5), None),
        (WireUsage(prompt_tokens=5), Usage(input_tokens=5)),
        (WireUsage(completion_tokens=5), Usage(output_tokens=5)),
        (WireUsage(prompt_tokens=9, prompt_tokens_details=PromptDetails(cached_tokens=2, cache_write_tokens=3)),
         Usage(input_tokens=4, cache_read_tokens=2, cache_write_tokens=3)),
        (WireUsage(prompt_tokens=9, prompt_cache_hit_tokens=2), Usage(input_tokens=7, cache_read_tokens=2)),
        (WireUsage(prompt_tokens=9, prompt_cache_hit_tokens=2, prompt_tokens_details=PromptDetails(cached_tokens=3)),
         Usage(input_tokens=6, cache_read_tokens=3)),
        (WireUsage(prompt_tokens=1, prompt_cache_hit_tokens=2), Usage(input_tokens=0, cache_read_tokens=2)),
        (WireUsage(prompt_tokens=0, prompt_tokens_details=PromptDetails(cached_tokens=0, cache_write_tokens=0)),
         Usage(input_tokens=0)),
        (WireUsage(prompt_tokens=1, completion_tokens=5, total_tokens=6,
                   completion_tokens_details=CompletionDetails(reasoning_tokens=4)),
         Usage(input_tokens=1, output_tokens=5, total_tokens=6, reasoning_tokens=4)),
        (WireUsage(prompt_tokens=1, completion_tokens=5, total_tokens=10,
                   completion_tokens_details=CompletionDetails(reasoning_tokens=4)),
         Usage(input_tokens=1, output_tokens=9, total_tokens=10, reasoning_tokens=4)),
        (WireUsage(completion_tokens=5, total_tokens=9,
                   completion_tokens_details=CompletionDetails(reasoning_tokens=4)),
         Usage(output_tokens=9, total_tokens=9, reasoning_tokens=4)),
        (WireUsage(prompt_tokens=1, completion_tokens=5,
                   completion_tokens_details=CompletionDetails(reasoning_tokens=0)),
         Usage(input_tokens=1, output_tokens=5)),
    ],
)  # fmt: skip
def test_tokens_are_counted_in_our_terms(wire: WireUsage, usage: Usage | None) -> None:
    assert usage_of(wire) == usage


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("no", StreamFault(message="no")),
        ([1, "é"], StreamFault(message='[1,"é"]')),
        ({}, StreamFault(message="{}")),
        ({"message": "", "msg": "a"}, StreamFault(message="a")),
        ({"message": 7, "detail": "a"}, StreamFault(message="a")),
        ({"message": "a", "code": 429, "type": "rate"},
         StreamFault(message="a", code="rate", status=429)),
        ({"message": "a", "code": "503", "type": 7, "status": "busy"},
         StreamFault(message="a", code="busy", status=503)),
        ({"message": "a", "code": "x", "type": "y"}, StreamFault(message="a", code="x")),
        ({"message": "a", "status_code": 400, "code": 500}, StreamFault(message="a", status=400)),
        ({"message": "a", "status_code": 399, "code": 600, "status": 599},
         StreamFault(message="a", status=599)),
        ({"message": "a", "http_code": 404}, StreamFault(message="a", status=404)),
        ({"message": "a", "metadata": {"raw": "r"}}, StreamFault(message="a", detail="r")),
        ({"message": "a", "metadata": {"raw": 7}}, StreamFault(message="a")),
        ({"message": "a", "metadata": "r"}, StreamFault(message="a")),
        ({"error": "a", "status": 500}, StreamFault(message="a", status=500)),
        ({"error": {"message": "a", "code": 400}, "status": 500}, StreamFault(message="a", status=400)),
        ({"error": "a", "message": "b"}, StreamFault(message="b")),
        ({"error": ""}, StreamFault(message='{"error":""}')),
    ],
)  # fmt: skip
def test_an_error_of_any_shape_says_something(value: Any, fault: StreamFault) -> None:
    assert fault_of(value) == fault
