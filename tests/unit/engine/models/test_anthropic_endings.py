"""How an Anthropic reply ends: whole, broken off, or with an error in the provider's words."""

import json
from typing import Any

import pytest

from engine.chat.content import Finish
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
