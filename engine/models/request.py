"""Turn any history into a Chat Completions request that no provider refuses for its shape.

Pure. The same history gives the same bytes, so that a provider can cache the common beginning.
Reasoning is not sent back on this wire; files are named, not sent.
"""

import re
from typing import Any, Final, assert_never

import msgspec

from engine.chat.content import Author, ToolCallPart, ToolResultPart
from engine.models.call_assembly import is_json_object
from engine.models.call_pairs import ModelTurn, PersonTurn, Turn, paired_turns
from engine.models.model import ModelPrompt
from engine.models.surrogates import encoded
from engine.models.tool_schema import tool_definitions

CONTINUE: Final = "Continue."
"""Said where the last word is the model's own: many providers refuse to answer themselves."""

NAME_CHARACTERS_MAX: Final = 64
_AUTHOR_CHARACTERS_MAX: Final = 80

_ODD_IN_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")


def request_body(
    prompt: ModelPrompt, *, is_streamed: bool = True, output_limit_field: str = "max_tokens"
) -> bytes:
    """Return the JSON body. Text that is no valid Unicode is mended, not refused.

    `output_limit_field` is what the provider calls the most tokens of an answer.
    """
    body: dict[str, Any] = {"model": prompt.model, "messages": request_messages(prompt)}
    if prompt.tools:
        body["tools"] = tool_definitions(prompt.tools)
    if prompt.max_output_tokens is not None:
        body[output_limit_field] = prompt.max_output_tokens
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    body["stream"] = is_streamed
    if is_streamed:
        body["stream_options"] = {"include_usage": True}
    for name, value in prompt.options.items():
        body.setdefault(name, value)
    return encoded(body)


def request_messages(prompt: ModelPrompt) -> list[dict[str, Any]]:
    """Return the messages: one system message at most, calls and results paired, nothing empty."""
    system_rows, turns = paired_turns(prompt.messages)
    system = "\n\n".join(text for text in (prompt.system.strip(), system_rows) if text)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for turn in turns:
        messages.extend(_wire(turn))
    if not messages or messages[-1]["role"] in ("system", "assistant"):
        messages.append({"role": "user", "content": CONTINUE})
    return messages


def _wire(turn: Turn) -> list[dict[str, Any]]:
    match turn:
        case PersonTurn():
            return [{"role": "user", "content": _person_text(turn)}]
        case ModelTurn() if not turn.calls:
            return [{"role": "assistant", "content": turn.text}] if turn.text else []
        case ModelTurn():
            message = {
                "role": "assistant",
                "content": turn.text or None,
                "tool_calls": [_wire_call(i, call) for i, call in turn.calls.items()],
            }
            results = [
                {"role": "tool", "tool_call_id": call_id, "content": result_text(result)}
                for call_id, result in turn.results.items()
            ]
            return [message, *results]
        case _:
            assert_never(turn)


def _person_text(turn: PersonTurn) -> str:
    lines = [turn.text] if turn.text.strip() else []
    lines += [f"[file: {file.name} ({file.media_type})]" for file in turn.files]
    return as_said_by(turn.author, "\n".join(lines))


def as_said_by(author: Author | None, text: str) -> str:
    """A person's words with the name before them, so that the model tells people apart."""
    name = ""
    if author is not None:
        name = " ".join(author.name.split())[:_AUTHOR_CHARACTERS_MAX]
    return f"{name}: {text}" if name else text


def tool_name_on_wire(name: str) -> str:
    """A tool's name as every provider accepts it."""
    return _ODD_IN_NAME.sub("_", name)[:NAME_CHARACTERS_MAX] or "unknown_tool"


def _wire_call(call_id: str, call: ToolCallPart) -> dict[str, Any]:
    name = tool_name_on_wire(call.tool_name)
    args = call.args if is_json_object(call.args) else "{}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


def result_text(result: ToolResultPart) -> str:
    """Return a result as the model reads it: text as it is, anything else as JSON; never empty."""
    value = result.result
    if isinstance(value, str):
        if result.is_error:
            return result_text(msgspec.structs.replace(result, result={"error": value}))
        return value if value.strip() else "(empty result)"
    return encoded(value).decode()
