"""A model whose calls are recorded. What it answers, and when, is what the model itself would."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from engine.chat.errors import ChatError
from engine.models.model import Model, ModelFailure, ModelPrompt, ModelStream
from engine.models.parts import StreamPart, StreamResult
from engine.store.recordings import CallKind, CallStatus

Finish = Callable[[CallStatus, StreamResult, ChatError | None], None]
"""Note how a call ended."""
Begin = Callable[[CallKind, ModelPrompt], Finish]
"""Note that a call is being made. Neither of the two may wait or raise."""


class RecordingModel:
    """Asks a model and has each call recorded: answers as steps, whole ones as `kind`."""

    def __init__(self, model: Model, begin: Begin, *, kind: CallKind = CallKind.COMPACTION) -> None:
        self._model = model
        self._begin = begin
        self._kind = kind

    def stream(self, prompt: ModelPrompt) -> ModelStream:
        """Ask; the call begins when its first part is awaited."""
        return _RecordingStream(
            self._model.stream(prompt), lambda: self._begin(CallKind.STEP, prompt)
        )

    async def complete(self, prompt: ModelPrompt) -> StreamResult:
        """Ask without streaming. Raises ModelFailure."""
        finish = self._begin(self._kind, prompt)
        try:
            result = await self._model.complete(prompt)
        except ModelFailure as failure:
            finish(CallStatus.ERROR, failure.partial, failure.error)
            raise
        except asyncio.CancelledError:
            finish(CallStatus.INTERRUPTED, StreamResult(), None)
            raise
        finish(CallStatus.COMPLETED, result, None)
        return result


class _RecordingStream:
    """An answer as it comes. Its end is noted once, the first way in which it ends."""

    def __init__(self, stream: ModelStream, begin: Callable[[], Finish]) -> None:
        self._stream = stream
        self._begin: Callable[[], Finish] | None = begin
        self._finish: Finish | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StreamPart]:
        """Return the next parts."""
        if self._begin is not None:
            # Forgotten at once, and the prompt with it.
            begin, self._begin = self._begin, None
            self._finish = begin()
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            self._end(CallStatus.COMPLETED, None)
            raise
        except ModelFailure as failure:
            self._end(CallStatus.ERROR, failure.error)
            raise

    async def aclose(self) -> None:
        """Stop the answer."""
        self._end(CallStatus.INTERRUPTED, None)
        await self._stream.aclose()

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        return self._stream.result()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(CallStatus.INTERRUPTED, None)
        await self._stream.__aexit__(kind, error, trace)

    def _end(self, status: CallStatus, error: ChatError | None) -> None:
        finish, self._finish = self._finish, None
        if finish is not None:
            finish(status, self._stream.result(), error)
