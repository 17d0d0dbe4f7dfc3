"""Split a server-sent event stream, as bytes come, into events; each is given out at its blank line.

Pure. Line ends are LF, CR LF or bare CR and nothing else; a CR ends its line at once, so an event
never waits for the byte after its blank line. Bytes stay bytes: no character is ever cut in two.
"""

import re
from typing import Final

from msgspec import Struct

EVENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of one event, and of one line. Real events are below 1 MiB; a larger one is an attack."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


class SseOverflow(Exception):
    """The stream sent an event that is larger than any answer."""


class SseEvent(Struct, frozen=True, gc=False):
    """One event. `name` is "message" unless the stream named it."""

    data: bytes
    name: str = "message"


class SseSplitter:
    """Cut a byte stream into events. Where the stream is cut into chunks changes nothing.

    A line that starts with the field `error:`, which some servers send instead of data, becomes
    an event named "error". Comments, ids and retry hints are dropped.
    """

    __slots__ = ("_at_start", "_data", "_name", "_size", "_skip_lf", "_tail")

    def __init__(self) -> None:
        self._tail = bytearray()
        self._data: list[bytes] = []
        self._name = ""
        self._size = 0
        self._at_start = True
        self._skip_lf = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that this chunk completes. Raises SseOverflow beyond the bound."""
        if (
            chunk.startswith(b"data: ")
            and chunk.endswith(b"\n\n")
            and not (self._tail or self._data or self._name or self._skip_lf)
            and b"\r" not in chunk
        ):
            blocks = chunk[6:-2].split(b"\n\ndata: ")
            if chunk.count(b"\n") == 2 * len(blocks):
                self._at_start = False
                return [SseEvent(block) for block in blocks]
        return self._feed_lines(chunk)

    def end(self) -> list[SseEvent]:
        """Return the event that the stream ended in, if its blank line is all that was missing."""
        events: list[SseEvent] = []
        if self._tail:
            line = bytes(self._tail)
            self._tail.clear()
            self._take(line, events)
        self._take(b"", events)
        return events

    def _feed_lines(self, chunk: bytes) -> list[SseEvent]:
        events: list[SseEvent] = []
        if not chunk:
            return events
        if self._skip_lf:
            chunk = chunk.removeprefix(b"\n")
        start = 0
        for end in _LINE_END.finditer(chunk):
            line = chunk[start : end.start()]
            start = end.end()
            if self._tail:
                line = bytes(self._tail) + line
                self._tail.clear()
            self._take(line, events)
        self._skip_lf = chunk.endswith(b"\r")
        self._tail += chunk[start:]
        if len(self._tail) > EVENT_BYTES_MAX:
            raise SseOverflow
        return events

    def _take(self, line: bytes, events: list[SseEvent]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(SseEvent(b"\n".join(self._data), self._name or "message"))
                self._data = []
            self._name = ""
            self._size = 0
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._add(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"error":
            self._name = "error"
            self._add(value)

    def _add(self, value: bytes) -> None:
        self._size += len(value)
        if self._size > EVENT_BYTES_MAX:
            raise SseOverflow
        self._data.append(value)
