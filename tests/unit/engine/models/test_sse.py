"""The splitter gives the same events wherever the stream is cut, and each at its blank line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models import sse
from engine.models.sse import SseEvent, SseOverflow, SseSplitter
from tests.unit.engine.models.recordings import pieces

STREAMS = {
    "plain": (b"data: one\n\ndata: two\n\n", [b"one", b"two"]),
    "no space": (b"data:one\n\n", [b"one"]),
    "two spaces": (b"data:  one\n\n", [b" one"]),
    "mixed ends": (b"data: one\r\n\ndata: two\r\rdata: three\n\r\n", [b"one", b"two", b"three"]),
    "many lines": (b"data: a\ndata: b\n\n", [b"a\nb"]),
    "many lines, two-byte ends": (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
    "mark": (b"\xef\xbb\xbfdata: one\n\n", [b"one"]),
    "comments": (b": ping\n\ndata: one\n: pong\n\n", [b"one"]),
    "fields": (b"id: 1\nretry: 3\nother\ndata: one\n\n", [b"one"]),
    "empty data": (b"data\n\ndata:\n\n", [b"", b""]),
    "blank lines": (b"\n\n\ndata: one\n\n\n\n", [b"one"]),
    "no event without data": (b"event: ping\n\n", []),
    "data with data in it": (b'data: "\\n\\ndata: x"\n\n', [b'"\\n\\ndata: x"']),
    "other separators": ("data: a\u2028b\x85c\x0bd\n\n".encode(), ["a\u2028b\x85c\x0bd".encode()]),
}


def split(chunks: list[bytes]) -> list[bytes]:
    splitter = SseSplitter()
    return [event.data for chunk in chunks for event in splitter.feed(chunk)]


@pytest.mark.parametrize("name", STREAMS)
def test_stream_is_split_the_same_at_any_cut(name: str) -> None:
    stream, events = STREAMS[name]
    for size in range(1, len(stream) + 1):
        assert split(pieces(stream, size)) == events


@given(st.data())
def test_any_mix_of_events_and_line_ends_survives_any_cut(data: st.DataObject) -> None:
    ends = st.sampled_from([b"\n", b"\r\n"])
    wanted, stream = [], b""
    for _ in range(data.draw(st.integers(1, 6))):
        lines = data.draw(st.lists(st.binary(max_size=8).map(_one_line), min_size=1, max_size=3))
        wanted.append(b"\n".join(lines))
        stream += b"".join(b"data: " + line + data.draw(ends) for line in lines) + data.draw(ends)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert split(chunks) == wanted == split([stream])


def _one_line(raw: bytes) -> bytes:
    return raw.replace(b"\r", b"").replace(b"\n", b"")


def test_event_with_bare_carriage_returns_comes_at_its_blank_line() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: one\r") == []
    assert splitter.feed(b"\r") == [SseEvent(b"one")]
    assert splitter.feed(b"\ndata: two\r") == []
    assert splitter.feed(b"\n\r") == [SseEvent(b"two")]


def test_empty_chunk_between_the_two_bytes_of_a_line_end_changes_nothing() -> None:
    assert split([b"data: a\r", b"", b"\ndata: b\r\n\r\n"]) == [b"a\nb"]


def test_named_event_keeps_its_name_for_itself() -> None:
    splitter = SseSplitter()
    events = splitter.feed(b"event: error\ndata: x\n\ndata: y\n\nerror: z\n\n")
    assert events == [SseEvent(b"x", "error"), SseEvent(b"y"), SseEvent(b"z", "error")]


def test_end_gives_the_event_that_only_lacks_its_blank_line() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: one\ndata: t") == []
    assert splitter.end() == [SseEvent(b"one\nt")]
    assert splitter.end() == []


@pytest.mark.parametrize(
    ("chunks", "events"),
    [
        ([b"event: error\n", b"data: x\n\n"], [SseEvent(b"x", "error")]),
        ([b"data: a\n", b"data: b\n\n"], [SseEvent(b"a\nb")]),
        ([b"event: a\xff\ndata: x\n\n"], [SseEvent(b"x", "a\ufffd")]),
        ([b"data: x\n\n", b"\xef\xbb\xbfdata: y\n\n"], [SseEvent(b"x")]),
        ([b"data: x\n", b"\xef\xbb\xbfdata: y\n\n"], [SseEvent(b"x")]),
    ],
)
def test_what_stands_before_a_chunk_counts_for_it(
    chunks: list[bytes], events: list[SseEvent]
) -> None:
    splitter = SseSplitter()
    assert [event for chunk in chunks for event in splitter.feed(chunk)] == events


def test_an_event_and_a_line_may_be_as_large_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EVENT_BYTES_MAX", 20)
    lines = b"data: " + b"x" * 10 + b"\n"
    assert (
        split([(lines + lines + b"\n") * 2 + b":" + b"x" * 19])
        == [b"x" * 10 + b"\n" + b"x" * 10] * 2
    )


@pytest.mark.parametrize("stream", [b"x" * 21, b"data: x\n" * 21])
def test_event_beyond_the_bound_is_refused(stream: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "EVENT_BYTES_MAX", 20)
    with pytest.raises(SseOverflow):
        split(pieces(stream, 8))
