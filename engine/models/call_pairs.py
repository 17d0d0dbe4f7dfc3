"""Mend a history so that every tool call has its one result right behind it, and no result is alone.

Pure. Histories are cut by interrupts, crashes, edits and compaction; every provider answers an
unpaired call or result with a 400, for ever.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, assert_never

from engine.chat.content import (
    Author,
    FilePart,
    Finish,
    Part,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from engine.chat.ids import ToolCallId
from engine.models.model import PromptMessage

INTERRUPTED: Final = {"error": "tool call was interrupted and did not receive a result"}
"""The result of a call that has none."""

ID_CHARACTERS_MAX: Final = 40
"""Chat Completions refuses longer ids."""

_ODD_IN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True, kw_only=True)
class PersonTurn:
    """What a person said; `files` are named, not sent."""

    text: str
    files: tuple[FilePart, ...] = ()
    author: Author | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedCall:
    """A call with its id in this request."""

    call_id: str
    call: ToolCallPart


Said = TextPart | ReasoningPart | ProviderPart | PairedCall


@dataclass(slots=True, kw_only=True)
class ModelTurn:
    """What the model said, and its calls, each with an id of its own in this request.

    `said` is all of it in its order, for wires that can replay it; `text` and `calls` are what
    every wire can. A turn without either holds only what its own provider understands.
    """

    text: str = ""
    said: list[Said] = field(default_factory=list)
    finish: Finish | None = None
    calls: dict[str, ToolCallPart] = field(default_factory=dict)
    results: dict[str, ToolResultPart] = field(default_factory=dict)


Turn = PersonTurn | ModelTurn


def paired_turns(messages: Iterable[PromptMessage]) -> tuple[str, list[Turn]]:
    """Return (text of the system rows, the turns with every call answered exactly once)."""
    pairing = _Pairing()
    for message in messages:
        pairing.take(message)
    pairing.close()
    return "\n\n".join(pairing.system), pairing.turns


class _Pairing:
    def __init__(self) -> None:
        self.system: list[str] = []
        self.turns: list[Turn] = []
        self._used: set[str] = set()
        self._open: ModelTurn | None = None
        self._ids: dict[str, list[str]] = {}

    def take(self, message: PromptMessage) -> None:
        match message.role:
            case Role.SYSTEM:
                if text := text_of(message.content).strip():
                    self.system.append(text)
            case Role.USER:
                self._take_person(message)
            case Role.ASSISTANT:
                self._take_model(message)
            case Role.TOOL:
                self._take_results(message.content)

    def close(self) -> None:
        """Answer what is still unanswered, in the order of the calls."""
        if self._open is None:
            return
        for call_id, call in self._open.calls.items():
            if call_id not in self._open.results:
                self._open.results[call_id] = ToolResultPart(
                    tool_call_id=call.tool_call_id,
                    tool_name=call.tool_name,
                    result=INTERRUPTED,
                    is_error=True,
                )
        self._open = None

    def _take_person(self, message: PromptMessage) -> None:
        text = text_of(message.content)
        files = tuple(part for part in message.content if isinstance(part, FilePart))
        if text.strip() or files:
            self.turns.append(PersonTurn(text=text, files=files, author=message.author))

    def _take_model(self, message: PromptMessage) -> None:
        text = text_of(message.content)
        turn = ModelTurn(text=text if text.strip() else "", finish=message.finish)
        if turn.text or any(isinstance(part, ToolCallPart) for part in message.content):
            # Reasoning alone does not part a call from its result.
            self.close()
        for part in message.content:
            self._say(turn, part)
        if turn.said:
            self.turns.append(turn)
        # Results that stand in the same row as their calls.
        self._take_results(message.content)

    def _say(self, turn: ModelTurn, part: Part) -> None:
        match part:
            case TextPart():
                turn.said += [part] if part.text.strip() else []
            case ReasoningPart() | ProviderPart():
                turn.said.append(part)
            case ToolCallPart():
                self._call(turn, part)
            case ToolResultPart() | FilePart():
                pass
            case _:
                assert_never(part)

    def _call(self, turn: ModelTurn, call: ToolCallPart) -> None:
        if self._open is not turn:
            self._open, self._ids = turn, {}
        call_id = self._unique(call.tool_call_id)
        turn.calls[call_id] = call
        turn.said.append(PairedCall(call_id=call_id, call=call))
        self._ids.setdefault(call.tool_call_id, []).append(call_id)

    def _take_results(self, content: Iterable[Part]) -> None:
        for part in content:
            if isinstance(part, ToolResultPart):
                self._take_result(part)

    def _take_result(self, result: ToolResultPart) -> None:
        """Put a result behind its call, even where something was said in between."""
        if self._open is not None and (ids := self._ids.get(result.tool_call_id)):
            free = next((i for i in ids if i not in self._open.results), None)
            if free is not None:
                self._open.results[free] = result
            # Otherwise it is a second result of an answered call: the first one counts.
            return
        self._adopt(result)

    def _adopt(self, result: ToolResultPart) -> None:
        """Give a result whose call is gone a call to answer, so that what it says is not lost."""
        self.close()
        turn = ModelTurn()
        self.turns.append(turn)
        call = ToolCallPart(tool_call_id=result.tool_call_id, tool_name=result.tool_name)
        self._call(turn, call)
        self._take_result(result)

    def _unique(self, wire_id: ToolCallId) -> str:
        stem = _ODD_IN_ID.sub("_", wire_id)[:ID_CHARACTERS_MAX] or "call"
        call_id, number = stem, 1
        while call_id in self._used:
            number += 1
            tail = f"_{number}"
            call_id = stem[: ID_CHARACTERS_MAX - len(tail)] + tail
        self._used.add(call_id)
        return call_id
