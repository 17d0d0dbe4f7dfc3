"""Every recorded and constructed Anthropic reply gives its expected result, however cut."""

import json
from typing import Any

import pytest

from engine.chat.content import (
    Finish,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Usage,
)
from engine.models.anthropic import AnthropicDecoder
from engine.models.parts import (
    ReasoningDelta,
    StreamPart,
    StreamResult,
    TextDelta,
    ToolCallDelta,
)
from tests.unit.engine.models import recordings


def decode(chunks: list[bytes]) -> tuple[list[StreamPart], StreamResult]:
    decoder = AnthropicDecoder("harbour")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    parts += decoder.end()
    return parts, decoder.result()


def frames(*events: object) -> bytes:
    lines = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in events]
    return b"".join(b"event: x\ndata: " + line + b"\n\n" for line in lines)


def whole(*events: object) -> StreamResult:
    return decode([frames(*events)])[1]


def start(message_id: str = "msg_1", **usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": message_id, "usage": usage}}


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def grow(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str, **usage: int) -> tuple[dict[str, Any], dict[str, Any]]:
    delta = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return delta, {"type": "message_stop"}


@pytest.mark.parametrize("name", recordings.names("anthropic"))
def test_reply_decodes_to_its_expected_result_however_it_is_cut(name: str) -> None:
    """B36 and cases/sse: the whole set of Anthropic replies."""
    expected = recordings.expected(name)
    contents = []
    for chunks in recordings.cuts(name):
        parts, result = decode(chunks)
        contents.append(result.content)
        assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == expected["text"]
        streamed = "".join(p.text for p in parts if isinstance(p, ReasoningDelta))
        assert streamed == expected["reasoning"]
        assert (result.text, result.reasoning) == (expected["text"], expected["reasoning"])
        assert [
            {"id": c.tool_call_id, "name": c.tool_name, "arguments": c.args}
            for c in result.tool_calls
        ] == expected["tool_calls"]
        assert result.finish == expected["finish"]
        assert result.runnable == (expected["finish"] == "tool_calls")
        runnable = [c.tool_call_id for c in result.tool_calls if result.runnable]
        assert expected.get("must_not_run") not in runnable
        assert result.dropped_events == expected.get("bad_chunks", 0)
        _same_usage(result.usage, expected["usage"])
        _same_error(result, expected["error"])
    assert all(content == contents[0] for content in contents)


def _same_usage(usage: Usage | None, expected: dict[str, Any]) -> None:
    assert usage is not None
    assert usage.input_tokens == expected["input_tokens"]
    assert usage.output_tokens == expected["output_tokens"]


def _same_error(result: StreamResult, expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert result.fault is None
        return
    assert result.fault is not None
    assert result.fault.message == expected["message"]
    assert result.fault.code == expected.get("type")


def test_every_recorded_block_keeps_its_place_and_its_data() -> None:
    """What the provider ran itself is stored as it came, among the text it belongs to."""
    raw = [
        json.loads(line[5:])
        for line in recordings.body("real/anthropic_mcp").splitlines()
        if line.startswith(b"data:")
    ]
    starts = [e["content_block"] for e in raw if e["type"] == "content_block_start"]
    _, result = decode([recordings.body("real/anthropic_mcp")])
    thought, asked, answered, text = result.content
    assert isinstance(thought, ReasoningPart)
    assert thought.provider == "harbour"
    assert thought.signature
    assert isinstance(asked, ProviderPart)
    assert (asked.provider, asked.wire) == ("harbour", "anthropic")
    assert {**asked.data, "input": {}} == starts[1]
    assert set(asked.data["input"]) == {"repoName", "question"}
    assert isinstance(answered, ProviderPart)
    assert answered.data == starts[2]
    assert isinstance(text, TextPart)


def test_redacted_thinking_is_kept_for_its_provider() -> None:
    _, result = decode([recordings.body("real/anthropic_redacted_thinking")])
    kinds = [p.data["type"] for p in result.content if isinstance(p, ProviderPart)]
    assert kinds == ["redacted_thinking", "redacted_thinking"]


def test_paused_turn_keeps_the_open_search_with_its_input() -> None:
    _, result = decode([recordings.body("a05_pause_turn")])
    _, search = result.content
    assert isinstance(search, ProviderPart)
    assert search.data == {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
    }


def test_blocks_stay_in_their_order_and_neighbouring_texts_are_one() -> None:
    result = whole(
        start(),
        block(0, type="text", text=""),
        grow(0, type="text_delta", text="One"),
        stop(0),
        block(1, type="text", text=""),
        grow(1, type="text_delta", text=" two"),
        grow(1, type="citations_delta", citation={"url": "https://harbour.test"}),
        stop(1),
        block(2, type="tool_use", id="a", name="look", input={}),
        grow(2, type="input_json_delta", partial_json='{"at":"sea"}'),
        stop(2),
        block(3, type="text", text="Three"),
        stop(3),
        *end("tool_use"),
    )
    assert [type(part) for part in result.content] == [TextPart, ToolCallPart, TextPart]
    assert result.text == "One twoThree"
    assert result.runnable


def test_thinking_cut_off_before_its_end_has_no_signature() -> None:
    """Half a signature would be refused by the provider for ever."""
    events = (
        start(),
        block(0, type="thinking", thinking="", signature=""),
        grow(0, type="thinking_delta", thinking="Hm."),
        grow(0, type="signature_delta", signature="EqQB"),
    )
    assert whole(*events).content == (ReasoningPart(text="Hm.", provider="harbour"),)
    (part,) = whole(*events, stop(0)).content
    assert part == ReasoningPart(text="Hm.", provider="harbour", signature="EqQB")


def test_thinking_that_is_not_shown_keeps_its_signature() -> None:
    result = whole(
        start(), block(0, type="thinking", thinking="", signature="s"), stop(0), *end("end_turn")
    )
    assert result.content == (ReasoningPart(text="", provider="harbour", signature="s"),)


def test_search_cut_off_in_its_input_is_not_kept() -> None:
    search = block(0, type="server_tool_use", id="s", name="web_search", input={})
    piece = grow(0, type="input_json_delta", partial_json='{"que')
    assert whole(start(), search).content == ()
    assert whole(start(), search, piece).content == ()
    assert whole(start(), search, piece, stop(0)).content == ()


def test_arguments_in_the_start_of_a_block_count_where_none_follow() -> None:
    use = block(0, type="tool_use", id="a", name="look", input={"at": "sea"})
    assert whole(start(), use, stop(0), *end("tool_use")).tool_calls[0].args == '{"at":"sea"}'
    more = grow(0, type="input_json_delta", partial_json='{"at":"sky"}')
    assert whole(start(), use, more, *end("tool_use")).tool_calls[0].args == '{"at":"sky"}'


def test_interleaved_calls_are_told_apart_by_their_block() -> None:
    result = whole(
        start(),
        block(0, type="tool_use", id="a", name="look", input={}),
        block(1, type="tool_use", id="a", name="look", input={}),
        grow(1, type="input_json_delta", partial_json='{"n":2}'),
        grow(0, type="input_json_delta", partial_json='{"n":1}'),
        *end("tool_use"),
    )
    assert [(c.tool_call_id, c.args) for c in result.tool_calls] == [
        ("a", '{"n":1}'),
        ("a_2", '{"n":2}'),
    ]


def test_blocks_that_were_never_announced_are_still_read() -> None:
    result = whole(start(), grow(0, type="text_delta", text="Hi"), *end("end_turn"))
    assert (result.text, result.finish) == ("Hi", Finish.STOP)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("something_new", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("pause_turn", Finish.CONTINUE),
        ("refusal", Finish.CONTENT_FILTER),
        ("tool_use", Finish.STOP),
    ],
)
def test_stop_reason_is_named_in_our_terms(reason: str, finish: Finish) -> None:
    assert whole(start(), block(0, type="text", text="Hi"), *end(reason)).finish is finish


def test_call_cut_off_by_the_limit_never_runs() -> None:
    use = block(0, type="tool_use", id="a", name="look", input={})
    piece = grow(0, type="input_json_delta", partial_json='{"at":"sea"}')
    limited = whole(start(), use, piece, stop(0), *end("max_tokens"))
    assert (limited.finish, limited.runnable) == (Finish.LENGTH, False)
    broken = whole(start(), use, piece, stop(0))
    assert (broken.finish, broken.runnable) == (Finish.INCOMPLETE, False)
    assert whole(start(), use, piece, stop(0), *end("end_turn")).runnable
    assert whole(start(), use, piece, stop(0), *end("pause_turn")).runnable


def test_second_generation_in_one_stream_is_a_fault_and_nothing_runs() -> None:
    use = block(0, type="tool_use", id="a", name="look", input={"at": "sea"})
    result = whole(start("one"), use, stop(0), start("two"), use, stop(0), *end("tool_use"))
    assert (result.finish, result.runnable, result.tool_calls) == (Finish.ERROR, False, ())
    assert result.fault is not None
    assert result.fault.message == "overlapping messages"
    torn = whole(start("one"), use, start("two"), *end("tool_use"))
    assert (torn.finish, torn.content) == (Finish.ERROR, ())


def test_block_of_an_unknown_type_is_not_kept() -> None:
    _, result = decode([recordings.body("a11_unknown_event_and_block")])
    assert result.content == (TextPart(text="Hi"),)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 504),
        ("overloaded_error", 529),
        ("novel_error", None),
    ],
)
def test_error_inside_a_stream_has_the_status_of_its_type(kind: str, status: int | None) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "no"}}
    result = whole(start(), block(0, type="text", text="Half"), error)
    assert result.fault is not None
    assert (result.fault.code, result.fault.status) == (kind, status)
    assert (result.text, result.finish) == ("Half", Finish.ERROR)


