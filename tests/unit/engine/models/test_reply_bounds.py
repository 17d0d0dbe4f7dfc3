"""Plain bodies are bounded as events are, and what is put off or repeated is told once."""

import pytest

from engine.models.anthropic import AnthropicDecoder
from engine.models.chat_completions import ChatCompletionsDecoder
from engine.models.parts import StreamFault
from engine.models.reply_events import BODY, ReplyEvents
from engine.models.sse import EVENT_BYTES_MAX, SseEvent, SseOverflow


def test_a_body_is_kept_up_to_its_bound() -> None:
    events = ReplyEvents()
    assert events.feed(b"{" + b" " * (EVENT_BYTES_MAX - 1)) == []
    with pytest.raises(SseOverflow):
        events.feed(b" ")


@pytest.mark.parametrize("start", [b"{", b"[", b"<"])
def test_the_first_sign_tells_a_body_from_a_stream(start: bytes) -> None:
    events = ReplyEvents()
    assert events.feed(b"\xef\xbb\xbf ") == []
    assert events.feed(start) == []
    assert events.feed(b"data: 1\n\n ") == []
    assert events.end() == [SseEvent(start + b"data: 1", BODY)]


@pytest.mark.parametrize("before", [b"", b" \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_body_begins_after_its_mark_and_blanks(before: bytes) -> None:
    events = ReplyEvents()
    assert events.feed(before + b"{} \n") == []
    assert events.end() == [SseEvent(b"{}", BODY)]


def test_a_stream_stays_one_whatever_follows() -> None:
    events = ReplyEvents()
    assert events.feed(b"data: 1\n\n") == [SseEvent(b"1")]
    assert events.feed(b"{") == []
    assert events.feed(b"\n\ndata: 2") == []
    assert events.end() == [SseEvent(b"2")]


@pytest.mark.parametrize("decoder", [AnthropicDecoder, ChatCompletionsDecoder])
def test_the_first_error_is_the_one_that_is_told(
    decoder: type[AnthropicDecoder] | type[ChatCompletionsDecoder],
) -> None:
    reply = decoder("wren")
    assert (reply.is_finished, reply.is_closed) == (False, False)
    reply.feed(b'event: error\ndata: {"error": {"message": "no"}}\n\n')
    assert (reply.is_finished, reply.is_closed) == (True, False)
    reply.feed(b"event: error\ndata: later\n\ndata: [DONE]\n\n")
    reply.end()
    assert reply.result().fault == StreamFault(message="no")
    assert reply.is_closed
