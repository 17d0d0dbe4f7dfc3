"""Turn any history into Anthropic messages: alternating, paired, and with nothing empty. Pure.

Signed thinking and what the provider ran itself go back to the provider of the same name, where
they stood; for every other one they are left out, and so is half of a pair.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, assert_never

import msgspec

from engine.chat.content import Finish, ProviderPart, ReasoningPart, TextPart
from engine.models.anthropic_files import file_block, given_files
from engine.models.anthropic_wire import WIRE, is_providers_own
from engine.models.attachments import Given, GivenFile
from engine.models.call_pairs import ModelTurn, PairedCall, PersonTurn, Said, Turn, paired_turns
from engine.models.model import ModelPrompt
from engine.models.words import (
    CONTINUE,
    args_on_wire,
    as_said_by,
    result_text,
    tool_name_on_wire,
)

OPENING: Final = "(The chat begins with your own words.)"
"""Said where the first word is the model's own: the provider wants a person to begin."""

THINKING: Final = frozenset({"thinking", "redacted_thinking"})

_NEEDED_OPTION: Final = {
    "mcp_tool_use": "mcp_servers",
    "mcp_tool_result": "mcp_servers",
    "compaction": "context_management",
}
"""Blocks that the provider only knows while the feature is asked for."""

Block = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireHistory:
    """The words of the system rows, and the messages. They end with a person's, or with the
    model's own where the provider has paused in its turn."""

    system: str
    messages: list[dict[str, Any]]


def wire_history(prompt: ModelPrompt, provider: str) -> WireHistory:
    """The history as this provider accepts it."""
    system, turns = paired_turns(prompt.messages)
    people = [turn for turn in turns if isinstance(turn, PersonTurn)]
    given = iter(given_files(prompt, [turn.files for turn in people]))
    replay = _Replay(provider=provider, prompt=prompt)
    messages = _Messages()
    paused: list[Block] = []
    for turn in turns:
        match turn:
            case PersonTurn():
                messages.add("user", _person_blocks(turn, next(given)))
            case ModelTurn():
                blocks = replay.blocks(turn.said)
                messages.add("assistant", blocks)
                messages.add("user", _result_blocks(turn))
                paused = blocks if _is_paused(turn, turns) else []
            case _:
                assert_never(turn)
    return WireHistory(system=system, messages=_mended(messages.rows, paused))


def _is_paused(turn: ModelTurn, turns: list[Turn]) -> bool:
    return turn is turns[-1] and turn.finish is Finish.CONTINUE and not turn.calls


# -- one turn ------------------------------------------------------------------------------------


def _person_blocks(turn: PersonTurn, given: list[Given]) -> list[Block]:
    lines = [turn.text] if turn.text.strip() else []
    files: list[Block] = []
    for one in given:
        if isinstance(one, GivenFile):
            lines.append(f"[file: {one.name} ({one.media_type})]")
            files.append(file_block(one))
        else:
            lines.append(one.text)
    return [_text(as_said_by(turn.author, "\n".join(lines))), *files]


def _result_blocks(turn: ModelTurn) -> list[Block]:
    blocks: list[Block] = []
    for call_id in turn.calls:
        result = turn.results[call_id]
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result_text(result)}
        blocks.append(block | ({"is_error": True} if result.is_error else {}))
    return blocks


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


class _Replay:
    """What goes back to one provider."""

    def __init__(self, *, provider: str, prompt: ModelPrompt) -> None:
        self._provider = provider
        self._options = prompt.options

    def blocks(self, said: Iterable[Said]) -> list[Block]:
        """The blocks of what the model said, in order."""
        return [block for part in said if (block := self._block(part)) is not None]

    def _block(self, part: Said) -> Block | None:
        match part:
            case TextPart():
                return _text(part.text)
            case PairedCall():
                return _call_block(part)
            case ReasoningPart():
                if part.provider != self._provider or not part.signature:
                    return None
                return {"type": "thinking", "thinking": part.text, "signature": part.signature}
            case ProviderPart():
                is_own = part.provider == self._provider and part.wire == WIRE
                return part.data if is_own and self._is_known(part.data) else None
            case _:
                assert_never(part)

    def _is_known(self, data: Any) -> bool:
        """Whether the provider still takes this block back."""
        if not isinstance(data, dict) or not isinstance(kind := data.get("type"), str):
            return False
        needed = _NEEDED_OPTION.get(kind)
        if not is_providers_own(kind) or (needed and not self._options.get(needed)):
            return False
        wanted: dict[str, type] = {"content" if kind == "compaction" else "data": str}
        if kind.endswith("_tool_use"):
            wanted = {"id": str, "name": str, "input": dict}
        if kind.endswith("_tool_result"):
            wanted = {"tool_use_id": str, "content": object}
        return all(key in data and isinstance(data[key], cls) for key, cls in wanted.items())


