"""Mend text that holds half a character, as servers that cut a character in two send it. Pure."""

import re
from typing import Any, Final

import msgspec

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ENCODER: Final = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """The JSON of a value. Text that is no valid Unicode is mended, not refused."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(without_surrogates(value))


def without_surrogates(value: Any) -> Any:
    """A JSON value with every half of a character replaced, keys included."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_surrogates(item) for item in value]
    return value


def joined(text: str) -> str:
    """Text that can be encoded: pairs of halves joined, lone ones replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
