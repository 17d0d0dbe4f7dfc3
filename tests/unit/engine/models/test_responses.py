"""Every recorded and constructed Responses reply gives its expected result, however it is cut."""

import json
from typing import Any

import pytest

from engine.chat.content import Finish, ProviderPart, ReasoningPart, TextPart, ToolCallPart
from engine.models.parts import (
    ReasoningDelta,
    StreamResult,
    TextDelta,
    ToolCallDelta,
)
from engine.models.responses import ResponsesDecoder
from tests.unit.engine.models import recordings
from tests.unit.engine.models.response_events import (
    SEARCH,
    SECRET,
    USAGE,
    call_item,
    completed,
    decode,
    done,
    event,
    frames,
    text,
    whole,
)


@pytest.mark.parametrize("name", recordings.names("responses"))
def test_reply_decodes_to_its_expected_result_however_it_is_cut(name: str) -> None:
    """B36 and cases/sse: the whole set of Responses replies."""
    expected = recordings.expected(name)
    for chunks in recordings.cuts(name):
        parts, result = decode(chunks)
        assert result.text == expected["text"]
        assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == result.text
        assert result.reasoning == expected["reasoning"]
        streamed = "".join(p.text for p in parts if isinstance(p, ReasoningDelta))
        assert streamed == result.reasoning
        assert [
            {"id": c.tool_call_id, "name": c.tool_name, "arguments": c.args}
            for c in result.tool_calls
        ] == expected["tool_calls"]
        assert result.finish == expected["finish"]
        assert result.runnable == (expected["finish"] == "tool_calls")
        _same_usage(result, expected["usage"])
        error = expected["error"]
        fault = result.fault
        assert (fault and {"code": fault.code, "message": fault.message}) == error


def _same_usage(result: StreamResult, expected: dict[str, int] | None) -> None:
    usage = result.usage
    assert (usage is None) == (expected is None)
    if usage is None or expected is None:
        return
    assert usage.input_tokens is not None
    prompt = usage.input_tokens + (usage.cache_read_tokens or 0)
    assert prompt == expected["input_tokens"]
    assert usage.output_tokens == expected["output_tokens"]
    assert usage.total_tokens == expected["total_tokens"]


def test_there_are_recordings_to_decode() -> None:
    assert len(recordings.names("responses")) >= 5


def test_event_cut_short_is_counted_and_its_stream_is_not_a_success() -> None:
    _, result = decode([recordings.body("real/vercelai_parallel-tool-call-wrapper_1")])
    assert (result.dropped_events, result.finish) == (2, Finish.INCOMPLETE)
    assert not result.runnable


def test_each_part_comes_with_its_blank_line_and_not_later() -> None:
    decoder = ResponsesDecoder("wren")
    for block in recordings.body("real/vercelai_lmstudio-tool-call_1").split(b"\n\n"):
        before = decoder.feed(block)
        after = decoder.feed(b"\n\n")
        assert not before
        if b"_text.delta" in block:
            assert len(after) == 1


def test_items_keep_their_order_and_their_kinds() -> None:
    result = whole(
        done(SECRET, 0),
        done(SEARCH, 1),
        text("The sea ", output_index=2),
        text("is calm.", output_index=2),
        event("output_item.added", item=call_item(), output_index=3),
        event("function_call_arguments.delta", delta="{}", output_index=3),
        done(call_item(arguments="{}"), 3),
        completed(),
    )
    own = {"provider": "wren", "wire": "responses"}
    assert result.content == (
        ProviderPart(data=SECRET, **own),
        ProviderPart(data=SEARCH, **own),
        TextPart(text="The sea is calm."),
        ToolCallPart(tool_call_id="call_1", tool_name="look", args="{}"),  # type: ignore[arg-type]
    )
    assert result.runnable


def test_reasoning_is_readable_and_kept_for_its_provider() -> None:
    item = SECRET | {"summary": [{"type": "summary_text", "text": "Hm."}]}
    delta = event("reasoning_summary_text.delta", delta="Hm.", output_index=0, summary_index=0)
    content = whole(delta, done(item), completed()).content
    assert content == (
        ReasoningPart(text="Hm.", provider="wren"),
        ProviderPart(provider="wren", wire="responses", data=item),
    )


