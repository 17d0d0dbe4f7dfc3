"""The content blocks of one Anthropic reply, put together from their pieces, in their order. Pure.

A call that was torn by a second generation in the same stream is gone for good: see `tear`.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, Final

import msgspec

from engine.chat.content import (
    Content,
    Part,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from engine.models.anthropic_wire import WIRE, WireDelta, is_providers_own
from engine.models.call_assembly import CallAssembly
from engine.models.parts import ReasoningDelta, StreamPart, TextDelta
from engine.models.surrogates import encoded, joined

_HIGH_HALVES: Final = ("\ud800", "\udbff")


class _Kind(Enum):
    TEXT = auto()
    THINKING = auto()
    CALL = auto()
    OWN = auto()
    IGNORED = auto()


class _Block:
    __slots__ = (
        "call_number",
        "data",
        "half",
        "index",
        "input",
        "is_closed",
        "kind",
        "pieces",
        "signature",
    )

    def __init__(self, kind: _Kind, index: int, data: dict[str, Any]) -> None:
        self.kind = kind
        self.index = index
        self.data = data
        self.pieces: list[str] = []
        self.input: list[str] = []
        self.signature = ""
        self.half = ""
        self.call_number = 0
        self.is_closed = False

    def join(self, text: str | None, *, is_odd: bool) -> str:
        """The text that can be given out now; half a character waits for its other half."""
        if not text or not (is_odd or self.half):
            return text or ""
        text = self.half + text
        self.half = ""
        if _HIGH_HALVES[0] <= text[-1] <= _HIGH_HALVES[1]:
            self.half = text[-1]
            text = text[:-1]
        return joined(text)


class Blocks:
    """Collect the blocks of one answer. Parts that become known are appended to `parts`."""

    __slots__ = ("_blocks", "_calls", "_current", "_is_torn", "_provider")

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._blocks: list[_Block] = []
        self._current: dict[int, _Block] = {}
        self._calls = CallAssembly()
        self._is_torn = False

    @property
    def has_calls(self) -> bool:
        """Whether the answer asks for a tool."""
        return bool(self._calls)

    def begin(self, index: int, start: Any, parts: list[StreamPart]) -> None:
        """Take the start of a block, which may hold all of it already."""
        data = start if isinstance(start, dict) else {}
        block = self._add(_kind_of(data), index, data)
        match block.kind:
            case _Kind.TEXT:
                self._say(block, _str_of(data.get("text")), parts)
            case _Kind.THINKING:
                block.signature = _str_of(data.get("signature"))
                self._think(block, _str_of(data.get("thinking")), parts)
            case _Kind.CALL:
                block.call_number = len(self._calls.calls())
                wire_id, name = _str_of(data.get("id")), _str_of(data.get("name"))
                self._call(block, parts, wire_id=wire_id, name=name)
            case _Kind.OWN | _Kind.IGNORED:
                pass

    def grow(self, index: int, delta: WireDelta, parts: list[StreamPart], *, is_odd: bool) -> None:
        """Take a piece of a block, whose start some gateways leave out."""
        block = self._current.get(index) or self._add(_kind_of_piece(delta), index, {})
        match block.kind:
            case _Kind.TEXT:
                self._say(block, block.join(delta.text, is_odd=is_odd), parts)
            case _Kind.THINKING:
                block.signature += delta.signature or ""
                self._think(block, block.join(delta.thinking, is_odd=is_odd), parts)
            case _Kind.CALL:
                if args := delta.partial_json:
                    self._call(block, parts, args=joined(args) if is_odd else args)
            case _Kind.OWN:
                block.input += [delta.partial_json] if delta.partial_json else []
                block.pieces += [delta.content] if isinstance(delta.content, str) else []
            case _Kind.IGNORED:
                pass

    def close(self, index: int, parts: list[StreamPart]) -> None:
        """Take the end of a block."""
        block = self._current.get(index)
        if block is not None and not block.is_closed:
            self._close(block, parts)

    def close_all(self, parts: list[StreamPart]) -> None:
        """Take the end of the message, which ends what is still open."""
        for block in self._blocks:
            if not block.is_closed:
                self._close(block, parts)

    def tear(self) -> None:
        """A second generation begins in this stream: no call of either one is to be had."""
        self._is_torn = True
        self._calls = CallAssembly()
        self._current.clear()
        self._blocks = [block for block in self._blocks if block.kind is not _Kind.CALL]

    def content(self) -> Content:
        """All that has come, in order; neighbouring texts are one."""
        parts: list[Part] = []
        calls = self._calls.calls()
        for block in self._blocks:
            for part in self._parts_of(block, calls):
                last = parts[-1] if parts else None
                if isinstance(part, TextPart) and isinstance(last, TextPart):
                    parts[-1] = TextPart(text=last.text + part.text)
                else:
                    parts.append(part)
        return tuple(parts)

    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls as far as they have come."""
        return self._calls.calls()

    # -- one block -------------------------------------------------------------------------------

    def _add(self, kind: _Kind, index: int, data: dict[str, Any]) -> _Block:
        if self._is_torn and kind is _Kind.CALL:
            kind = _Kind.IGNORED
        block = _Block(kind, index, data)
        self._current[index] = block
        self._blocks.append(block)
        return block

    def _close(self, block: _Block, parts: list[StreamPart]) -> None:
        block.is_closed = True
        if block.half:
            block.half = ""
            if block.kind is _Kind.TEXT:
                self._say(block, "\ufffd", parts)
        if block.kind is _Kind.CALL and not block.input and block.data.get("input"):
            # The arguments stood in the start, and no piece followed.
            args = encoded(block.data["input"]).decode()
            self._call(block, parts, args=args)

    def _say(self, block: _Block, text: str, parts: list[StreamPart]) -> None:
        if not text:
            return
        block.pieces.append(text)
        last = parts[-1] if parts else None
        if type(last) is TextDelta:
            parts[-1] = TextDelta(last.text + text)
        else:
            parts.append(TextDelta(text))

    def _think(self, block: _Block, text: str, parts: list[StreamPart]) -> None:
        if not text:
            return
        block.pieces.append(text)
        last = parts[-1] if parts else None
        if type(last) is ReasoningDelta:
            parts[-1] = ReasoningDelta(last.text + text)
        else:
            parts.append(ReasoningDelta(text))

    def _call(
        self,
        block: _Block,
        parts: list[StreamPart],
        *,
        wire_id: str | None = None,
        name: str | None = None,
        args: str | None = None,
    ) -> None:
        if args:
            block.input.append(args)
        piece = self._calls.add(index=block.index, wire_id=wire_id, name=name, args=args)
        if piece is not None:
            parts.append(piece)

    def _parts_of(self, block: _Block, calls: tuple[ToolCallPart, ...]) -> Iterator[Part]:
        text = "".join(block.pieces)
        match block.kind:
            case _Kind.TEXT:
                if text:
                    yield TextPart(text=text)
            case _Kind.THINKING:
                # Half a signature would be refused for ever.
                signature = block.signature if block.is_closed else ""
                if text or signature:
                    yield ReasoningPart(
                        text=text, provider=self._provider, signature=signature or None
                    )
            case _Kind.CALL:
                if block.call_number < len(calls):
                    yield calls[block.call_number]
            case _Kind.OWN:
                if block.is_closed and (data := _whole(block, text)) is not None:
                    yield ProviderPart(provider=self._provider, wire=WIRE, data=data)
            case _Kind.IGNORED:
                pass


def _kind_of(data: dict[str, Any]) -> _Kind:
    kind = data.get("type")
    if not isinstance(kind, str):
        return _Kind.IGNORED
    known = {"text": _Kind.TEXT, "thinking": _Kind.THINKING, "tool_use": _Kind.CALL}
    return known.get(kind) or (_Kind.OWN if is_providers_own(kind) else _Kind.IGNORED)


def _kind_of_piece(delta: WireDelta) -> _Kind:
    if delta.text:
        return _Kind.TEXT
    return _Kind.THINKING if delta.thinking else _Kind.IGNORED


def _whole(block: _Block, text: str) -> dict[str, Any] | None:
    """The provider's own block with what came piece by piece. None: it is no whole one."""
    data = dict(block.data)
    if text:
        data["content"] = text
    if block.input:
        try:
            data["input"] = msgspec.json.decode("".join(block.input), type=dict)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return None
    return data


def _str_of(value: Any) -> str:
    return joined(value) if isinstance(value, str) else ""
