"""Every recorded and constructed Chat Completions reply gives its expected result, however cut."""

import json
from typing import Any

import pytest

from engine.chat.content import Finish
from engine.models.chat_completions import ChatCompletionsDecoder
from engine.models.parts import (
    ReasoningDelta,
    StreamPart,
    StreamResult,
    TextDelta,
    ToolCallDelta,
)
from tests.unit.engine.models import recordings


def decode(chunks: list[bytes]) -> tuple[list[StreamPart], StreamResult]:
    decoder = ChatCompletionsDecoder("wren")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    parts += decoder.end()
    return parts, decoder.result()


def whole(*events: object, done: bool = True) -> StreamResult:
    frames = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in events]
    stream = b"".join(b"data: " + frame + b"\n\n" for frame in frames)
    return decode([stream + (b"data: [DONE]\n\n" if done else b"")])[1]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(**fields: Any) -> dict[str, Any]:
    """A tool call piece; `name` and `arguments` go where they belong."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**fields, "function": function}


@pytest.mark.parametrize("name", recordings.names("chat"))
def test_reply_decodes_to_its_expected_result_however_it_is_cut(name: str) -> None:
    """B36 and cases/sse: the whole set of chat replies."""
    expected = recordings.expected(name)
    for chunks in recordings.cuts(name):
        parts, result = decode(chunks)
        text = "".join(p.text for p in parts if isinstance(p, TextDelta))
        assert result.text in _texts(expected["text"])
        assert text == result.text
        assert result.reasoning == expected["reasoning"]
        streamed = "".join(p.text for p in parts if isinstance(p, ReasoningDelta))
        assert streamed == result.reasoning
        assert [
            {"id": c.tool_call_id, "name": c.tool_name, "arguments": c.args}
            for c in result.tool_calls
        ] == expected["tool_calls"]
        assert result.finish == expected["finish"]
        assert result.runnable == (expected["finish"] == "tool_calls")
        assert result.dropped_events == expected.get("bad_chunks", 0)
        _same_usage(result, expected["usage"])
        _same_error(result, expected["error"])


def _texts(text: str) -> tuple[str, ...]:
    return ("😀", "\ufffd", "\ufffd\ufffd") if text == "😀 or U+FFFD" else (text,)


def _same_usage(result: StreamResult, expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert result.usage is None
        return
    usage = result.usage
    assert usage is not None
    assert usage.input_tokens is not None
    assert usage.output_tokens is not None
    prompt = usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    assert prompt == expected["prompt_tokens"]
    assert usage.total_tokens == expected["total_tokens"]
    beside = usage.total_tokens - prompt - expected["completion_tokens"]
    assert usage.output_tokens == expected["completion_tokens"] + beside


def _same_error(result: StreamResult, expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert result.fault is None
        return
    assert result.fault is not None
    assert result.fault.message == expected["message"]
    status = expected.get("status_code", expected.get("code"))
    assert result.fault.status == (status if isinstance(status, int) else None)


@pytest.mark.parametrize("name", ["01_baseline", "30_crlf", "31_cr_only", "33_multi_line_data"])
def test_each_part_comes_with_its_blank_line_and_not_later(name: str) -> None:
    ends = {"30_crlf": b"\r\n\r\n", "31_cr_only": b"\r\r"}.get(name, b"\n\n")
    decoder = ChatCompletionsDecoder()
    for block in recordings.body(name).split(ends):
        if not block:
            continue
        before = decoder.feed(block + ends[:-2])
        after = decoder.feed(ends[-2:])
        assert not before
        has_text = b'"content": "' in block and b'"content": ""' not in block
        assert bool(after) == has_text


def test_first_chunk_without_choices_is_ignored() -> None:
    """B36: no IndexError for choices [] or null at the start, or usage alone at the end."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    result = whole(
        {"choices": [], "prompt_filter_results": [{}]},
        {"choices": None},
        delta(content="Hi"),
        delta("stop"),
        {"choices": [], "usage": usage},
    )
    assert (result.text, result.finish) == ("Hi", Finish.STOP)
    assert result.usage is not None
    assert result.usage.total_tokens == 5


def test_interleaved_parallel_calls_are_told_apart_by_index() -> None:
    result = whole(
        delta(tool_calls=[call(index=0, id="a", name="get_weather", arguments="")]),
        delta(tool_calls=[call(index=1, id="b", name="get_time", arguments="")]),
        delta(tool_calls=[call(index=0, arguments='{"city":'), call(index=1, arguments='{"tz":')]),
        delta(tool_calls=[call(index=1, arguments='"CET"}'), call(index=0, arguments='"Paris"}')]),
        delta("tool_calls"),
    )
    assert [(c.tool_call_id, c.tool_name, c.args) for c in result.tool_calls] == [
        ("a", "get_weather", '{"city":"Paris"}'),
        ("b", "get_time", '{"tz":"CET"}'),
    ]


