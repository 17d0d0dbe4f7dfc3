"""Turn any history into a Responses request that no provider refuses for its shape.

Pure. The same history gives the same bytes, so that a provider can cache the common beginning.
Nothing is kept by the provider (`store: false`, never a previous response), so everything that it
needs is sent, its own reasoning and the items that it executed itself included.
"""

from collections.abc import Iterable
from typing import Any, Final, assert_never

from engine.chat.content import ProviderPart, ReasoningPart, TextPart
from engine.models.attachments import FileKind, GivenFile
from engine.models.call_pairs import ModelTurn, PairedCall, PersonTurn, Said, Turn, paired_turns
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.provider import Wire
from engine.models.surrogates import encoded
from engine.models.tool_schema import tool_definitions
from engine.models.words import (
    CONTINUE,
    args_on_wire,
    data_url,
    person_said,
    result_text,
    tool_name_on_wire,
)

OUTPUT_TOKENS_MIN: Final = 16
"""The API refuses a lower limit."""

ENCRYPTED: Final = "reasoning.encrypted_content"

_NEVER: Final = frozenset({"previous_response_id", "conversation", "background"})
"""Fields that lean on what the provider keeps; it keeps nothing."""

_WITHIN_REASONING: Final = {"reasoning_effort": "effort", "reasoning_summary": "summary"}
"""Options as Chat Completions names them, and where this wire has them."""

_EXECUTED: Final = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "compaction",
    }
)
"""Items that are complete by themselves. Others wait for an answer that nobody gave."""

_OF_REASONING: Final = ("type", "id", "summary", "encrypted_content")
"""All that may be sent back of a reasoning item; readable reasoning is refused."""


def responses_body(prompt: ModelPrompt, *, provider: str, is_streamed: bool = True) -> bytes:
    """Return the JSON body. Text that is no valid Unicode is mended, not refused.

    `provider` is the configured name; items of any other are left out.
    """
    instructions, items = request_input(prompt, provider=provider)
    body: dict[str, Any] = {"model": prompt.model}
    if instructions:
        body["instructions"] = instructions
    body["input"] = items
    if prompt.tools:
        body["tools"] = _flat_tools(prompt.tools)
    if prompt.max_output_tokens is not None:
        body["max_output_tokens"] = max(prompt.max_output_tokens, OUTPUT_TOKENS_MIN)
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    body["store"] = False
    body["stream"] = is_streamed
    _add_options(body, prompt)
    return encoded(body)


