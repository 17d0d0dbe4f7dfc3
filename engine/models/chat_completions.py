"""Decode a Chat Completions reply, streamed or not, from OpenAI and everything that imitates it.

Pure: bytes in, parts out. The result is the same wherever the bytes are cut. A stream that just
stops is INCOMPLETE, never a silent success; an error inside a stream keeps the text before it.
"""

from typing import Final

import msgspec

from engine.chat.content import Content, Finish, ReasoningPart, TextPart, Usage
from engine.models.call_assembly import CallAssembly, is_json_object
from engine.models.chat_wire import (
    Choice,
    Chunk,
    Delta,
    WireUsage,
    fault_of,
    read_chunk,
    read_odd_chunk,
    usage_of,
)
from engine.models.parts import (
    ReasoningDelta,
    StreamFault,
    StreamPart,
    StreamResult,
    TextDelta,
)
from engine.models.reply_events import BODY, ReplyEvents, page_fault
from engine.models.sse import SseEvent
from engine.models.surrogates import joined
from engine.models.think_tags import ThinkTags

_DONE: Final = b"[DONE]"
_REPLACEMENT: Final = "\ufffd"
_FINISH: Final = {
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "safety": Finish.CONTENT_FILTER,
    "refusal": Finish.CONTENT_FILTER,
    "error": Finish.ERROR,
}
"""How servers name an end. Every other name is a normal stop."""