def test_reasoning_that_only_its_words_tell_is_kept_once() -> None:
    item = SECRET | {"encrypted_content": None}
    delta = event("reasoning_text.delta", delta="Hm.", output_index=0, content_index=0)
    assert whole(delta, done(item), completed()).content == (
        ReasoningPart(text="Hm.", provider="wren"),
    )
    assert whole(done(item), completed()).content == (
        ProviderPart(provider="wren", wire="responses", data=item),
    )


def test_parts_of_a_summary_and_messages_stand_apart() -> None:
    def thought(delta: str, number: int) -> dict[str, Any]:
        kind = "reasoning_summary_text.delta"
        return event(kind, delta=delta, output_index=0, summary_index=number)

    parts, result = decode(
        [
            frames(
                thought("One", 0), thought(".", 0), thought("Two.", 1),
                text("Looking.", output_index=1), text("Calm.", output_index=2), completed(),
            )
        ]
    )  # fmt: skip
    assert result.reasoning == "One.\n\nTwo."
    assert result.text == "Looking.\n\nCalm."
    assert parts == [ReasoningDelta("One.\n\nTwo."), TextDelta("Looking.\n\nCalm.")]


def test_parallel_calls_are_told_apart_by_their_place_whatever_their_item_ids() -> None:
    """Some servers make up an item id for every event."""
    result = whole(
        event("output_item.added", item=call_item(id="x1"), output_index=0),
        event(
            "output_item.added", item=call_item(id="x2", call_id="b", name="hear"), output_index=1
        ),
        event("function_call_arguments.delta", delta='{"at":', item_id="x3", output_index=0),
        event("function_call_arguments.delta", delta='{"of":', item_id="x4", output_index=1),
        event("function_call_arguments.delta", delta='"bell"}', item_id="x5", output_index=1),
        event("function_call_arguments.delta", delta='"sea"}', item_id="x6", output_index=0),
        completed(),
    )
    assert [(c.tool_call_id, c.tool_name, c.args) for c in result.tool_calls] == [
        ("call_1", "look", '{"at":"sea"}'),
        ("b", "hear", '{"of":"bell"}'),
    ]


def test_one_call_id_twice_in_an_answer_becomes_two() -> None:
    result = whole(
        done(call_item(arguments='{"at":"sea"}'), 0),
        done(call_item(arguments='{"at":"sky"}'), 1),
        completed(),
    )
    assert [(c.tool_call_id, c.args) for c in result.tool_calls] == [
        ("call_1", '{"at":"sea"}'),
        ("call_1_2", '{"at":"sky"}'),
    ]


def test_call_is_made_known_before_its_arguments_come() -> None:
    parts, _ = decode(
        [
            frames(event("output_item.added", item=call_item(), output_index=0)),
            frames(event("function_call_arguments.delta", delta="{", output_index=0)),
            frames(event("function_call_arguments.done", arguments="{}", output_index=0)),
            frames(done(call_item(arguments="{}")), completed()),
        ]
    )
    assert parts == [
        ToolCallDelta("call_1", "look", ""),
        ToolCallDelta("call_1", "look", "{"),
        ToolCallDelta("call_1", "look", "}"),
    ]


@pytest.mark.parametrize("places", [{}, {"output_index": None}, {"item_id": "fc_1"}])
def test_events_without_a_place_go_to_the_open_item(places: dict[str, Any]) -> None:
    result = whole(
        event("output_item.added", item=call_item(), **places),
        event("function_call_arguments.delta", delta='{"at":"sea"}', **places),
        event("output_item.done", item=call_item(arguments='{"at":"sea"}'), **places),
        event("function_call_arguments.done", arguments='{"at":"sea"}', **places),
        completed(),
    )
    assert [(c.tool_call_id, c.args) for c in result.tool_calls] == [("call_1", '{"at":"sea"}')]


def test_call_that_is_named_only_at_its_end_has_its_name() -> None:
    result = whole(
        event("function_call_arguments.delta", delta="{}", output_index=0),
        done(call_item(arguments="{}")),
        completed(),
    )
    assert [(c.tool_name, c.args) for c in result.tool_calls] == [("look", "{}")]


