"""What every model client yields, whatever wire it reads: the parts of a stream and its result.

Pure values. A client yields parts while the answer comes, and offers at any time a StreamResult of
all that has come so far, so that an interrupted answer loses nothing.
"""

from typing import Protocol

from msgspec import Struct

from engine.chat.content import (
    Content,
    Finish,
    ReasoningPart,
    ToolCallPart,
    Usage,
    text_of,
)


class TextDelta(Struct, frozen=True, gc=False):
    """More text of the answer. Never empty."""

    text: str


class ReasoningDelta(Struct, frozen=True, gc=False):
    """More of the model's reasoning. Never part of the answer; never empty."""

    text: str


class ToolCallDelta(Struct, frozen=True, gc=False):
    """A tool call begins or its arguments grow. The id is the one that the result will have."""

    tool_call_id: str
    tool_name: str
    args_delta: str


StreamPart = TextDelta | ReasoningDelta | ToolCallDelta


class StreamFault(Struct, frozen=True, kw_only=True):
    """What a provider said was wrong, inside a stream or as a body. Its words, not redacted yet."""

    message: str
    code: str | None = None
    status: int | None = None
    detail: str | None = None


class StreamResult(Struct, frozen=True, kw_only=True):
    """All that has come of an answer: content in order, and how it ended.

    `finish` is INCOMPLETE while no end has been seen, and stays so if the stream just stops.
    `runnable`: the calls are whole and may be executed. False for every other finish than
    TOOL_CALLS, so a call that was cut off by a limit, an error or a lost connection never runs.
    `usage.input_tokens` leaves out what was read from or written to a cache, as prices do.
    """

    content: Content = ()
    finish: Finish = Finish.INCOMPLETE
    usage: Usage | None = None
    fault: StreamFault | None = None
    runnable: bool = False
    dropped_events: int = 0

    @property
    def text(self) -> str:
        """The answer, without reasoning."""
        return text_of(self.content)

    @property
    def reasoning(self) -> str:
        """The reasoning, joined."""
        return "".join(part.text for part in self.content if isinstance(part, ReasoningPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls in the order in which they were made; their ids differ from each other."""
        return tuple(part for part in self.content if isinstance(part, ToolCallPart))


class StreamDecoder(Protocol):
    """Bytes of a response body in, parts out. One per wire format; none does I/O."""

    @property
    def is_closed(self) -> bool:
        """Whether the provider has said that nothing more will come."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether the answer is whole or has failed; a trailer, like the usage, may still come."""
        ...

    def feed(self, chunk: bytes) -> list[StreamPart]:
        """Return the parts that this chunk completes; neighbours of one kind are joined."""
        ...

    def end(self) -> list[StreamPart]:
        """Take note that the body has ended; return what had to wait for that."""
        ...

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        ...
