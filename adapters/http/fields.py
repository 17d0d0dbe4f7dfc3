"""Reads values out of JSON objects and queries, and collects everything that is wrong with them (pure).

A reader gives a usable value even for what is wrong, so that reading goes on and the client is told of
all mistakes at once.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar
from unicodedata import category

from adapters.http.errors import Problem, ProblemCode, Validation

DEPTH_MAX: Final = 64
"""Levels of nesting in a JSON value; what is deeper is no data but an attack on parsers."""
T = TypeVar("T")
_ID_MAX: Final = 2**63 - 1
_TURNS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""What Unicode calls bidirectional controls."""


class Mistakes:
    """What is wrong with one request, in the order in which it was found."""

    def __init__(self) -> None:
        self._found: list[Validation] = []
        self._has_unknown = False

    def add(self, field: str, detail: str) -> None:
        """Note a mistake."""
        self._found.append(Validation(field=field, detail=detail))

    def add_unknown(self, field: str, name: str, known: Iterable[str]) -> None:
        """Note a field that nobody asked for, with the one that was probably meant."""
        self._has_unknown = True
        nearest = get_close_matches(name, list(known), n=1, cutoff=0.6)
        meant = f"; did you mean {nearest[0]}?" if nearest else ""
        self.add(field, f"is not known here{meant}")

    @property
    def count(self) -> int:
        """How many there are so far."""
        return len(self._found)

    def raise_if_any(self) -> None:
        """Raise one Problem with all of them: 400 if a field is unknown, else 422."""
        if not self._found:
            return
        if self._has_unknown:
            code, message = ProblemCode.UNKNOWN_FIELDS, "The request has fields that are not known."
        else:
            code, message = ProblemCode.INVALID_FIELDS, "The request has invalid fields."
        raise Problem(code, message, validations=self._found)


class ObjectReader:
    """One JSON object. `where` is its path in the request, empty for the body itself."""

    def __init__(
        self, raw: Any, mistakes: Mistakes, *, known: Iterable[str], where: str = ""
    ) -> None:
        self._mistakes = mistakes
        self._where = where
        self._raw: Mapping[str, Any] = {}
        if not isinstance(raw, dict):
            mistakes.add(where or "body", "must be a JSON object")
            return
        self._raw = raw
        known = tuple(known)
        for name in raw:
            if name not in known:
                mistakes.add_unknown(self.path(name), name, known)

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def path(self, name: str) -> str:
        """Where a field of this object is."""
        return f"{self._where}.{name}" if self._where else printable(name)

    def wrong(self, name: str, detail: str) -> None:
        """Note what is wrong with a field."""
        self._mistakes.add(self.path(name), detail)

    def value(self, name: str) -> Any:
        """Any JSON value that can be stored; None if it is absent."""
        raw = self._raw.get(name)
        check_value(raw, self.path(name), self._mistakes)
        return raw

    def text(
        self, name: str, *, length_max: int, required: bool = False, blank: bool = False
    ) -> str | None:
        """Text of at most so many characters; None if it is absent or null."""
        raw = self._raw.get(name)
        if raw is None:
            if required:
                self.wrong(name, "is required")
            return None
        if not isinstance(raw, str):
            self.wrong(name, "must be text")
            return None
        if len(raw) > length_max:
            self.wrong(name, f"is longer than {length_max} characters")
        elif not blank and not raw.strip():
            self.wrong(name, "must not be empty")
        check_value(raw, self.path(name), self._mistakes)
        return raw

    def name(self, name: str, *, length_max: int, blank: bool = False) -> str | None:
        """A text that shows itself as what it is: one line, written in one direction."""
        text = self.text(name, length_max=length_max, blank=blank)
        if text is not None and misleads(text):
            self.wrong(name, "must have no control characters and none that turn its direction")
        return text

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        raw = self._raw.get(name, default)
        if isinstance(raw, bool):
            return raw
        self.wrong(name, "must be true or false")
        return default

    def whole(self, name: str) -> int | None:
        """A whole number of at least 0; None if it is absent or null."""
        raw = self._raw.get(name)
        if raw is None:
            return None
        if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= _ID_MAX:
            self.wrong(name, "must be a whole number of at least 0")
            return None
        return raw

    def choice(self, name: str, choices: Iterable[T], *, default: T) -> T:
        """One of these, by its text."""
        by_text = {str(choice): choice for choice in choices}
        raw = self._raw.get(name)
        if raw is None:
            return default
        if isinstance(raw, str) and raw in by_text:
            return by_text[raw]
        self.wrong(name, f"must be one of {', '.join(by_text)}")
        return default

    def items(self, name: str, read: Callable[[Any, str], T], *, count_max: int) -> tuple[T, ...]:
        """Each item of an array, read by `read(item, path)`; nothing if it is absent or null."""
        raw = self._raw.get(name)
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self.wrong(name, "must be an array")
            return ()
        if len(raw) > count_max:
            self.wrong(name, f"has more than {count_max} items")
            return ()
        return tuple(read(item, f"{self.path(name)}[{index}]") for index, item in enumerate(raw))


def check_value(raw: Any, where: str, mistakes: Mistakes) -> None:
    """Note what of a JSON value cannot be kept: lone surrogates are no text; too deep is too deep."""
    waiting = [(raw, where, 0)]
    while waiting:
        value, path, depth = waiting.pop()
        if depth > DEPTH_MAX:
            mistakes.add(where, f"is nested deeper than {DEPTH_MAX} levels")
            return
        if isinstance(value, str):
            if has_lone_surrogate(value):
                mistakes.add(path, "holds a lone surrogate, which is no character")
        elif isinstance(value, dict):
            for key, item in value.items():
                if has_lone_surrogate(key):
                    mistakes.add(path, "has a key with a lone surrogate, which is no character")
                waiting.append((item, f"{path}.{printable(key)}", depth + 1))
        elif isinstance(value, list):
            waiting += [(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]


def has_lone_surrogate(text: str) -> bool:
    """Whether a text cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def misleads(name: str) -> bool:
    """Whether a name shows itself as something else: it breaks lines, or turns the direction."""
    return any(sign in _TURNS or category(sign) in ("Cc", "Zl", "Zp") for sign in name)


def printable(name: str) -> str:
    """A client's own name for a field, fit to be shown back."""
    return name.encode(errors="replace").decode()[:80]
