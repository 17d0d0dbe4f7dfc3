"""How an Anthropic reply ends: whole, broken off, or with an error in the provider's words."""

import json
from typing import Any

import pytest

from engine.chat.content import Finish, ReasoningPart
from engine.models.anthropic import AnthropicDecoder
from engine.models.parts import StreamFault, StreamResult

USE = {"type": "tool_use", "id": "a", "name": "look"}


def decoded(*chunks: bytes) -> StreamResult:
    decoder = AnthropicDecoder("harbour")
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.end()
    return decoder.result()


def event(data: bytes, name: bytes = b"") -> bytes:
    head = b"event: " + name + b"\n" if name else b""
    return head + b"data: " + data + b"\n\n"


def told(kind: str, **fields: Any) -> bytes:
    return event(json.dumps({"type": kind} | fields).encode())


def begun(block: dict[str, Any], index: int = 0) -> bytes:
    return told("content_block_start", index=index, content_block=block)


def grown(index: int = 0, **delta: Any) -> bytes:
    return told("content_block_delta", index=index, delta=delta)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (event(b'{"error": "worse", "message": "no"}'), StreamFault(message="worse")),
        (event(b'{"type": "error", "message": "no"}'), StreamFault(message="no", code="error")),
        (event(b'{"message": "no"}', b"error"), StreamFault(message="no")),
        (event(b'{"message": "no", "code": 429}', b"error"), StreamFault(message="no", status=429)),
        (event(b'{"detail": "a\xff"}', b"error"), StreamFault(message="a\ufffd")),
        (event(b'"no"', b"error"), StreamFault(message="no")),
        (event(b"bad \xff", b"error"), StreamFault(message="bad \ufffd")),
        (event(b"[" * 100_000, b"error"), StreamFault(message="[" * 100_000)),
        (b'{"type": "error", "message": "no"}', StreamFault(message="no", code="error")),
        (event(b"junk") + event(b'{"message": "no"}', b"error"), StreamFault(message="no")),
        (event(b"junk\xff"), StreamFault(message="junk\ufffd")),
        (event(b"x" * 3000), StreamFault(message="x" * 2000)),
        (event(b"first") + event(b"second"), StreamFault(message="first")),
        (event(b" "), StreamFault(message="an empty event")),
        (event(b"<p>no</p>"), StreamFault(message="<p>no</p>")),
    ],
)
def test_an_error_is_told_in_the_providers_words(data: bytes, fault: StreamFault) -> None:
    """D9: an error without an `error` key is shown by its words, not as JSON."""
    result = decoded(data)
    assert (result.fault, result.finish) == (fault, Finish.ERROR)


def test_a_body_that_is_a_web_page_is_told_as_one() -> None:
    fault = decoded(b"<html>Sign in</html>").fault
    assert fault is not None
    assert (fault.code, fault.detail) == ("html_body", "<html>Sign in</html>")


def test_what_is_no_event_is_counted_and_forgiven_beside_good_ones() -> None:
    result = decoded(
        event(b"junk"),
        told("message_start", message={"id": "m"}),
        begun({"type": "text", "text": "Hi"}),
        event(b"more junk"),
        told("message_stop"),
    )
    assert (result.text, result.finish, result.fault) == ("Hi", Finish.STOP, None)
    assert result.dropped_events == 2


def test_the_end_of_the_message_ends_its_blocks_and_closes_the_stream() -> None:
    decoder = AnthropicDecoder("harbour")
    decoder.feed(begun({"type": "thinking", "thinking": "Hm.", "signature": "s"}))
    assert (decoder.is_finished, decoder.is_closed) == (False, False)
    decoder.feed(told("message_stop"))
    assert (decoder.is_finished, decoder.is_closed) == (True, True)
    assert decoder.result().content == (
        ReasoningPart(text="Hm.", provider="harbour", signature="s"),
    )


@pytest.mark.parametrize(
    "body",
    [
        {"type": "message"},
        {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
        {"type": "novel", "content": [{"type": "text", "text": "Hi"}]},
    ],
)
def test_only_a_message_with_content_is_a_whole_answer(body: dict[str, Any]) -> None:
    result = decoded(json.dumps(body).encode())
    assert (result.content, result.finish) == ((), Finish.INCOMPLETE)


@pytest.mark.parametrize(
    ("args", "reason", "runnable"),
    [
        ("{}", "tool_use", True),
        ("[", "tool_use", True),
        ("{}", None, True),
        ("[", None, False),
        ("{}", "max_tokens", False),
    ],
)
def test_a_call_runs_when_the_provider_says_so_or_its_arguments_are_whole(
    args: str, reason: str | None, *, runnable: bool
) -> None:
    """Arguments that are no object are the tool's to refuse, so that the model hears of it."""
    result = decoded(
        begun(USE),
        grown(partial_json=args),
        told("message_delta", delta={"stop_reason": reason}),
        told("message_stop"),
    )
    assert result.runnable is runnable


def test_the_end_is_told_once() -> None:
    decoder = AnthropicDecoder("harbour")
    decoder.feed(begun({"type": "text", "text": "Hi"}))
    decoder.feed(event(rb'{"type":"content_block_delta","delta":{"text":"a\ud83d"}}'))
    decoder.feed(told("content_block_stop"))
    decoder.end()
    assert decoder.end() == []
    assert decoder.result().text == "Hia\ufffd"
