"""Chat Completions replies that are one body, an error, or cut in the middle of a character."""

import json
from typing import Any

import pytest

from engine.chat.content import Finish
from engine.models.chat_completions import ChatCompletionsDecoder
from engine.models.parts import ReasoningDelta, StreamFault, StreamPart, StreamResult, TextDelta
from engine.models.think_tags import ThinkTags

ENDED = StreamFault(message="the provider ended the answer with an error")
CALL = {"id": "i", "function": {"name": "look", "arguments": "{}"}}


def decoded(*chunks: bytes) -> tuple[list[StreamPart], StreamResult]:
    decoder = ChatCompletionsDecoder("wren")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    return [*parts, *decoder.end()], decoder.result()


def body(finish: str | None = None, error: Any = None, **message: Any) -> StreamResult:
    choice = {"message": message, "finish_reason": finish}
    return decoded(json.dumps({"choices": [choice], "error": error}).encode())[1]


def event(data: bytes, name: bytes = b"") -> bytes:
    head = b"event: " + name + b"\n" if name else b""
    return head + b"data: " + data + b"\n\n"


def said(text: str) -> bytes:
    return event(json.dumps({"choices": [{"delta": {"content": text}}]}).encode())


@pytest.mark.parametrize(
    ("fields", "finish", "runnable"),
    [
        ({"content": "hello"}, Finish.STOP, False),
        ({"tool_calls": [CALL]}, Finish.TOOL_CALLS, True),
        ({"content": "hello", "tool_calls": [CALL]}, Finish.TOOL_CALLS, True),
        ({"content": "hello", "finish": "length"}, Finish.LENGTH, False),
        ({"content": "hello", "error": "no"}, Finish.ERROR, False),
        ({"content": ""}, Finish.INCOMPLETE, False),
        ({"content": "", "finish": "stop"}, Finish.STOP, False),
    ],
)
def test_a_body_that_says_something_is_whole_without_a_reason(
    fields: dict[str, Any], finish: Finish, *, runnable: bool
) -> None:
    result = body(**fields)
    assert (result.finish, result.runnable) == (finish, runnable)


def test_a_body_is_closed_only_when_it_ended_for_no_reason_of_its_own() -> None:
    def closed(data: bytes) -> bool:
        decoder = ChatCompletionsDecoder("wren")
        decoder.feed(data)
        decoder.end()
        return decoder.is_closed

    assert closed(b'{"choices":[{"message":{"content":"a"}}]}')
    assert not closed(b'{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}')
    assert not closed(b'{"choices":[{"message":{"content":"a"}}],"error":"no"}')
    assert not closed(b'{"choices":[{"message":{"content":""}}]}')
    assert not closed(b"{}x")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (event(b'{"message": "no"}'), StreamFault(message="no")),
        (event(b'{"message": "", "detail": "no"}'), StreamFault(message="no")),
        (event(b'{"message": 7, "detail": "no"}'), StreamFault(message="no")),
        (event(b'{"message": 7}'), None),
        (event(b'{"object": "error"}'), StreamFault(message="an error without words")),
        (event(b'{"type": "error"}'), StreamFault(message="an error without words")),
        (event(b'{"error": "worse", "message": "no"}'), StreamFault(message="worse")),
        (event(b'{"choices": [{"finish_reason": "error"}]}'), ENDED),
        (
            event(b'{"choices": [{"finish_reason": "error"}], "error": "no"}'),
            StreamFault(message="no"),
        ),
        (event(b'{"message": "no"}') + event(b'{"message": "later"}'), StreamFault(message="no")),
        (event(b'{"code": 400}', b"error"), StreamFault(message='{"code":400}', status=400)),
        (event(b"bad \xff", b"error"), StreamFault(message="bad \ufffd")),
        (event(b'{"error": {"message": "a\xff"}}', b"error"), StreamFault(message="a\ufffd")),
        (event(b"junk") + event(b'"no"', b"error"), StreamFault(message="no")),
        (event(b"junk\xff"), StreamFault(message="junk\ufffd")),
        (event(b"x" * 3000), StreamFault(message="x" * 2000)),
        (event(b"first") + event(b"second"), StreamFault(message="first")),
        (event(b" "), StreamFault(message="an empty event")),
    ],
)
def test_an_error_is_told_in_the_providers_words(data: bytes, fault: StreamFault | None) -> None:
    assert decoded(data)[1].fault == fault


