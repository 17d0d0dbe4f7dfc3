"""Reasoning that a model writes into its text: `<think>...</think>` before the answer.

Pure. Only a tag that opens the answer counts; one that comes later is text about tags.
"""

from enum import Enum, auto
from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class _State(Enum):
    BEFORE = auto()
    INSIDE = auto()
    AFTER = auto()
    TEXT = auto()


class ThinkTags:
    """Tell reasoning from text as it comes. Holds back only what may still become a tag."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = _State.BEFORE
        self._held = ""

    @property
    def is_settled(self) -> bool:
        """Whether all that follows is text, so that the filter can be left out."""
        return self._state is _State.TEXT

    def feed(self, text: str) -> tuple[str, str]:
        """Return (reasoning, text) that can be told by now."""
        reasoning = ""
        text = self._held + text
        self._held = ""
        if self._state is _State.BEFORE:
            text = self._before(text)
        if self._state is _State.INSIDE:
            reasoning, text = self._inside(text)
        if self._state is _State.AFTER:
            text = text.lstrip()
            if text:
                self._state = _State.TEXT
        return reasoning, text

    def end(self) -> tuple[str, str]:
        """Return what was held back: it was no tag."""
        held, self._held = self._held, ""
        return (held, "") if self._state is _State.INSIDE else ("", held)

    def _before(self, text: str) -> str:
        body = text.lstrip()
        if body.startswith(_OPEN):
            self._state = _State.INSIDE
            return body.removeprefix(_OPEN)
        if _OPEN.startswith(body):
            self._held = text
            return ""
        self._state = _State.TEXT
        return text

    def _inside(self, text: str) -> tuple[str, str]:
        reasoning, found, rest = text.partition(_CLOSE)
        if found:
            self._state = _State.AFTER
            return reasoning, rest
        keep = _overlap(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep], ""


def _overlap(text: str) -> int:
    """Return how many characters at the end of the text may begin a closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(_CLOSE[:n])), 0)