def test_parallel_calls_without_index_are_told_apart_by_id() -> None:
    result = whole(
        delta(tool_calls=[call(id="a", name="look", arguments='{"at":')]),
        delta(tool_calls=[call(arguments='"sea"}')]),
        delta(tool_calls=[call(id="b", name="look", arguments='{"at":"sky"}')]),
        delta("tool_calls"),
    )
    assert [(c.tool_call_id, c.args) for c in result.tool_calls] == [
        ("a", '{"at":"sea"}'),
        ("b", '{"at":"sky"}'),
    ]


def test_missing_ids_are_made_up_the_same_way_each_time() -> None:
    events = (
        delta(tool_calls=[call(index=0, name="look", arguments="{}")]),
        delta(tool_calls=[call(index=1, id="", name="look", arguments='{"at":"sky"}')]),
        delta("tool_calls"),
    )
    ids = [c.tool_call_id for c in whole(*events).tool_calls]
    assert ids == ["call_1", "call_2"] == [c.tool_call_id for c in whole(*events).tool_calls]


def test_calls_without_index_and_id_are_told_apart_by_whole_arguments() -> None:
    result = whole(
        delta(tool_calls=[call(name="look", arguments='{"at":"sea"}')]),
        delta(tool_calls=[call(name="look", arguments='{"at":"sky"}')]),
        delta("tool_calls"),
    )
    assert [c.args for c in result.tool_calls] == ['{"at":"sea"}', '{"at":"sky"}']


def test_same_id_at_two_indexes_gives_two_different_ids() -> None:
    result = whole(
        delta(tool_calls=[call(index=0, id="call", name="look", arguments="{}")]),
        delta(tool_calls=[call(index=1, id="call", name="hear", arguments="{}")]),
        delta("tool_calls"),
    )
    assert [c.tool_call_id for c in result.tool_calls] == ["call", "call_2"]


def test_id_that_changes_with_every_piece_stays_one_call() -> None:
    result = whole(
        delta(tool_calls=[call(index=0, id="x1", name="look", arguments="")]),
        delta(tool_calls=[call(index=0, id="x2", arguments='{"at":')]),
        delta(tool_calls=[call(index=0, id="x3", name="", arguments='"sea"}')]),
        delta("tool_calls"),
    )
    assert [(c.tool_call_id, c.args) for c in result.tool_calls] == [("x1", '{"at":"sea"}')]


def test_name_in_pieces_is_joined() -> None:
    result = whole(
        delta(tool_calls=[call(index=0, id="a", name="get_")]),
        delta(tool_calls=[call(index=0, name="weather", arguments="{}")]),
        delta("tool_calls"),
    )
    assert result.tool_calls[0].tool_name == "get_weather"


def test_arguments_as_an_object_become_text() -> None:
    result = whole(
        delta(tool_calls=[call(index="0", id="a", name="look", arguments={"at": "sea"})]),
        delta("tool_calls"),
    )
    assert result.tool_calls[0].args == '{"at":"sea"}'
    assert result.runnable


def test_placeholder_arguments_before_the_real_ones_are_dropped() -> None:
    result = whole(
        delta(tool_calls=[call(index=0, id="a", name="look", arguments="{}")]),
        delta(tool_calls=[call(index=0, arguments='{"at":"sea"}')]),
        delta("tool_calls"),
    )
    assert result.tool_calls[0].args == '{"at":"sea"}'


def test_legacy_function_call_is_a_tool_call() -> None:
    result = whole(
        delta(function_call={"name": "look", "arguments": '{"at":'}),
        delta(function_call={"arguments": '"sea"}'}),
        delta("function_call"),
    )
    assert [(c.tool_name, c.args) for c in result.tool_calls] == [("look", '{"at":"sea"}')]
    assert result.finish is Finish.TOOL_CALLS


def test_call_without_an_end_never_runs() -> None:
    piece = delta(tool_calls=[call(index=0, id="a", name="look", arguments='{"at":"sea"}')])
    cut_off = whole(piece, done=False)
    assert (cut_off.finish, cut_off.runnable) == (Finish.INCOMPLETE, False)
    limited = whole(piece, delta("length"))
    assert (limited.finish, limited.runnable) == (Finish.LENGTH, False)
    failed = whole(piece, {"error": {"message": "gone"}})
    assert (failed.finish, failed.runnable) == (Finish.ERROR, False)
    assert whole(piece).runnable
    half = delta(tool_calls=[call(index=0, id="a", name="look", arguments='{"at":')])
    assert not whole(half).runnable


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_think_tags_at_the_start_are_reasoning(size: int) -> None:
    text = "\n<think>Let me see </thin king</think>\n\nThe sea."
    events = [delta(content=piece) for piece in _strings(text, size)]
    result = whole(*events, delta("stop"))
    assert result.reasoning == "Let me see </thin king"
    assert result.text == "The sea."


