"""Plain words of what a model said beside the turns: one line, nothing live in it, bounded. Pure."""

import re
from typing import Final

_ELLIPSIS: Final = "…"
_QUOTES: Final = " \"'`“”„\u2018\u2019«»"
_BEGINNINGS: Final = "#>*- "
# Overrides, embeddings and isolates can make a line read as another one.
_BIDI: Final = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS: Final = re.compile(r"`+|\*{2,3}|__+|~~")
_LIVE: Final = re.compile(r"<(?=[@!#])|@(?=everyone|here|channel|group)", re.IGNORECASE)
_ZERO_WIDTH_SPACE: Final = "\u200b"


def one_line(text: str) -> str:
    """The text in one line without markup, controls and quotes around it."""
    text = _BIDI.sub("", text)
    text = "".join(c if c.isprintable() or c.isspace() else " " for c in text)
    text = _MARKS.sub("", _LINK.sub(r"\1", text))
    return " ".join(text.split()).lstrip(_BEGINNINGS).strip(_QUOTES)


def without_mentions(text: str) -> str:
    """The same text to the eye, in which no platform sees anybody called."""
    return _LIVE.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, text)


def cut(text: str, longest: int) -> str:
    """The text of at most `longest` characters, cut between words where that is possible."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    space = head.rfind(" ")
    return (head[:space] if space > longest // 2 else head).rstrip() + _ELLIPSIS
