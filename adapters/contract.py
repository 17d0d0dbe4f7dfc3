"""What delivery asks of a platform: the Surface protocol and the values that cross it (pure).

A surface knows how to say things and how to find what it said; when, how often and what is said is
decided in `adapters.delivery`, the same for every platform.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from engine.chat.answerers import Answerers
from engine.chat.content import Author
from engine.chat.form import Form
from engine.chat.ids import ActionId, FileId, MessageId
from engine.chat.writes import ActionState


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRate:
    """How often a method may be called in one installation, by all replicas together.

    None: not limited, but for what the platform says when it has had enough.
    """

    per_minute: float | None = None
    per_channel_per_second: float | None = None

    def times(self, factor: float) -> "CallRate":
        """So many times as often."""
        per_minute, per_second = self.per_minute, self.per_channel_per_second
        return CallRate(
            per_minute=None if per_minute is None else per_minute * factor,
            per_channel_per_second=None if per_second is None else per_second * factor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceLimits:
    """What a platform allows.

    `page_size` as the platform counts characters of rendered text. `edit_interval_ms_min`: least time
    between two edits of one message. `pages_max`: of one reply, beyond which all of it is a file; None:
    any number. `file_bytes_max`: size of a file; 0: the platform takes none.
    """

    page_size: int
    edit_interval_ms_min: int
    pages_max: int | None = None
    file_bytes_max: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A thread on a platform: where a chat is shown."""

    installation: str
    channel: str
    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRef:
    """One message on a platform, by the id that the platform gave it."""

    place: Place
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One message's worth of a reply, already in the platform's own markup.

    `markdown`: the same as the Markdown that the platform shows, where it takes some and the page will
    not change any more; `text` is then for where that is not shown. `can_stop`: the reply is still
    growing, so offer to stop it. `rates`: the whole answer ends here, so people may say what they think
    of it; the message that it answers.
    """

    text: str
    markdown: str = ""
    can_stop: bool = False
    rates: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to people. Open, it has its form; closed, `outcome` says what became of it.

    `answerers`: who may answer (None: anyone), where `asker` is whoever it was asked for. `named`: the
    platform's ids of users that stand in `outcome`.
    """

    action_id: ActionId
    form: Form
    state: ActionState
    outcome: str = ""
    answerers: Answerers | None = None
    asker: Author | None = None
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file to show in the thread. Once it is there it never changes.

    `file_id`: the stored file whose bytes `data` is to be filled with before it is posted. `instead` is
    posted where that file is not kept any more.
    """

    name: str
    instead: Page
    data: bytes = b""
    file_id: FileId | None = None


Sayable = Page | Question
Outgoing = Sayable | Document


class TaskState(StrEnum):
    """How something that takes time is getting on."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCard:
    """Something that takes time, such as a call of a tool. `id` is unique within a message."""

    id: str
    title: str
    state: TaskState

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in (TaskState.COMPLETE, TaskState.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a streamed message gains: Markdown behind what it has, and cards that are new or changed.

    `rates`, with its end: see Page.
    """

    text: str = ""
    tasks: tuple[TaskCard, ...] = ()
    rates: MessageId | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """What a platform allows of a streamed message.

    `seconds_max`: close it at this age; at `life_seconds` the platform does. `bytes_max`: of UTF-8 in all.
    `call_chars_max`: characters of one call.
    """

    interval_seconds: float
    seconds_max: float
    life_seconds: float
    bytes_max: int
    call_chars_max: int


class Streaming(Protocol):
    """Messages that grow at their end without being edited. Failures are SurfaceErrors.

    `start` raises StreamRefused where it can be said otherwise; the others raise StreamOver for a
    message that is not streamed any more.
    """

    @property
    def limits(self) -> StreamLimits:
        """What the platform allows."""
        ...

    async def is_possible(self, place: Place, reader: str) -> bool:
        """Whether to try; `reader` is the author of what is answered, as messages name them."""
        ...

    async def start(self, place: Place, growth: Growth, reader: str) -> str:
        """Post a message that grows and return its id. It has no nonce before it is closed."""
        ...

    async def append(self, ref: MessageRef, growth: Growth) -> None:
        """Let the message grow."""
        ...

    async def close(self, ref: MessageRef, growth: Growth, nonce: UUID) -> None:
        """Let the message grow for the last time. From now on it can be found by `nonce`."""
        ...

    async def find(self, place: Place, *, since: datetime, known: Collection[str]) -> str | None:
        """The id of a message that was started not long before `since` or later and is not `known`."""
        ...


class Surface(Protocol):
    """One platform as a place to deliver to. Failures are SurfaceErrors, see adapters.errors.

    Calls are never repeated by the surface itself: whoever asked decides, since repeating a post
    that did arrive would show it twice.
    """

    @property
    def platform(self) -> str:
        """The platform's name in bindings and deliveries."""
        ...

    @property
    def limits(self) -> SurfaceLimits:
        """What the platform allows."""
        ...

    @property
    def streaming(self) -> Streaming | None:
        """Messages that grow; None where the platform has none, or they are switched off."""
        ...

    async def post(self, place: Place, outgoing: Outgoing, nonce: UUID) -> str:
        """Post into the thread and return the message id. The message can be found by `nonce`."""
        ...

    async def edit(self, ref: MessageRef, outgoing: Outgoing) -> None:
        """Replace what the message shows."""
        ...

    async def delete(self, ref: MessageRef) -> None:
        """Take the message back."""
        ...

    async def find(self, place: Place, nonce: UUID, *, since: datetime | None) -> str | None:
        """The id of the message that was posted with `nonce` not long before `since` or later."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDefaults:
    """What a chat that starts on a platform is given: the bot, as its files and settings say.

    `tools`: what the bot can use, by name, with what people are told of each.
    """

    bot: str = "assistant"
    model: str | None = None
    system_prompt: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    dynamic_tools: tuple[dict[str, Any], ...] = ()
    suggested_prompts: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
