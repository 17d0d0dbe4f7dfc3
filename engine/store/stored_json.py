"""(p) How values become JSON that Postgres can keep, and come back byte for byte.

Postgres takes neither NUL in text nor \\u0000 in jsonb. In every string, keys included, NUL is stored as
U+E000 U+E001 and U+E000 as U+E000 U+E000; text that spells backslash-u0000 is left alone. A lone
surrogate, which is no text at all, becomes U+FFFD.
"""

import re
from functools import cache
from typing import Any

import msgspec

_ESCAPE = "\ue000"
_NUL_STORED = "\ue000\ue001"
_ESCAPE_STORED = "\ue000\ue000"
_ESCAPE_UTF8 = _ESCAPE.encode()
_TO_STORE = re.compile("[\x00\ue000\ud800-\udfff]")
_FROM_STORE = re.compile("\ue000([\ue000\ue001])")

_encoder = msgspec.json.Encoder()


def encode_json(value: object) -> bytes:
    """The value as JSON for a jsonb column. Raises TypeError for what JSON cannot say."""
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_map_strings(msgspec.to_builtins(value), encode_text))
    if b"\\u0000" not in data and _ESCAPE_UTF8 not in data:
        return data
    return _encoder.encode(_map_strings(msgspec.to_builtins(value), encode_text))


def encode_optional(value: object) -> bytes | None:
    """Like encode_json; None stays SQL NULL."""
    return None if value is None else encode_json(value)


def decode_json(data: bytes, type_: Any = Any) -> Any:
    """The value that was stored, as `type_`."""
    decoder = _decoder(type_)
    if _ESCAPE_UTF8 not in data:
        return decoder.decode(data)
    return msgspec.convert(_map_strings(msgspec.json.decode(data), decode_text), type_)


def decode_optional(data: bytes | None, type_: Any = Any) -> Any:
    """Like decode_json; SQL NULL is None."""
    return None if data is None else decode_json(data, type_)


def encode_text(text: str) -> str:
    """The text as a text column can keep it."""
    return _TO_STORE.sub(_stored_character, text)


def encode_optional_text(text: str | None) -> str | None:
    """Like encode_text; None stays SQL NULL."""
    return None if text is None else encode_text(text)


def decode_text(text: str) -> str:
    """The text that was stored."""
    if _ESCAPE not in text:
        return text
    return _FROM_STORE.sub(_original_character, text)


def decode_optional_text(text: str | None) -> str | None:
    """Like decode_text; SQL NULL is None."""
    return None if text is None else decode_text(text)


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def _stored_character(match: re.Match[str]) -> str:
    character = match.group()
    if character == "\x00":
        return _NUL_STORED
    return _ESCAPE_STORED if character == _ESCAPE else "\ufffd"


def _original_character(match: re.Match[str]) -> str:
    return _ESCAPE if match.group(1) == _ESCAPE else "\x00"


def _map_strings(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(item, change) for item in value]
    return value