def request_input(prompt: ModelPrompt, *, provider: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the instructions and the input items: calls and outputs paired, nothing empty."""
    system_rows, turns = paired_turns(prompt.messages)
    instructions = "\n\n".join(text for text in (prompt.system.strip(), system_rows) if text)
    sent: set[str] = set()
    items: list[dict[str, Any]] = []
    for turn in turns:
        items.extend(_wire(turn, prompt, provider, sent))
    if not items or not _awaits_answer(items[-1]):
        items.append(_person([{"type": "input_text", "text": CONTINUE}]))
    return instructions, items


def _awaits_answer(item: dict[str, Any]) -> bool:
    return item["type"] == "function_call_output" or item.get("role") == "user"


def _wire(turn: Turn, prompt: ModelPrompt, provider: str, sent: set[str]) -> list[dict[str, Any]]:
    match turn:
        case PersonTurn():
            text, files = person_said(turn, prompt)
            return [_person([{"type": "input_text", "text": text}, *map(_wire_file, files)])]
        case ModelTurn():
            replay = _Replay(provider, sent)
            for part in turn.said:
                replay.take(part)
            results = [
                {"type": "function_call_output", "call_id": call_id, "output": result_text(result)}
                for call_id, result in turn.results.items()
            ]
            return [*replay.items, *results]
        case _:
            assert_never(turn)


def _person(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def _wire_file(file: GivenFile) -> dict[str, Any]:
    match file.kind:
        case FileKind.IMAGE:
            return {"type": "input_image", "image_url": data_url(file)}
        case FileKind.PDF:
            name = file.name or "file.pdf"
            return {"type": "input_file", "filename": name, "file_data": data_url(file)}
        case _:
            assert_never(file.kind)


class _Replay:
    """The items of one turn of the model.

    Reasoning goes only before the very item that it led to, and what the provider executed only
    behind the reasoning that led to it: the API refuses either without the other.
    """

    def __init__(self, provider: str, sent: set[str]) -> None:
        self.items: list[dict[str, Any]] = []
        self._provider = provider
        self._sent = sent
        self._reasoning: list[dict[str, Any]] = []
        self._is_reasoning_lost = False

    def take(self, part: Said) -> None:
        match part:
            case TextPart():
                self._say(part.text)
            case ReasoningPart():
                # Until its own item follows, which holds the same in a form that can be sent.
                self._is_reasoning_lost = part.provider == self._provider
            case PairedCall():
                self._call(part)
            case ProviderPart():
                if part.provider == self._provider and part.wire == Wire.RESPONSES.value:
                    self._take_own(part.data)
                else:
                    self._reasoning = []
            case _:
                assert_never(part)

    def _say(self, text: str) -> None:
        if text.strip():
            content = [{"type": "output_text", "text": text}]
            self._add({"type": "message", "role": "assistant", "content": content})
        else:
            self._reasoning = []

    def _call(self, part: PairedCall) -> None:
        self._add(
            {
                "type": "function_call",
                "call_id": part.call_id,
                "name": tool_name_on_wire(part.call.tool_name),
                "arguments": args_on_wire(part.call.args),
            }
        )

    def _take_own(self, data: Any) -> None:
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "reasoning":
            reasoning = self._replayable(data)
            self._is_reasoning_lost = reasoning is None
            self._reasoning = [*self._reasoning, reasoning] if reasoning else []
        elif kind in _EXECUTED and not self._is_reasoning_lost and self._is_new(data.get("id")):
            self._add(data)
        else:
            self._reasoning = []

    def _replayable(self, data: dict[str, Any]) -> dict[str, Any] | None:
        if not isinstance(data.get("encrypted_content"), str) or not self._is_new(data.get("id")):
            return None
        item = {name: data[name] for name in _OF_REASONING if data.get(name)}
        return item | {"summary": data.get("summary") or []}

    def _is_new(self, item_id: Any) -> bool:
        """Whether an item may be sent: it has an id, and that for the first time."""
        if not isinstance(item_id, str) or not item_id or item_id in self._sent:
            return False
        self._sent.add(item_id)
        return True

    def _add(self, item: dict[str, Any]) -> None:
        self.items += [*self._reasoning, item]
        self._reasoning = []
        if item["type"] not in _EXECUTED:
            self._is_reasoning_lost = False


def _flat_tools(offers: Iterable[ToolOffer]) -> list[dict[str, Any]]:
    """The tools with their fields at the top, and not strict: their schemas come from many hands."""
    return [
        {"type": "function", **tool["function"], "strict": False}
        for tool in tool_definitions(offers)
    ]


def _add_options(body: dict[str, Any], prompt: ModelPrompt) -> None:
    """Add the options without replacing anything; lists that the request has grow."""
    reasoning: dict[str, Any] = {}
    for name, value in prompt.options.items():
        if value is None:
            continue
        if name in _WITHIN_REASONING:
            reasoning[_WITHIN_REASONING[name]] = value
        elif name == "tools" and isinstance(value, list | tuple):
            body["tools"] = [*body.get("tools", ()), *value]
        elif name not in _NEVER:
            body.setdefault(name, value)
    if reasoning:
        given = body.get("reasoning")
        body["reasoning"] = reasoning | (given if isinstance(given, dict) else {})
    if body.get("reasoning"):
        # Only then: models that do not reason refuse to be asked for it.
        include = body.get("include") or []
        body["include"] = [*include, *([] if ENCRYPTED in include else [ENCRYPTED])]
