"""What the fake model can be told to do, step by step, and what it has seen."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """Stream text in pieces: words, unless `pieces` are given."""

    text: str
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Think:
    """Stream reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool; `args` as an object, or as text to send something odd."""

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Own:
    """Something that only the provider understands, in its own JSON. Not for Chat Completions."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Gate:
    """Stop here until the test releases the gate."""

    name: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait between parts, to pace a stream."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Raw:
    """Send these bytes as they are, in pieces of `cut` bytes; nothing is added, not even an end."""

    data: bytes
    cut: int = 0
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a status instead of a stream."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """End properly. Added to every script that does not end otherwise."""

    reason: str | None = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End the body without a finish reason, as a proxy that gives up does."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Close the connection in the middle of the body."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Keep the stream open, silently, until the client goes away."""


Step = Say | Think | Call | Own | Gate | Pause | Raw | Refuse | End | Stop | Drop | Reset | Hang
LAST_STEPS = (Raw, Refuse, End, Stop, Drop, Reset, Hang)


@dataclass(slots=True)
class SeenRequest:
    """A request as it came. `left`: the client went away before the end. `ended`: either way."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    refused: str = ""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_streamed(self) -> bool:
        return self.body.get("stream") is True

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, or the items of a Responses request."""
        return list(self.body.get("messages", self.body.get("input", [])))

    @property
    def system(self) -> str:
        own = [said_in(self.body[key]) for key in ("system", "instructions") if key in self.body]
        rows = [m["content"] for m in self.messages if m.get("role") == "system"]
        return "\n".join(own + rows)

    @property
    def last_text(self) -> str:
        """What the last user message says."""
        users = (m["content"] for m in reversed(self.messages) if m.get("role") == "user")
        return said_in(next(users, ""))

    @property
    def tool_names(self) -> list[str]:
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools", [])]

    def tool_result(self, tool_call_id: str) -> Any:
        """The content of the result with this id, decoded where it is JSON."""
        for result in self._results():
            ids = (result.get(key) for key in ("tool_call_id", "tool_use_id", "call_id"))
            text = result.get("output", result.get("content"))
            if tool_call_id in ids and text is not None:
                try:
                    return json.loads(text)
                except ValueError:
                    return text
        raise KeyError(tool_call_id)

    def _results(self) -> Iterator[dict[str, Any]]:
        """The results of any shape: messages or items of their own, or blocks of a message."""
        for message in self.messages:
            yield message
            content = message.get("content")
            yield from content if isinstance(content, list) else ()


def said_in(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The words of a content that is text or a list of blocks."""
    if isinstance(content, str):
        return content
    kinds = ("text", "input_text")
    return "\n".join(block["text"] for block in content if block.get("type") in kinds)


def whole_script(steps: Sequence[Step]) -> Sequence[Step]:
    """The script with a proper end, unless it ends in a way of its own."""
    return steps if isinstance(steps[-1], LAST_STEPS) else (*steps, End())


def words_of(text: str) -> list[str]:
    """The text in pieces of one word, nothing lost."""
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)