class ChatCompletionsDecoder:
    """A StreamDecoder for one reply. `provider` is noted on the reasoning it made."""

    __slots__ = (
        "_calls",
        "_done",
        "_dropped",
        "_events",
        "_fault",
        "_first_dropped",
        "_good",
        "_half",
        "_provider",
        "_raw_finish",
        "_reasoning",
        "_text",
        "_think",
        "_usage",
    )

    def __init__(self, provider: str | None = None) -> None:
        self._provider = provider
        self._events = ReplyEvents()
        self._think: ThinkTags | None = ThinkTags()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = CallAssembly()
        self._usage: Usage | None = None
        self._fault: StreamFault | None = None
        self._raw_finish = ""
        self._done = False
        self._half = ""
        self._good = False
        self._dropped = 0
        self._first_dropped = b""

    @property
    def is_closed(self) -> bool:
        """Whether the provider has said that nothing more will come."""
        return self._done

    @property
    def is_finished(self) -> bool:
        """Whether the answer is whole or has failed, though the usage may still come."""
        return self._done or bool(self._raw_finish) or self._fault is not None

    def feed(self, chunk: bytes) -> list[StreamPart]:
        """Return the parts that this chunk completes; neighbours of one kind are joined."""
        parts: list[StreamPart] = []
        for event in self._events.feed(chunk):
            self._take(event, parts)
        return parts

    def end(self) -> list[StreamPart]:
        """Take note that the body has ended; return what had to wait for that."""
        parts: list[StreamPart] = []
        for event in self._events.end():
            if event.name == BODY:
                self._take_body(event.data, parts)
            else:
                self._take(event, parts)
        if self._half:
            self._half = ""
            self._on_text(_REPLACEMENT, parts)
        if self._think is not None:
            reasoning, text = self._think.end()
            self._emit(reasoning, text, parts)
        if not self._good and self._dropped and self._fault is None:
            words = self._first_dropped.decode("utf-8", "replace").strip()
            self._fault = StreamFault(message=words[:2000] or "an empty event")
        return parts

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        calls = self._calls.calls()
        content: Content = calls
        if text := "".join(self._text):
            content = (TextPart(text=text), *content)
        if reasoning := "".join(self._reasoning):
            content = (ReasoningPart(text=reasoning, provider=self._provider), *content)
        finish = self._finish()
        return StreamResult(
            content=content,
            finish=finish,
            usage=self._usage,
            fault=self._fault,
            runnable=finish is Finish.TOOL_CALLS
            and (bool(self._raw_finish) or all(is_json_object(call.args) for call in calls)),
            dropped_events=self._dropped,
        )

    def _finish(self) -> Finish:
        if self._fault is not None:
            return Finish.ERROR
        if not self._raw_finish and not self._done:
            return Finish.INCOMPLETE
        finish = _FINISH.get(self._raw_finish.lower(), Finish.STOP)
        if finish in (Finish.STOP, Finish.TOOL_CALLS):
            # Servers mix these two up in both directions; what was sent decides.
            return Finish.TOOL_CALLS if self._calls else Finish.STOP
        return finish

    # -- events ----------------------------------------------------------------------------------

    def _take(self, event: SseEvent, parts: list[StreamPart]) -> None:
        data = event.data
        is_odd = False
        try:
            chunk: Chunk | None = read_chunk(data)
        except msgspec.MsgspecError:
            if data.strip() == _DONE:
                self._done = True
                return
            is_odd = True
            chunk = read_odd_chunk(data)
        if event.name == "error":
            self._on_error_event(data, chunk)
        elif chunk is None:
            self._dropped += 1
            self._first_dropped = self._first_dropped or data
        else:
            self._good = True
            self._on_chunk(chunk, parts, is_odd=is_odd)

    def _take_body(self, body: bytes, parts: list[StreamPart]) -> None:
        self._fault = page_fault(body)
        if self._fault is not None:
            return
        self._take(SseEvent(body), parts)
        if (
            self._good
            and self._fault is None
            and not self._raw_finish
            and (self._text or self._calls)
        ):
            self._done = True

    def _on_error_event(self, data: bytes, chunk: Chunk | None) -> None:
        if self._fault is not None:
            return
        try:
            value = msgspec.json.decode(data)
        except msgspec.MsgspecError:
            value = chunk.error if chunk is not None else data.decode("utf-8", "replace")
        self._fault = fault_of(value)

    def _on_chunk(self, chunk: Chunk, parts: list[StreamPart], *, is_odd: bool) -> None:
        if chunk.error:
            self._fault = self._fault or fault_of(chunk.error)
        if chunk.choices:
            for choice in chunk.choices:
                if choice.index == 0:
                    self._on_choice(choice, parts, is_odd=is_odd)
        elif chunk.choices is None:
            self._look_for_bare_error(chunk)
        if chunk.usage is not None:
            self._on_usage(chunk.usage)
        elif chunk.x_groq is not None and chunk.x_groq.usage is not None:
            self._on_usage(chunk.x_groq.usage)

    def _look_for_bare_error(self, chunk: Chunk) -> None:
        """Some servers send an error without an `error` key, as a chunk without choices."""
        words = next((w for w in (chunk.message, chunk.detail) if isinstance(w, str) and w), None)
        if chunk.error or not (words or "error" in (chunk.object, chunk.type)):
            return
        self._fault = self._fault or StreamFault(message=words or "an error without words")

    def _on_choice(self, choice: Choice, parts: list[StreamPart], *, is_odd: bool) -> None:
        delta = choice.delta
        if delta is None and choice.message is not None and not (self._text or self._calls):
            delta = choice.message
        if delta is not None:
            self._on_delta(delta, parts, is_odd=is_odd)
        if choice.finish_reason:
            self._raw_finish = choice.finish_reason
            if choice.finish_reason == "error" and self._fault is None:
                self._fault = StreamFault(message="the provider ended the answer with an error")
        if choice.usage is not None:
            self._on_usage(choice.usage)

    def _on_delta(self, delta: Delta, parts: list[StreamPart], *, is_odd: bool) -> None:
        if thought := delta.reasoning_content or delta.reasoning:
            self._emit(joined(thought) if is_odd else thought, "", parts)
        if text := delta.content or delta.refusal:
            if is_odd or self._half:
                text = self._join_halves(text)
            if text:
                self._on_text(text, parts)
        if delta.tool_calls:
            for call in delta.tool_calls:
                piece = self._calls.add(
                    index=call.index,
                    wire_id=call.id,
                    name=call.function.name if call.function else None,
                    args=_args(call.function.arguments if call.function else None, is_odd=is_odd),
                )
                if piece is not None:
                    parts.append(piece)
        elif delta.function_call is not None:
            legacy = delta.function_call
            piece = self._calls.add(
                index=0, wire_id=None, name=legacy.name, args=_args(legacy.arguments, is_odd=is_odd)
            )
            if piece is not None:
                parts.append(piece)

    def _on_usage(self, wire: WireUsage) -> None:
        self._usage = usage_of(wire) or self._usage

    # -- text ------------------------------------------------------------------------------------

    def _on_text(self, text: str, parts: list[StreamPart]) -> None:
        if self._think is None:
            self._emit("", text, parts)
            return
        reasoning, text = self._think.feed(text)
        if self._think.is_settled:
            self._think = None
        self._emit(reasoning, text, parts)

    def _emit(self, reasoning: str, text: str, parts: list[StreamPart]) -> None:
        if reasoning:
            self._reasoning.append(reasoning)
            last = parts[-1] if parts else None
            if type(last) is ReasoningDelta:
                parts[-1] = ReasoningDelta(last.text + reasoning)
            else:
                parts.append(ReasoningDelta(reasoning))
        if text:
            self._text.append(text)
            last = parts[-1] if parts else None
            if type(last) is TextDelta:
                parts[-1] = TextDelta(last.text + text)
            else:
                parts.append(TextDelta(text))

    def _join_halves(self, text: str) -> str:
        """Join a character that was cut into two surrogates over two chunks."""
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._half = text[-1]
            text = text[:-1]
        return joined(text)


def _args(text: str | None, *, is_odd: bool) -> str | None:
    return joined(text) if text and is_odd else text
