"""The items of one Responses answer, put together from their events; each keeps its place.

Pure. Whatever ids the items go by: some servers make up an id for every event.
"""

from typing import Any, Final

from engine.chat.content import Content, Part, ProviderPart, ReasoningPart, TextPart, ToolCallPart
from engine.models.call_assembly import CallAssembly
from engine.models.parts import ReasoningDelta, StreamPart, TextDelta
from engine.models.provider import Wire
from engine.models.responses_wire import (
    Event,
    call_arguments,
    dict_of,
    message_text,
    reasoning_text,
    str_of,
)
from engine.models.surrogates import joined

_MESSAGE: Final = "message"
_REASONING: Final = "reasoning"
_CALL: Final = "function_call"

_REPLACEMENT: Final = "\ufffd"
_BETWEEN: Final = "\n\n"
"""Stands between two messages, and between two parts of the reasoning, as they are shown."""


class _Item:
    """One item of the answer. `raw` is the provider's own form of it, once it is whole."""

    __slots__ = (
        "args",
        "call",
        "is_done",
        "item_id",
        "kind",
        "place",
        "raw",
        "thought_at",
        "words",
    )

    def __init__(self, *, kind: str, place: int | None, item_id: str | None) -> None:
        self.kind = kind
        self.place = place
        self.item_id = item_id
        self.words: list[str] = []
        self.thought_at: tuple[int | None, int | None] | None = None
        self.args = ""
        self.call: int | None = None
        self.is_done = False
        self.raw: dict[str, Any] | None = None


