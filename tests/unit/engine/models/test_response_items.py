"""How the items of a Responses reply are told apart, completed and ended."""

from typing import Any

import pytest

from engine.chat.content import Finish, ReasoningPart
from engine.models.parts import ReasoningDelta, StreamFault, TextDelta, ToolCallDelta
from engine.models.responses import ResponsesDecoder
from tests.unit.engine.models.response_events import (
    call_item,
    completed,
    decode,
    done,
    event,
    frames,
    text,
    whole,
)


def added(item: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return event("output_item.added", item=item, **fields)


def args(delta: str, **fields: Any) -> dict[str, Any]:
    return event("function_call_arguments.delta", delta=delta, **fields)


def calls(*events: Any) -> list[tuple[str, str, str]]:
    """The calls (id, name, arguments) of a whole answer of these events."""
    made = whole(*events, completed()).tool_calls
    return [(call.tool_call_id, call.tool_name, call.args) for call in made]


def test_items_without_a_place_are_told_apart_by_their_ids() -> None:
    assert calls(
        added(call_item(id="x", call_id="a")),
        added(call_item(id="y", call_id="b")),
        args('{"at":', item_id="x"),
        args("{}", item_id="y"),
        args('"sea"}', item_id="x"),
    ) == [("a", "look", '{"at":"sea"}'), ("b", "look", "{}")]
    assert calls(
        added(call_item(id="", call_id="a"), item_id="x"),
        added(call_item(id="", call_id="b"), item_id="y"),
        args("{}", item_id="x"),
    ) == [("a", "look", "{}"), ("b", "look", "{}")]
    assert calls(
        added(call_item(call_id="a"), output_index=0, item_id="x"),
        added(call_item(call_id="b"), item_id="y"),
        args('{"n":1}', output_index=0),
        args('{"n":2}', item_id="x"),
    ) == [("a", "look", '{"n":2}'), ("b", "look", '{"n":1}')]


@pytest.mark.parametrize(
    ("at_start", "at_delta"), [({"output_index": 0}, {}), ({}, {"output_index": 0})]
)
def test_an_event_that_names_no_place_goes_to_the_open_item(
    at_start: dict[str, Any], at_delta: dict[str, Any]
) -> None:
    assert calls(added(call_item(), **at_start), args("{}", **at_delta)) == [
        ("call_1", "look", "{}")
    ]


def test_a_call_without_an_id_of_its_own_goes_by_that_of_its_item() -> None:
    assert calls(added(call_item(call_id=None))) == [("fc_1", "look", "{}")]


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_call_is_told_when_it_has_its_name(name: Any) -> None:
    assert calls(added(call_item(name=name), output_index=0), done(call_item())) == [
        ("call_1", "look", "{}")
    ]


def test_a_name_makes_no_call_of_another_item() -> None:
    assert calls(added({"type": "message", "name": "look"})) == []


def test_arguments_that_end_without_their_item_are_whole() -> None:
    finished = event("function_call_arguments.done", arguments='{"at":"sea"}')
    assert calls(added(call_item()), args('{"at"'), args(':"s'), finished) == [
        ("call_1", "look", '{"at":"sea"}')
    ]
    assert calls(added(call_item()), finished) == [("call_1", "look", '{"at":"sea"}')]
    assert calls(finished) == []


@pytest.mark.parametrize(
    "ended",
    [
        event("output_text.done", text="Calm."),
        event("refusal.done", refusal="Calm."),
    ],
)
def test_words_that_end_without_a_piece_are_told_once(ended: dict[str, Any]) -> None:
    message = added({"type": "message"})
    for events in ([message, ended], [message, ended, ended]):
        parts, result = decode([frames(*events, completed())])
        assert (parts, result.text) == ([TextDelta("Calm.")], "Calm.")
    assert whole(ended, completed()).text == ""


def test_a_message_without_words_is_nothing() -> None:
    assert whole(added({"type": "message"}), completed()).content == ()


def test_words_after_a_message_begin_another() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Looking."}]}
    result = whole(
        event("output_item.done", item=message),
        event("output_text.delta", delta="Calm."),
        completed(),
    )
    assert result.text == "Looking.\n\nCalm."


@pytest.mark.parametrize("kind", ["reasoning_summary_text", "reasoning_text", "reasoning"])
def test_reasoning_comes_under_any_of_its_names(kind: str) -> None:
    parts, result = decode([frames(event(f"{kind}.delta", delta="Hm."), completed())])
    assert parts == [ReasoningDelta("Hm.")]
    assert result.content == (ReasoningPart(text="Hm.", provider="wren"),)


@pytest.mark.parametrize("char", ["\U00010000", "\U0001f6a4", "\U0010ffff"])
def test_a_character_in_two_events_is_one(char: str) -> None:
    high, low = char.encode("utf-16-be")[:2].hex(), char.encode("utf-16-be")[2:].hex()
    first, second = (
        f'{{"type":"response.output_text.delta","delta":"{words}"}}'.encode()
        for words in (f"abc\\u{high}", f"\\u{low}d")
    )
    decoder = ResponsesDecoder("wren")
    assert decoder.feed(frames(first)) == [TextDelta("abc")]
    assert decoder.feed(frames(second)) == [TextDelta(f"{char}d")]
    assert decoder.end() == []
    decoder.feed(frames(first))
    assert decoder.end() == [TextDelta("\ufffd")]
    assert decoder.end() == []


def test_half_a_character_is_replaced_in_reasoning_and_arguments() -> None:
    def torn(kind: str) -> bytes:
        return f'{{"type":"response.{kind}.delta","delta":"a\\ud83d"}}'.encode()

    parts, _ = decode(
        [frames(torn("reasoning"), added(call_item()), torn("function_call_arguments"))]
    )
    assert parts == [
        ReasoningDelta("a\ufffd"),
        ToolCallDelta("call_1", "look", ""),
        ToolCallDelta("call_1", "look", "a\ufffd"),
    ]


# -- whole answers and their ends ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "finish"),
    [
        (event("done", response={"status": "incomplete"}), Finish.LENGTH),
        (event("completed", response={"status": "failed", "error": "no"}), Finish.ERROR),
        (event("done", response={"status": None}), Finish.STOP),
        (event("done"), Finish.STOP),
        ({"object": "response", "status": "completed"}, Finish.STOP),
        ({"object": "response", "output": []}, Finish.STOP),
        ({"object": "response", "status": "incomplete",
          "incomplete_details": {"reason": "content_filter"}}, Finish.CONTENT_FILTER),
        ({"object": "chat", "status": "completed"}, Finish.INCOMPLETE),
        ({"type": "response.queued", "object": "response", "status": "completed"}, Finish.INCOMPLETE),
        (text("!", object="response"), Finish.INCOMPLETE),
        (text("!", error={"message": "no"}), Finish.INCOMPLETE),
    ],
)  # fmt: skip
def test_the_status_of_an_answer_is_how_it_ended(last: dict[str, Any], finish: Finish) -> None:
    assert whole(text("Hi"), last).finish is finish


