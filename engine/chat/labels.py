"""What labels may look like (pure): keys and values of a chat that people and programs choose."""

import re
from collections.abc import Mapping
from typing import Any, Final

LABELS_MAX: Final = 50
KEY_BYTES_MAX: Final = 64
VALUE_BYTES_MAX: Final = 256
_KEY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/-]*")
_KEY_RULE: Final = (
    f"a label's key is 1 to {KEY_BYTES_MAX} letters, digits, dots, underscores, slashes and hyphens, "
    "and begins with a letter or a digit"
)


def label_mistakes(labels: Mapping[str, Any]) -> list[tuple[str | None, str]]:
    """What is wrong with these labels: (key, how to mend it); the key is None for them as a whole."""
    if len(labels) > LABELS_MAX:
        return [(None, f"has {len(labels)} labels; a chat has at most {LABELS_MAX}")]
    found: list[tuple[str | None, str]] = []
    for key, value in labels.items():
        if not is_label_key(key):
            found.append((key, _KEY_RULE))
        if not isinstance(value, str):
            found.append((key, "must be text"))
        elif not 1 <= _size(value) <= VALUE_BYTES_MAX:
            found.append((key, f"must be 1 to {VALUE_BYTES_MAX} bytes of text"))
    return found


def is_label_key(key: str) -> bool:
    """Whether a label may be called so."""
    return len(key) <= KEY_BYTES_MAX and _KEY.fullmatch(key) is not None


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
