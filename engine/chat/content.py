"""What messages are made of: parts, authors, usage. Values only; every shape here is stored as JSON."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from engine.chat.ids import ChatId, FileId, MessageId, QueuedId, ToolCallId


class Role(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Visibility(StrEnum):
    """Who may see a message: people, the model, or both."""

    USER = "user"
    MODEL = "model"
    BOTH = "both"


class Finish(StrEnum):
    """Why an assistant message ended. The last three are ours, the others the provider's.

    CONTINUE: the provider paused in the middle of its turn and is asked again with what it has said.
    """

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    CONTINUE = "continue"
    INTERRUPTED = "interrupted"
    INCOMPLETE = "incomplete"
    ERROR = "error"


class TextPart(Struct, frozen=True, kw_only=True, tag="text", tag_field="type"):
    """Text for people or from them."""

    text: str


class ReasoningPart(
    Struct, frozen=True, kw_only=True, tag="reasoning", tag_field="type", omit_defaults=True
):
    """The model's reasoning. Never shown as answer text; replayed to the provider that made it."""

    text: str
    provider: str | None = None
    signature: str | None = None


class ToolCallPart(
    Struct, frozen=True, kw_only=True, tag="tool-call", tag_field="type", omit_defaults=True
):
    """A call that the model asked for. `args` is JSON text exactly as it came; `{}` for none."""

    tool_call_id: ToolCallId
    tool_name: str
    args: str = "{}"


class FilePart(Struct, frozen=True, kw_only=True, tag="file", tag_field="type", omit_defaults=True):
    """A file of a message. `size` in bytes. Without a `file_id` it is only named to the model."""

    name: str
    media_type: str
    size: int | None = None
    file_id: FileId | None = None


class ToolResultPart(
    Struct, frozen=True, kw_only=True, tag="tool-result", tag_field="type", omit_defaults=True
):
    """The one result of a call. `result` is any JSON value.

    `files` came with it, for people; in a message they stand behind it as parts of their own.
    """

    tool_call_id: ToolCallId
    tool_name: str
    result: Any
    is_error: bool = False
    files: tuple[FilePart, ...] = ()


class ProviderPart(
    Struct, frozen=True, kw_only=True, tag="provider", tag_field="type", omit_defaults=True
):
    """Something that only its provider understands: a search it ran itself, encrypted reasoning.

    `data` is the provider's own JSON, unchanged; it is replayed to the provider of this name and
    wire, dropped for every other, and never shown to people.
    """

    provider: str
    wire: str
    data: Any


Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart | ProviderPart
Content = tuple[Part, ...]


class Author(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who wrote a message: a stable identity (`slack:T1:U1`, `api:ops`) and a name for people."""

    identity: str
    name: str = ""


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one model call. None: the provider did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class NewMessage(Struct, frozen=True, kw_only=True):
    """A message about to be inserted.

    `summary_of`: it stands, for the model, in the place of everything up to that message.
    """

    role: Role
    content: Content
    visibility: Visibility = Visibility.BOTH
    author: Author | None = None
    source_key: str | None = None
    model: str | None = None
    finish: Finish | None = None
    usage: Usage | None = None
    cost_micros: int | None = None
    runtime_ms: int | None = None
    summary_of: MessageId | None = None


class Message(Struct, frozen=True, kw_only=True):
    """A stored message. `id` orders all messages; `revision` is the snapshot that last changed it."""

    id: MessageId
    chat_id: ChatId
    role: Role
    content: Content
    created_at: datetime
    visibility: Visibility = Visibility.BOTH
    author: Author | None = None
    source_key: str | None = None
    model: str | None = None
    finish: Finish | None = None
    usage: Usage | None = None
    cost_micros: int | None = None
    runtime_ms: int | None = None
    summary_of: MessageId | None = None
    deleted: bool = False
    revision: int = 0


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message that waits for the current turn to end. Queue order is (position, id)."""

    id: QueuedId
    chat_id: ChatId
    content: Content
    created_at: datetime
    author: Author | None = None
    source_key: str | None = None


def text_of(content: Content) -> str:
    """All text parts, joined. Reasoning, calls and files are not text."""
    return "".join(part.text for part in content if isinstance(part, TextPart))


def plain(text: str) -> Content:
    """The content of a message that is only text."""
    return (TextPart(text=text),)
