"""The demo model: a Model without a network, for trying everything else before there is a key.

It streams its script word by word. The sleep is injected, so tests do not wait.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Final, Self

from engine.chat.content import Finish, Role, TextPart, ToolCallPart, Usage, text_of
from engine.chat.ids import ToolCallId
from engine.models.demo_script import Lines, next_lines
from engine.models.model import ModelPrompt
from engine.models.parts import StreamPart, StreamResult, TextDelta, ToolCallDelta

WORD_SECONDS: Final = 0.03
"""A pleasant reading speed that still shows that the reply streams."""

Sleep = Callable[[float], Awaitable[None]]


class DemoModel:
    """A Model that plays engine.models.demo_script."""

    def __init__(self, *, sleep: Sleep = asyncio.sleep, word_seconds: float = WORD_SECONDS) -> None:
        self._sleep = sleep
        self._word_seconds = word_seconds

    def stream(self, prompt: ModelPrompt) -> "DemoStream":
        """Return the answer to come."""
        number = sum(message.role is Role.ASSISTANT for message in prompt.messages) + 1
        return DemoStream(
            next_lines(prompt),
            call_id=f"demo_{number}",
            input_tokens=sum(len(text_of(m.content)) for m in prompt.messages) // 4,
            pause=lambda: self._sleep(self._word_seconds),
        )

    async def complete(self, prompt: ModelPrompt) -> StreamResult:
        """Return the first words of what was said last: enough of a title."""
        said = next((text_of(m.content) for m in reversed(prompt.messages)), "")
        title = " ".join(said.split()[:6]) or "Demo"
        return StreamResult(content=(TextPart(text=title),), finish=Finish.STOP)


class DemoStream:
    """A ModelStream of scripted lines."""

    def __init__(
        self,
        lines: Lines,
        *,
        call_id: str,
        input_tokens: int,
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        self._lines = lines
        self._call_id = call_id
        self._input_tokens = input_tokens
        self._pause = pause
        self._text = ""
        self._has_called = False
        self._is_over = False
        self._parts = self._play()

    def _play(self) -> Iterator[StreamPart]:
        for piece in re.findall(r"\s*\S+\s*$|\s*\S+", self._lines.text):
            self._text += piece
            yield TextDelta(piece)
        if self._lines.tool_name is not None:
            self._has_called = True
            yield ToolCallDelta(self._call_id, self._lines.tool_name, self._lines.args)
        self._is_over = True

    def result(self) -> StreamResult:
        """Return all that has been said so far."""
        content: tuple[TextPart | ToolCallPart, ...] = ()
        if self._text:
            content = (TextPart(text=self._text),)
        if self._has_called and self._lines.tool_name is not None:
            call = ToolCallPart(
                tool_call_id=ToolCallId(self._call_id),
                tool_name=self._lines.tool_name,
                args=self._lines.args,
            )
            content = (*content, call)
        if not self._is_over:
            return StreamResult(content=content)
        output_tokens = max(1, len(self._text) // 4)
        return StreamResult(
            content=content,
            finish=Finish.TOOL_CALLS if self._has_called else Finish.STOP,
            runnable=self._has_called,
            usage=Usage(
                input_tokens=self._input_tokens,
                output_tokens=output_tokens,
                total_tokens=self._input_tokens + output_tokens,
            ),
        )

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StreamPart]:
        if not self._is_over:
            await self._pause()
        part = next(self._parts, None)
        if part is None:
            raise StopAsyncIteration
        return [part]

    async def aclose(self) -> None:
        """Stop speaking."""
        self._parts = iter(())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()
