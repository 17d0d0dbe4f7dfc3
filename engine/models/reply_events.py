"""Cut a provider's reply into events, whether it is a stream or one plain body.

Pure. A server that is asked for a stream may answer with a body, above all when something is wrong.
"""

from typing import Final

from engine.models.parts import StreamFault
from engine.models.sse import EVENT_BYTES_MAX, SseEvent, SseOverflow, SseSplitter

BODY: Final = "body"
"""The name of the one event that a plain body is."""

_BOM: Final = b"\xef\xbb\xbf"
_PAGE_CHARACTERS_MAX: Final = 2000


class ReplyEvents:
    """Bytes in, events out. The first character tells a stream from a body."""

    __slots__ = ("_body", "_is_begun", "_splitter")

    def __init__(self) -> None:
        self._splitter = SseSplitter()
        self._body: bytearray | None = None
        self._is_begun = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that this chunk completes. Raises SseOverflow beyond the bound."""
        if not self._is_begun:
            self._look_at_start(chunk)
        if self._body is None:
            return self._splitter.feed(chunk)
        self._body += chunk
        if len(self._body) > EVENT_BYTES_MAX:
            raise SseOverflow
        return []

    def end(self) -> list[SseEvent]:
        """Return what had to wait for the end: the body, or a last event without its blank line."""
        if self._body is None:
            return self._splitter.end()
        body = bytes(self._body).removeprefix(_BOM).strip()
        self._body = None
        return [SseEvent(body, BODY)]

    def _look_at_start(self, chunk: bytes) -> None:
        start = chunk.removeprefix(_BOM).lstrip()
        if start:
            self._is_begun = True
            if start[:1] in (b"{", b"[", b"<"):
                self._body = bytearray()


def page_fault(data: bytes) -> StreamFault | None:
    """What to say of a body that is a web page; None: it is none."""
    if not data.startswith(b"<"):
        return None
    return StreamFault(
        message="the address answers with a web page, not with a model's reply",
        code="html_body",
        detail=data[:_PAGE_CHARACTERS_MAX].decode("utf-8", "replace"),
    )