class ResponseItems:
    """What has come of an answer. Methods that take `parts` append what there is to show."""

    __slots__ = ("_calls", "_half", "_items", "_provider")

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._items: list[_Item] = []
        self._calls = CallAssembly()
        self._half = ""

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def has_calls(self) -> bool:
        """Whether the model has begun to call a tool."""
        return bool(self._calls)

    def content(self) -> Content:
        """All that has come, in order."""
        calls = self._calls.calls()
        return tuple(part for item in self._items for part in self._parts_of(item, calls))

    def end(self, parts: list[StreamPart]) -> None:
        """Give out half a character whose other half never came."""
        if self._half and self._items:
            self._half = ""
            self._emit_text(self._items[-1], _REPLACEMENT, parts)

    # -- events ----------------------------------------------------------------------------------

    def on_event(self, kind: str, event: Event, parts: list[StreamPart]) -> None:
        """Take an event that tells of an item. All others change nothing."""
        match kind:
            case "response.output_item.added":
                self._on_added(event, parts)
            case "response.output_item.done":
                self._complete(self._at(event, _kind_of(event.item)), event, parts)
            case "response.output_text.delta" | "response.refusal.delta":
                self._add_text(self._at(event, _MESSAGE), event.delta, event, parts)
            case (
                "response.reasoning_summary_text.delta"
                | "response.reasoning_text.delta"
                | "response.reasoning.delta"
            ):
                self._add_thought(self._at(event, _REASONING), event.delta, event, parts)
            case "response.function_call_arguments.delta":
                if (item := self._find(event, _CALL)) is not None:
                    self._add_args(item, event.delta, event, parts)
            case "response.output_text.done" | "response.refusal.done":
                self._on_text_done(event, parts)
            case "response.function_call_arguments.done":
                if (item := self._find(event, _CALL)) is not None:
                    self._complete_args(item, event.arguments, event, parts)

    def on_whole(self, raw: dict[str, Any], parts: list[StreamPart]) -> None:
        """Take an item that no event has announced."""
        event = Event(item=raw)
        self._complete(self._begin(event, _kind_of(raw)), event, parts)

    def _on_added(self, event: Event, parts: list[StreamPart]) -> None:
        raw = dict_of(event.item)
        item = self._begin(event, _kind_of(raw))
        if item.kind == _CALL and str_of(raw.get("name")):
            self._name_call(item, raw, parts)

    def _on_text_done(self, event: Event, parts: list[StreamPart]) -> None:
        """Some servers send no piece of a text before the whole of it."""
        item = self._find(event, _MESSAGE)
        if item is not None and not item.words:
            self._add_text(item, event.text or event.refusal, event, parts)

    # -- items -----------------------------------------------------------------------------------

    def _parts_of(self, item: _Item, calls: tuple[ToolCallPart, ...]) -> list[Part]:
        words = "".join(item.words)
        if item.call is not None:
            return [calls[item.call]]
        if item.kind == _MESSAGE:
            return [TextPart(text=words)] if words else []
        parts: list[Part] = []
        if words:
            parts.append(ReasoningPart(text=words, provider=self._provider))
        # Reasoning that can be read and not replayed is told by its words alone.
        is_kept = (
            item.kind != _REASONING or not words or bool(dict_of(item.raw).get("encrypted_content"))
        )
        if item.raw is not None and is_kept:
            parts.append(
                ProviderPart(provider=self._provider, wire=Wire.RESPONSES.value, data=item.raw)
            )
        return parts

    def _at(self, event: Event, kind: str) -> _Item:
        """The item that an event is about; a new one where a server does not announce it."""
        return self._find(event, kind) or self._begin(event, kind)

    def _find(self, event: Event, kind: str) -> _Item | None:
        """By its place, else by its id, else the last one that is not whole yet."""
        for item in reversed(self._items):
            if event.output_index is not None and item.place is not None:
                is_same = item.place == event.output_index
            elif event.item_id is not None and item.item_id is not None:
                is_same = item.item_id == event.item_id
            else:
                is_same = True
            if is_same and item.kind == kind and not item.is_done:
                return item
        return None

    def _begin(self, event: Event, kind: str) -> _Item:
        raw = dict_of(event.item)
        item = _Item(
            kind=kind, place=event.output_index, item_id=event.item_id or str_of(raw.get("id"))
        )
        self._items.append(item)
        return item

    def _complete(self, item: _Item, event: Event, parts: list[StreamPart]) -> None:
        """Take the whole item; what its deltas have not told is told now."""
        raw = dict_of(event.item)
        if item.kind == _CALL:
            if item.call is None:
                self._name_call(item, raw, parts)
            self._complete_args(item, call_arguments(raw), event, parts)
        elif item.kind == _MESSAGE:
            if not item.words:
                self._add_text(item, message_text(raw), event, parts)
        else:
            if item.kind == _REASONING and not item.words:
                self._add_thought(item, reasoning_text(raw), event, parts)
            item.raw = raw
        item.is_done = True

    def _name_call(self, item: _Item, raw: dict[str, Any], parts: list[StreamPart]) -> None:
        item.call = len(self._calls.calls())
        piece = self._calls.add(
            index=item.call,
            wire_id=str_of(raw.get("call_id")) or item.item_id,
            name=str_of(raw.get("name")),
            args=None,
        )
        if piece is not None:
            parts.append(piece)

    def _add_args(
        self, item: _Item, args: str | None, event: Event, parts: list[StreamPart]
    ) -> None:
        if not args or item.call is None:
            # A call without a name yet is told when it is whole.
            return
        args = joined(args) if event.is_odd else args
        item.args += args
        piece = self._calls.add(index=item.call, wire_id=None, name=None, args=args)
        if piece is not None:
            parts.append(piece)

    def _complete_args(
        self, item: _Item, whole: str | None, event: Event, parts: list[StreamPart]
    ) -> None:
        if whole and whole.startswith(item.args):
            self._add_args(item, whole[len(item.args) :], event, parts)

    # -- text ------------------------------------------------------------------------------------

    def _add_text(
        self, item: _Item, text: str | None, event: Event, parts: list[StreamPart]
    ) -> None:
        if text and (event.is_odd or self._half):
            text = self._join_halves(text)
        if text:
            self._emit_text(item, text, parts)

    def _emit_text(self, item: _Item, text: str, parts: list[StreamPart]) -> None:
        if not item.words and any(i.words for i in self._items if i.kind == item.kind):
            text = _BETWEEN + text
        item.words.append(text)
        last = parts[-1] if parts else None
        if type(last) is TextDelta:
            parts[-1] = TextDelta(last.text + text)
        else:
            parts.append(TextDelta(text))

    def _add_thought(
        self, item: _Item, text: str | None, event: Event, parts: list[StreamPart]
    ) -> None:
        if not text:
            return
        text = joined(text) if event.is_odd else text
        place = (event.summary_index, event.content_index)
        is_new = place != item.thought_at
        if is_new and any(i.words for i in self._items if i.kind == _REASONING):
            text = _BETWEEN + text
        item.thought_at = place
        item.words.append(text)
        last = parts[-1] if parts else None
        if type(last) is ReasoningDelta:
            parts[-1] = ReasoningDelta(last.text + text)
        else:
            parts.append(ReasoningDelta(text))

    def _join_halves(self, text: str) -> str:
        """Join a character that was cut into two surrogates over two events."""
        text = self._half + text
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            self._half = text[-1]
            text = text[:-1]
        return joined(text)


def _kind_of(item: Any) -> str:
    return str_of(dict_of(item).get("type")) or _MESSAGE