@pytest.mark.parametrize("whole", ["\U00010000", "\U0001f6a4", "\U0010ffff"])
def test_a_character_in_two_chunks_is_one(whole: str) -> None:
    high, low = whole.encode("utf-16-be")[:2], whole.encode("utf-16-be")[2:]
    halves = [f'{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}'.encode() for text in (
        f"a\\u{high.hex()}", f"\\u{low.hex()}b")]  # fmt: skip
    parts, result = decoded(*map(event, halves))
    assert parts == [TextDelta("a"), TextDelta(f"{whole}b")]
    assert result.text == f"a{whole}b"
    assert decoded(event(halves[0]))[1].text == "a\ufffd"


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [
        (["<think>a</think>\n\nb"], [ReasoningDelta("a"), TextDelta("b")]),
        ([" <th", "ink>a</thi", "nk> ", " b"], [ReasoningDelta("a"), TextDelta("b")]),
        (["<think>a</think></think>b"], [ReasoningDelta("a"), TextDelta("</think>b")]),
        (["<think>a<", "b"], [ReasoningDelta("a"), ReasoningDelta("<b")]),
        (["<think>a</"], [ReasoningDelta("a"), ReasoningDelta("</")]),
        (["<think>a</think", ">b"], [ReasoningDelta("a"), TextDelta("b")]),
        (["<think>a</think>", "</think>"], [ReasoningDelta("a"), TextDelta("</think>")]),
        ([" <t"], [TextDelta(" <t")]),
        ([" <t", "ext"], [TextDelta(" <text")]),
        (["a <think>b"], [TextDelta("a <think>b")]),
    ],
)
def test_reasoning_in_tags_is_told_apart_as_it_comes(
    chunks: list[str], parts: list[StreamPart]
) -> None:
    assert decoded(*map(said, chunks))[0] == parts


@pytest.mark.parametrize("cut", range(1, len("</think>") + 1))
def test_no_more_is_held_back_than_may_be_a_tag(cut: int) -> None:
    tags = ThinkTags()
    assert tags.feed("<think>red") == ("red", "")
    held = "</think>"[:cut]
    assert tags.feed("boat" + held) == ("boat", "")
    assert tags.is_settled is False
    assert tags.end() == ((held, "") if cut < len("</think>") else ("", ""))
    assert tags.end() == ("", "")


def test_half_a_character_in_arguments_is_replaced() -> None:
    call = r'{"function": {"name": "look", "arguments": "\ud83d"}}'
    odd = f'{{"choices": [{{"delta": {{"tool_calls": [{call}]}}}}]}}'
    (made,) = decoded(event(odd.encode()))[1].tool_calls
    assert made.args == "\ufffd"


def test_half_a_character_in_reasoning_is_replaced() -> None:
    odd = event(rb'{"choices": [{"delta": {"reasoning": "a\ud83d"}}]}')
    assert decoded(odd)[0] == [ReasoningDelta("a\ufffd")]


def test_a_message_that_repeats_what_was_streamed_is_not_told_again() -> None:
    def chunk(**choice: Any) -> bytes:
        return event(json.dumps({"choices": [choice]}).encode())

    again = chunk(message={"content": "Hi", "tool_calls": [CALL]}, finish_reason="stop")
    spoken, called = chunk(delta={"content": "Hi"}), chunk(delta={"tool_calls": [CALL]})
    assert decoded(spoken, again)[1].text == "Hi"
    assert decoded(spoken, again)[1].tool_calls == ()
    assert decoded(called, again)[1].text == ""
    assert decoded(chunk(delta={"content": "a"}, message={"content": "b"}))[1].text == "a"


def test_a_call_of_the_old_kind_is_one_though_its_name_comes_in_pieces() -> None:
    pieces = ({"name": "lo"}, {"name": "ok"}, {"arguments": "{}"})
    chunks = [
        event(json.dumps({"choices": [{"delta": {"function_call": piece}}]}).encode())
        for piece in pieces
    ]
    assert [(c.tool_name, c.args) for c in decoded(*chunks)[1].tool_calls] == [("look", "{}")]


@pytest.mark.parametrize(
    ("args", "last", "runnable"),
    [
        ("[", b'{"choices": [{"finish_reason": "tool_calls"}]}', True),
        ("[", b"[DONE]", False),
        ("{}", b"[DONE]", True),
    ],
)
def test_a_call_runs_when_the_provider_says_so_or_its_arguments_are_whole(
    args: str, last: bytes, *, runnable: bool
) -> None:
    call = {"id": "i", "function": {"name": "look", "arguments": args}}
    chunk = json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]}).encode()
    assert decoded(event(chunk), event(last))[1].runnable is runnable


def test_what_is_no_event_is_counted_and_forgiven_beside_good_ones() -> None:
    result = decoded(event(b"junk"), said("Hi"), event(b"more junk"), event(b"[DONE]"))[1]
    assert (result.finish, result.fault, result.dropped_events) == (Finish.STOP, None, 2)


def test_the_end_is_told_once() -> None:
    decoder = ChatCompletionsDecoder("wren")
    decoder.feed(event(rb'{"choices": [{"delta": {"content": "a\ud83d"}}]}'))
    assert decoder.end() == [TextDelta("\ufffd")]
    assert decoder.end() == []
