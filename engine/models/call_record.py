"""What is kept of a model call (pure): a prompt and an answer as JSON, redacted and bounded, no file's bytes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from engine.models.model import ModelPrompt
from engine.models.parts import StreamResult
from engine.models.redaction import MASK, redact
from engine.models.surrogates import encoded

RECORD_BYTES_MAX: Final = 1_000_000
_TEXT_MAX: Final = 100_000
_TOOLS_BYTES_MAX: Final = 200_000
_MARGIN_BYTES: Final = 20_000
_DEPTH_MAX: Final = 60
_PIECE_MAX: Final = 2000
"""Characters that are redacted at once: rules look far, so longer texts would take longer than they should."""
_BYTES: Final = re.compile(r"(?:data:[^,\s]{0,200};base64,)?[A-Za-z0-9+/_-]{256,}={0,2}")
"""Encoded bytes: no language has words of such a length."""
_SECRET_NAME: Final = re.compile(
    r"(?i)(?:api[-_ ]?key|token|secret|password|passwd|authorization|credential|private[-_ ]?key)s?$"
)
# A cut goes where no name and its value are parted: after a line, else after a pair, a word, or anywhere.
_PIECES: Final = re.compile(
    "|".join(rf".{{1,{_PIECE_MAX}}}{after}" for after in (r"(?:\n|$)", "[,;&}]", r"\s", "")),
    re.DOTALL,
)


def request_record(prompt: ModelPrompt) -> dict[str, Any]:
    """The prompt. Where there is too much of it, the oldest messages are left out, and counted."""
    record: dict[str, Any] = {
        "model": prompt.model,
        "system": _clean(prompt.system),
        "tools": _tools_of(prompt),
        "max_output_tokens": prompt.max_output_tokens,
        "temperature": prompt.temperature,
        "options": _clean(dict(prompt.options)),
        "files": [
            {"file_id": str(file_id), "media_type": data.media_type, "size": len(data.data)}
            for file_id, data in prompt.files.items()
        ],
    }
    messages: list[Any] = []
    room = RECORD_BYTES_MAX - _MARGIN_BYTES - _size(record)
    for message in reversed(prompt.messages):
        said = _message_of(message)
        room -= _size(said) + 1
        if room < 0:
            record["messages_left_out"] = len(prompt.messages) - len(messages)
            break
        messages.append(said)
    record["messages"] = messages[::-1]
    return _bounded(record)


def response_record(result: StreamResult) -> dict[str, Any]:
    """The answer, as far as it came."""
    return _bounded(
        {
            "content": [_clean(msgspec.to_builtins(part)) for part in result.content],
            "finish": result.finish.value,
            "usage": msgspec.to_builtins(result.usage),
        }
    )


def _tools_of(prompt: ModelPrompt) -> Sequence[Any]:
    tools = [
        {
            "name": tool.name,
            "description": _clean(tool.description),
            "input_schema": _clean(tool.input_schema),
        }
        for tool in prompt.tools
    ]
    return tools if _size(tools) <= _TOOLS_BYTES_MAX else [tool["name"] for tool in tools]


def _message_of(message: Any) -> dict[str, Any]:
    said: dict[str, Any] = {
        "role": message.role.value,
        "content": [_clean(msgspec.to_builtins(part)) for part in message.content],
    }
    if message.author is not None:
        said["author"] = _clean(message.author.name)
    return said


def _clean(value: Any, depth: int = 0) -> Any:
    """The value without secrets, files' bytes and endless texts."""
    if depth > _DEPTH_MAX:
        return "(nested too deep to be kept)"
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value)} bytes left out)"
    if isinstance(value, Mapping):
        return {
            _clean_text(str(key)): MASK
            if isinstance(item, str) and _SECRET_NAME.search(str(key))
            else _clean(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in value]
    return value


def _clean_text(text: str) -> str:
    cut = len(text) - _TEXT_MAX
    text = _BYTES.sub(_left_out, text[:_TEXT_MAX])
    text = "".join(redact(piece) for piece in _PIECES.findall(text))
    return f"{text} ({cut} more characters left out)" if cut > 0 else text


def _left_out(match: re.Match[str]) -> str:
    return f"({len(match.group())} characters of encoded bytes left out)"


def _bounded(record: dict[str, Any]) -> dict[str, Any]:
    size = _size(record)
    if size <= RECORD_BYTES_MAX:
        return record
    return {"left_out": f"{size} bytes are more than is kept of one call"}


def _size(value: Any) -> int:
    return len(encoded(value))