@pytest.mark.parametrize("text", ["<th", "  ", "\n\nHi", "<thinker> is a word", "a <think> b"])
def test_text_that_only_looks_like_a_tag_stays_text(text: str) -> None:
    for size in (1, 100):
        events = [delta(content=piece) for piece in _strings(text, size)]
        assert whole(*events, delta("stop")).text == text


def test_think_tag_that_never_closes_is_all_reasoning() -> None:
    result = whole(delta(content="<think>and then</th"), delta("stop"))
    assert (result.text, result.reasoning) == ("", "and then</th")


def test_refusal_is_shown_as_the_answer() -> None:
    assert whole(delta(refusal="I can't."), delta("stop")).text == "I can't."


@pytest.mark.parametrize(
    ("event", "message", "status"),
    [
        ({"error": {"message": "busy", "code": "429"}}, "busy", 429),
        ({"error": {"message": "busy"}, "choices": [{"delta": {}, "finish_reason": "error"}]}, "busy", None),
        ({"object": "error", "message": "too long", "code": 400}, "too long", None),
        ({"type": "error", "error": {"message": "Overloaded"}}, "Overloaded", None),
        ({"detail": "Not Found"}, "Not Found", None),
        ([{"error": {"message": "key", "status": "UNAUTHENTICATED", "code": 401}}], "key", 401),
        (b"upstream broke", "upstream broke", None),
    ],
)  # fmt: skip
def test_error_inside_a_stream_keeps_the_text_before_it(
    event: object, message: str, status: int | None
) -> None:
    before = () if isinstance(event, bytes) else (delta(content="Half"),)
    result = whole(*before, event, done=False)
    assert result.finish is Finish.ERROR
    assert result.text == ("Half" if before else "")
    assert result.fault is not None
    assert (result.fault.message, result.fault.status) == (message, status)


def test_named_error_event_with_plain_words_is_an_error() -> None:
    _, result = decode([b"event: error\ndata: out of memory\n\n"])
    assert result.fault is not None
    assert result.fault.message == "out of memory"


def test_web_page_is_an_error_and_not_an_empty_answer() -> None:
    _, result = decode([b"<!doctype html><title>Sign in</title>"])
    assert result.finish is Finish.ERROR
    assert result.fault is not None
    assert result.fault.code == "html_body"


@pytest.mark.parametrize("body", [b"", b": ping\n\n", b"upstream connect error", b"{"])
def test_nothing_is_never_a_success(body: bytes) -> None:
    _, result = decode([body])
    assert result.finish in (Finish.INCOMPLETE, Finish.ERROR)


def test_plain_body_with_a_call_is_a_call() -> None:
    message = {"content": None, "tool_calls": [call(id="a", name="look", arguments="{}")]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    parts, result = decode(recordings.pieces(json.dumps(body, indent=1).encode(), 9))
    assert result.runnable
    assert parts == [ToolCallDelta("a", "look", "{}")]


def test_last_event_without_its_blank_line_counts() -> None:
    _, result = decode([b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'])
    assert (result.text, result.finish) == ("Hi", Finish.STOP)


def test_neighbouring_text_in_one_chunk_is_one_part() -> None:
    stream = b"".join(
        b"data: " + json.dumps(delta(content=word)).encode() + b"\n\n" for word in ("a", "b", "c")
    )
    assert ChatCompletionsDecoder().feed(stream) == [TextDelta("abc")]


def test_split_character_is_one_part_when_its_second_half_comes() -> None:
    decoder = ChatCompletionsDecoder()
    first = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
    second = b'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n'
    assert decoder.feed(first) == [TextDelta("a")]
    assert decoder.feed(second) == [TextDelta("😀b")]


def test_lone_half_before_ordinary_text_is_replaced() -> None:
    half = b'{"choices":[{"delta":{"content":"\\ud83d"}}]}'
    assert whole(half, delta(content="x"), delta("stop")).text == "\ufffdx"
    assert whole(half, delta("stop")).text == "\ufffd"


def test_cached_tokens_are_not_counted_as_fresh_input() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    result = whole(delta("stop", content="x"), {"choices": [], "usage": usage}).usage
    assert result is not None
    assert (result.input_tokens, result.cache_read_tokens, result.cache_write_tokens) == (
        30,
        60,
        10,
    )
    assert (result.output_tokens, result.reasoning_tokens) == (10, 4)


def _strings(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