def test_errors_of_gateways_are_errors() -> None:
    for frame in (
        b'data: {"error":{"message":"busy","code":429}}\n\n',
        b"event: error\ndata: upstream broke\n\n",
        b"data: upstream broke\n\n",
        b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
        b"<html><title>Sign in</title></html>",
    ):
        _, result = decode([frame])
        assert result.finish is Finish.ERROR
        assert result.fault is not None


@pytest.mark.parametrize("body", [b"", b": ping\n\n", b'event: ping\ndata: {"type":"ping"}\n\n'])
def test_nothing_is_never_a_success(body: bytes) -> None:
    assert decode([body])[1].finish is Finish.INCOMPLETE


def test_whole_body_decodes_like_a_stream() -> None:
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Looking."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "sea"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    for size in (7, 10_000):
        parts, result = decode(recordings.pieces(json.dumps(body, indent=1).encode(), size))
        assert [type(part) for part in result.content] == [
            ReasoningPart, TextPart, ProviderPart, ProviderPart, ToolCallPart,
        ]  # fmt: skip
        assert result.runnable
        assert parts[-1] == ToolCallDelta("a", "look", '{"at":"sea"}')
        assert result.usage == Usage(input_tokens=3, output_tokens=2, total_tokens=5)


def test_cache_is_counted_apart_and_later_counts_replace_earlier_ones() -> None:
    events = (
        start(input_tokens=9, cache_creation_input_tokens=40, cache_read_input_tokens=50),
        *end("end_turn", output_tokens=7, input_tokens=10),
    )
    assert whole(*events).usage == Usage(
        input_tokens=10,
        output_tokens=7,
        total_tokens=107,
        cache_read_tokens=50,
        cache_write_tokens=40,
    )


def test_character_cut_into_halves_is_one_character() -> None:
    text = block(0, type="text", text="")
    first = (
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    )
    second = (
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00b"}}'
    )
    assert whole(start(), text, first, second, *end("end_turn")).text == "a😀b"
    assert whole(start(), text, first, *end("end_turn")).text == "a\ufffd"