def _call_block(paired: PairedCall) -> Block:
    return {
        "type": "tool_use",
        "id": paired.call_id,
        "name": tool_name_on_wire(paired.call.tool_name),
        "input": msgspec.json.decode(args_on_wire(paired.call.args)),
    }


# -- all turns -----------------------------------------------------------------------------------


class _Messages:
    """Messages that alternate: neighbours of one role become one."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, role: str, blocks: list[Block]) -> None:
        """Append blocks of a role; none change nothing."""
        if not blocks:
            return
        if self.rows and self.rows[-1]["role"] == role:
            self.rows[-1]["content"] += blocks
        else:
            self.rows.append({"role": role, "content": list(blocks)})


def _mended(rows: list[dict[str, Any]], paused: list[Block]) -> list[dict[str, Any]]:
    """The messages without halves of pairs, from a person's words to a person's words.

    `paused` is what the model said last where its turn has to go on: it may wait for a result.
    """
    messages = _Messages()
    for row in rows:
        blocks = row["content"]
        if row["role"] == "assistant":
            waiting = paused if row is rows[-1] else []
            blocks = _without_last_thinking(_paired(blocks, waiting))
        messages.add(row["role"], blocks)
    if not messages.rows or messages.rows[0]["role"] != "user":
        is_empty = not messages.rows
        messages.rows.insert(
            0, {"role": "user", "content": [_text(CONTINUE if is_empty else OPENING)]}
        )
    last = messages.rows[-1]
    if last["role"] == "assistant":
        if _resumes(last["content"], paused):
            last["content"] = _without_last_space(last["content"])
        else:
            messages.add("user", [_text(CONTINUE)])
    return messages.rows


def _paired(blocks: list[Block], waiting: list[Block]) -> list[Block]:
    """The blocks without what the provider ran and nothing came of, unless it still runs."""
    kept: list[Block] = []
    results = {
        block["tool_use_id"]: place for place, block in enumerate(blocks) if _is_result(block)
    }
    uses: set[str] = set()
    answered: set[str] = set()
    for place, block in enumerate(blocks):
        if _is_own_use(block):
            use_id = block["id"]
            is_open = any(block is one for one in waiting)
            if use_id in uses or not (results.get(use_id, -1) > place or is_open):
                continue
            uses.add(use_id)
        elif _is_result(block):
            use_id = block["tool_use_id"]
            if use_id not in uses or use_id in answered:
                continue
            answered.add(use_id)
        kept.append(block)
    return kept


def _is_own_use(block: Block) -> bool:
    return str(block["type"]).endswith("_tool_use")


def _is_result(block: Block) -> bool:
    return str(block["type"]).endswith("_tool_result")


def _without_last_thinking(blocks: list[Block]) -> list[Block]:
    """A message may not end in thinking: that was cut off before it said anything."""
    while blocks and blocks[-1]["type"] in THINKING:
        blocks = blocks[:-1]
    return blocks


def _resumes(blocks: list[Block], paused: list[Block]) -> bool:
    """Whether the provider finds in the last message what it paused in."""
    return any(
        block is one and block["type"] not in THINKING | {"text"}
        for block in blocks
        for one in paused
    )


def _without_last_space(blocks: list[Block]) -> list[Block]:
    """The provider goes on from the last words, and refuses to after a space."""
    if blocks[-1]["type"] != "text":
        return blocks
    return [*blocks[:-1], _text(blocks[-1]["text"].rstrip())]
