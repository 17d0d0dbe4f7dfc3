"""Turn any history into a Chat Completions request that no provider refuses for its shape.

Pure. The same history gives the same bytes, so that a provider can cache the common beginning.
Reasoning and what providers executed themselves have no place on this wire and are not sent back.
"""

from typing import Any, assert_never

from engine.models.attachments import FileKind, GivenFile
from engine.models.call_pairs import ModelTurn, PairedCall, PersonTurn, Turn, paired_turns
from engine.models.model import ModelPrompt
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
        messages.extend(_wire(turn, prompt))
    if not messages or messages[-1]["role"] in ("system", "assistant"):
        messages.append({"role": "user", "content": CONTINUE})
    return messages


def _wire(turn: Turn, prompt: ModelPrompt) -> list[dict[str, Any]]:
    match turn:
        case PersonTurn():
            return [{"role": "user", "content": _person_content(turn, prompt)}]
        case ModelTurn() if not turn.calls:
            return [{"role": "assistant", "content": turn.text}] if turn.text else []
        case ModelTurn():
            message = {
                "role": "assistant",
                "content": turn.text or None,
                "tool_calls": [
                    _wire_call(part) for part in turn.said if isinstance(part, PairedCall)
                ],
            }
            results = [
                {"role": "tool", "tool_call_id": call_id, "content": result_text(result)}
                for call_id, result in turn.results.items()
            ]
            return [message, *results]
        case _:
            assert_never(turn)


def _person_content(turn: PersonTurn, prompt: ModelPrompt) -> str | list[dict[str, Any]]:
    text, files = person_said(turn, prompt)
    if not files:
        return text
    return [{"type": "text", "text": text}, *(_wire_file(file) for file in files)]


def _wire_file(file: GivenFile) -> dict[str, Any]:
    match file.kind:
        case FileKind.IMAGE:
            return {"type": "image_url", "image_url": {"url": data_url(file)}}
        case FileKind.PDF:
            named = {"filename": file.name or "file.pdf", "file_data": data_url(file)}
            return {"type": "file", "file": named}
        case _:
            assert_never(file.kind)


def _wire_call(part: PairedCall) -> dict[str, Any]:
    name, args = tool_name_on_wire(part.call.tool_name), args_on_wire(part.call.args)
    return {"id": part.call_id, "type": "function", "function": {"name": name, "arguments": args}}