def test_arguments_that_the_end_spells_differently_stay_as_they_were_streamed() -> None:
    result = whole(
        event("output_item.added", item=call_item(), output_index=0),
        event("function_call_arguments.delta", delta='{"at":"sea"}', output_index=0),
        done(call_item(arguments='{ "at": "sea" }')),
        completed(),
    )
    assert result.tool_calls[0].args == '{"at":"sea"}'


def test_text_that_comes_only_as_a_whole_is_told_once() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Calm."}]}
    added = event("output_item.added", item={"type": "message"}, output_index=0)
    at_done = event("output_text.done", text="Calm.", output_index=0)
    for events in (
        [done(item)],
        [added, at_done, done(item)],
        [text("Calm."), at_done, done(item)],
    ):
        parts, result = decode([frames(*events, completed(output=[item]))])
        assert (parts, result.text) == ([TextDelta("Calm.")], "Calm.")


def test_body_that_is_not_streamed_gives_the_same_result() -> None:
    output = [
        SECRET,
        SEARCH,
        {"type": "message", "content": [{"type": "output_text", "text": "Calm."}]},
        call_item(arguments='{"at":"sea"}'),
    ]
    body = {"object": "response", "status": "completed", "error": None, "output": output}
    _, plain = decode(recordings.pieces(json.dumps(body | {"usage": USAGE}, indent=1).encode(), 9))
    streamed = whole(completed(output=output, usage=USAGE))
    assert plain == streamed
    assert [type(part) for part in plain.content] == [
        ProviderPart, ProviderPart, TextPart, ToolCallPart,
    ]  # fmt: skip
    assert plain.runnable


def test_refusal_is_shown_as_the_answer() -> None:
    parts = [
        event("refusal.delta", delta="I can't.", output_index=0),
        event("refusal.done", refusal="I can't.", output_index=0),
    ]
    assert whole(*parts, completed()).text == "I can't."
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    assert whole(done(item), completed()).text == "No."


def test_usage_counts_cached_tokens_apart() -> None:
    usage = whole(text("Hi"), completed(usage=USAGE)).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (30, 60, 10)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.total_tokens) == (20, 8, 120)


def test_unknown_events_and_items_change_nothing_else() -> None:
    result = whole(
        event("queued", response={}),
        event("audio.delta", delta="AAAA"),
        {"type": "keepalive", "sequence_number": 3},
        event("output_text.annotation.added", annotation={}, output_index=0),
        text("Hi"),
        done({"type": "hologram", "id": "h_1"}, 1),
        completed(),
    )
    assert (result.text, result.finish, result.dropped_events) == ("Hi", Finish.STOP, 0)
    assert result.content[1:] == (
        ProviderPart(provider="wren", wire="responses", data={"type": "hologram", "id": "h_1"}),
    )


def test_fields_of_an_odd_type_are_mended() -> None:
    result = whole(
        event("output_item.added", item=call_item(arguments=None), output_index="0"),
        event("function_call_arguments.delta", delta={"at": "sea"}, output_index="0"),
        completed(),
    )
    assert result.tool_calls[0].args == '{"at":"sea"}'


def test_character_cut_in_two_is_whole_when_its_second_half_comes() -> None:
    first = b'{"type":"response.output_text.delta","output_index":0,"delta":"a\\ud83d"}'
    second = b'{"type":"response.output_text.delta","output_index":0,"delta":"\\ude00b"}'
    parts, result = decode([frames(first), frames(second), frames(completed())])
    assert parts == [TextDelta("a"), TextDelta("😀b")]
    assert result.text == "a😀b"
    assert whole(first, completed()).text == "a\ufffd"


def test_neighbouring_text_in_one_chunk_is_one_part() -> None:
    assert ResponsesDecoder("wren").feed(frames(text("a"), text("b"))) == [TextDelta("ab")]


def test_decoder_knows_when_nothing_more_will_come() -> None:
    decoder = ResponsesDecoder("wren")
    decoder.feed(frames(text("Hi")))
    states = [(decoder.is_finished, decoder.is_closed)]
    decoder.feed(frames(completed()))
    states.append((decoder.is_finished, decoder.is_closed))
    assert states == [(False, False), (True, True)]
