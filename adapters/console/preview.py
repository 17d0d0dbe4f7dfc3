"""The answer that is still being written, as blocks of HTML (pure). Only what changed is sent again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from adapters.console.markdown import Markdown
from adapters.console.pieces import Piece, pieces_of
from engine.chat.content import ToolCallPart, ToolResultPart
from engine.stream.events import LivePart, ReasoningDelta, TextDelta, ToolCallDelta

REASONING_SHOWN: Final = 4000
"""Characters of reasoning on show while it grows: it is folded, and all of it is sent each time."""
DrawReasoning = Callable[[str], str]
DrawTool = Callable[[str, str], str]
"""From a tool's name and state to HTML."""


@dataclass(slots=True)
class _Segment:
    """A run of parts of one kind: text, reasoning, or a call by its id."""

    kind: str
    key: str = ""
    pieces: list[str] = field(default_factory=list)
    state: str = "calling"
    drawn: list[str] | None = None
    drawn_pieces: dict[Piece, list[str]] = field(default_factory=dict)


class Preview:
    """Collects live parts and draws them. Blocks that were drawn and sent are not sent again."""

    def __init__(self, markdown: Markdown, *, reasoning: DrawReasoning, tool: DrawTool) -> None:
        self._markdown = markdown
        self._draw_reasoning = reasoning
        self._draw_tool = tool
        self._segments: list[_Segment] = []
        self._sent: list[str] = []

    @property
    def length(self) -> int:
        """Characters so far."""
        return sum(len(piece) for segment in self._segments for piece in segment.pieces)

    def add(self, part: LivePart) -> None:
        """Take in the next part."""
        match part:
            case TextDelta():
                self._extend("text", part.text)
            case ReasoningDelta():
                self._extend("reasoning", part.text)
            case ToolCallDelta() | ToolCallPart():
                self._call(part.tool_call_id, part.tool_name)
            case ToolResultPart():
                state = "failed" if part.is_error else "done"
                self._call(part.tool_call_id, part.tool_name, state)

    def clear(self) -> None:
        """Drop everything."""
        self._segments.clear()
        self._sent = []

    def changes(self) -> tuple[int, list[str]] | None:
        """Where the blocks differ from what was sent, and all from there on; None: nowhere."""
        blocks = [block for segment in self._segments for block in self._draw(segment)]
        same = 0
        for old, new in zip(self._sent, blocks, strict=False):
            if old != new:
                break
            same += 1
        if same == len(blocks) == len(self._sent):
            return None
        self._sent = blocks
        return same, blocks[same:]

    def _extend(self, kind: str, text: str) -> None:
        if not self._segments or self._segments[-1].kind != kind:
            self._segments.append(_Segment(kind))
        segment = self._segments[-1]
        segment.pieces.append(text)
        segment.drawn = None

    def _call(self, call_id: str, name: str, state: str = "calling") -> None:
        for segment in self._segments:
            if segment.kind == "tool" and segment.key == call_id:
                segment.state, segment.drawn = state, None
                return
        self._segments.append(_Segment("tool", key=call_id, pieces=[name], state=state))

    def _draw(self, segment: _Segment) -> list[str]:
        if segment.drawn is None:
            text = "".join(segment.pieces)
            if len(segment.pieces) > 1:
                segment.pieces = [text]
            if segment.kind == "text":
                segment.drawn = self._draw_text(segment, text)
            elif segment.kind == "reasoning":
                segment.drawn = [self._draw_reasoning(text[-REASONING_SHOWN:])]
            else:
                segment.drawn = [self._draw_tool(text, segment.state)]
        return segment.drawn

    def _draw_text(self, segment: _Segment, text: str) -> list[str]:
        """Only the last piece of a text grows: the others are not laid out again."""
        known, pieces = segment.drawn_pieces, pieces_of(text)
        segment.drawn_pieces = {
            piece: known.get(piece) or self._markdown.blocks_of(piece) for piece in pieces
        }
        return [block for piece in pieces for block in segment.drawn_pieces[piece]]
