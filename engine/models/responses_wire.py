"""The shapes of a Responses event: strict and fast for what is usual, lenient for the rest.

Pure. `read_event` takes any JSON object; what is not of the expected type counts as left out.
"""

import json
from typing import Any, Final

import msgspec
from msgspec import Struct

from engine.chat.content import Usage
from engine.models.surrogates import without_surrogates


class Event(Struct, gc=False):
    """One event of the stream, or a whole body. Unknown fields are ignored.

    `is_odd`: the text may hold halves of characters.
    """

    type: str = ""
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int | None = None
    content_index: int | None = None
    delta: str | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    item: Any = None
    response: Any = None
    error: Any = None
    code: Any = None
    message: Any = None
    detail: Any = None
    object: Any = None
    output: Any = None
    status: Any = None
    incomplete_details: Any = None
    usage: Any = None
    is_odd: bool = False


_DECODER: Final = msgspec.json.Decoder(Event)
_STRINGS: Final = ("item_id", "delta", "text", "refusal", "arguments")
_NUMBERS: Final = ("output_index", "summary_index", "content_index")
_VALUES: Final = (
    "item",
    "response",
    "error",
    "code",
    "message",
    "detail",
    "object",
    "output",
    "status",
    "incomplete_details",
    "usage",
)


def read_event(data: bytes) -> Event | None:
    """Decode any JSON object, keeping what makes sense. None: it is no JSON object."""
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError:
        return _read_odd(data)


def _read_odd(data: bytes) -> Event | None:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    event = Event(type=str_of(value.get("type")) or "", is_odd=True)
    for name in _STRINGS:
        setattr(event, name, _text_of(value.get(name)))
    for name in _NUMBERS:
        setattr(event, name, int_of(value.get(name)))
    for name in _VALUES:
        setattr(event, name, without_surrogates(value.get(name)))
    return event


def _text_of(value: Any) -> str | None:
    """Text; an object, as some servers send arguments, as its JSON."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str_of(value)


def str_of(value: Any) -> str | None:
    """The value if it is text."""
    return value if isinstance(value, str) else None


def int_of(value: Any) -> int | None:
    """The value as a whole number, if it is one in any spelling."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def dict_of(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def message_text(item: dict[str, Any]) -> str:
    """The words of a message item; a refusal is words as well."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    texts = (str_of(part.get("text")) or str_of(part.get("refusal")) for part in items_of(content))
    return "".join(text or "" for text in texts)


def reasoning_text(item: dict[str, Any]) -> str:
    """What may be read of a reasoning item: its summary, else the reasoning itself."""
    for name in ("summary", "content"):
        texts = [str_of(part.get("text")) for part in items_of(item.get(name))]
        if text := "\n\n".join(text for text in texts if text):
            return text
    return ""


def call_arguments(item: dict[str, Any]) -> str:
    """The arguments of a call item as text."""
    return _text_of(item.get("arguments")) or ""


def usage_of(value: Any) -> Usage | None:
    """The usage in our terms: input without cached tokens, output with reasoning."""
    usage = dict_of(value)
    fresh, output = int_of(usage.get("input_tokens")), int_of(usage.get("output_tokens"))
    if fresh is None and output is None:
        return None
    details = dict_of(usage.get("input_tokens_details"))
    read = int_of(details.get("cached_tokens"))
    written = int_of(details.get("cache_write_tokens"))
    if fresh is not None:
        fresh = max(fresh - (read or 0) - (written or 0), 0)
    reasoning = int_of(dict_of(usage.get("output_tokens_details")).get("reasoning_tokens"))
    return Usage(
        input_tokens=fresh,
        output_tokens=output,
        total_tokens=int_of(usage.get("total_tokens")),
        reasoning_tokens=reasoning or None,
        cache_read_tokens=read or None,
        cache_write_tokens=written or None,
    )