def test_an_event_may_be_named_beside_its_data() -> None:
    stream = b'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\n'
    assert decode([stream])[0] == [TextDelta("Hi")]


def test_every_end_closes_the_stream() -> None:
    def closed(*events: Any) -> bool:
        decoder = ResponsesDecoder("wren")
        decoder.feed(frames(text("Hi"), *events))
        return decoder.is_closed

    assert not closed()
    assert closed(b"[DONE]")
    assert closed(event("failed"))
    assert closed(event("incomplete"))
    assert closed({"object": "response", "status": "queued"})
    assert not closed({"type": "error", "message": "no"})


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'{"error": "worse", "message": "no"}', StreamFault(message="worse")),
        (b'{"message": "no", "detail": "never"}', StreamFault(message="no")),
        (b'{"detail": "no"}', StreamFault(message="no")),
        (b"{}", StreamFault(message="the provider ended the answer with an error")),
        (b'{"status": "failed", "error": {"message": "no"}}', StreamFault(message="no")),
        (b"event: error\ndata: bad \xff\n\n", StreamFault(message="bad \ufffd")),
        (b"data: junk\n\nevent: error\ndata: no\n\n", StreamFault(message="no")),
        (b"event: x\ndata: junk\xff\n\n", StreamFault(message="junk\ufffd")),
        (b"data: " + b"x" * 3000 + b"\n\n", StreamFault(message="x" * 2000)),
        (b"data: first\n\ndata: second\n\n", StreamFault(message="first")),
        (b"data:  \n\n", StreamFault(message="an empty event")),
        (b"data: <p>no</p>\n\n", StreamFault(message="<p>no</p>")),
    ],
)
def test_an_error_is_told_in_the_providers_words(data: bytes, fault: StreamFault) -> None:
    assert decode([data])[1].fault == fault


def test_a_body_that_is_a_web_page_is_told_as_one() -> None:
    fault = decode([b"<html>Sign in</html>"])[1].fault
    assert fault is not None
    assert fault.code == "html_body"


def test_what_is_no_event_is_counted_and_forgiven_beside_good_ones() -> None:
    result = whole(b"junk", text("Hi"), b"more junk", completed())
    assert (result.finish, result.fault, result.dropped_events) == (Finish.STOP, None, 2)
