"""What the rest of the engine knows of a model: a prompt goes in, a stream of parts comes out.

Every wire format and the demo model stand behind `Model`; nothing else in the engine knows which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from engine.chat.content import Author, Content, Finish, Role
from engine.chat.errors import ChatError
from engine.chat.ids import FileId
from engine.models.attachments import FileData
from engine.models.parts import StreamPart, StreamResult


class PromptMessage(Protocol):
    """A message as far as a model is told of it; stored and new messages both are one."""

    @property
    def role(self) -> Role:
        """Who speaks."""
        ...

    @property
    def content(self) -> Content:
        """What is said."""
        ...

    @property
    def author(self) -> Author | None:
        """Which person speaks, if it is one."""
        ...

    @property
    def finish(self) -> Finish | None:
        """How the model's message ended, if it is one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """A tool that the model may call. `input_schema` is JSON Schema of an object."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrompt:
    """One request to a model. Any history is allowed; the client mends it for its provider.

    `messages` are those that the model may see, oldest first. `options` are further fields of the
    provider's request (`reasoning_effort`, `top_p`, ...); they never replace what is set here.
    `files` holds the bytes of the files of people's messages, as far as they are still stored;
    `accepts` the kinds that this model reads itself (see engine.models.attachments).
    """

    model: str
    messages: Sequence[PromptMessage]
    system: str = ""
    tools: Sequence[ToolOffer] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[FileId, FileData] = field(default_factory=dict)
    accepts: frozenset[str] = frozenset()


class ModelFailure(Exception):
    """The model did not give a whole answer.

    `error` says whether asking again can help and is fit to be shown; `partial` holds all that
    came before.
    """

    def __init__(
        self,
        error: ChatError,
        *,
        partial: StreamResult | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.partial = StreamResult() if partial is None else partial
        self.retry_after_seconds = retry_after_seconds


class ModelStream(Protocol):
    """One answer as it comes: iterate for lists of parts, one list per piece from the network.

    Iteration ends after a whole answer and raises ModelFailure otherwise. Use it as a context
    manager: leaving, by whatever way, closes the connection at once.
    """

    def __aiter__(self) -> Self:
        """Return itself."""
        ...

    async def __anext__(self) -> list[StreamPart]:
        """Return the next parts; never an empty list."""
        ...

    async def aclose(self) -> None:
        """Stop the answer. Idempotent."""
        ...

    def result(self) -> StreamResult:
        """Return all that has come so far, at any time: also after a cancel or a failure."""
        ...

    async def __aenter__(self) -> Self:
        """Return itself."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the answer."""
        ...


class Model(Protocol):
    """A provider that can be asked."""

    def stream(self, prompt: ModelPrompt) -> ModelStream:
        """Ask and return the answer to come. Nothing is sent before the first part is awaited."""
        ...

    async def complete(self, prompt: ModelPrompt) -> StreamResult:
        """Ask without streaming, for titles and summaries. Raises ModelFailure."""
        ...
