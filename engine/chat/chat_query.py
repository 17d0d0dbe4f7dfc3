"""The filter of a list of chats, as people type it (pure): `status:error label:env:prod search:"lost boat"`.

Terms are `key:value`, apart by spaces, and all must hold; a value with spaces stands in double quotes.
Whatever is typed gives a filter or sentences that say what is wrong and what is known.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engine.chat.labels import is_label_key
from engine.chat.view import ShownStatus

QUERY_MAX: Final = 1000
"""Characters of a filter."""
TERMS_MAX: Final = 50
KEYS: Final = ("title", "archived", "has_unread", "status", "label", "bot", "channel", "search")
_KNOWN: Final = f"known are {', '.join(f'{key}:' for key in KEYS)}"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_TERM: Final = re.compile(
    rf'\s*(?:([^\s:"]*):)?({_QUOTED}|[^\s"]+:{_QUOTED}|[^\s"]+)(?=\s|$)', re.DOTALL
)
_PIECE: Final = re.compile(r'"([^"]+)"|([^\s"]+)')
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_FLAGS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFilter:
    """Which chats are wanted; None and empty: all. All must hold, but one of `statuses` is enough.

    `title`: a part of it, whatever the case. `channel`: whole as platform:installation:channel, or
    its last part. `search`: words of what was said, as web searches take them.
    """

    archived: bool | None = False
    title: str | None = None
    has_unread: bool | None = None
    statuses: tuple[ShownStatus, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    bot: str | None = None
    channel: str | None = None
    search: str | None = None


class QueryInvalid(Exception):
    """The filter cannot be understood; `detail` says what of it, and what is known."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def parse_chat_query(text: str, *, archived: bool | None = False) -> ChatFilter:
    """The filter; `archived` holds where it does not say. Raises QueryInvalid."""
    if len(text) > QUERY_MAX:
        raise QueryInvalid(f"is longer than {QUERY_MAX} characters")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise QueryInvalid("holds a lone surrogate, which is no character")
    found = ChatFilter(archived=archived)
    seen: set[str] = set()
    for key, value in _terms(text):
        if key in seen and key not in ("label", "search", "status"):
            raise QueryInvalid(f"{key}: is given more than once")
        seen.add(key)
        found = _READERS[key](found, value)
    return found


def search_of(text: str) -> str:
    """A filter that searches for these words, and for what stands in quotes as it is."""
    pieces = [phrase or word for phrase, word in _PIECE.findall(text)]
    # Signs between words say nothing; alone they are refused with a reason.
    words = [piece for piece in pieces if any(sign.isalnum() for sign in piece)] or pieces
    return " ".join('search:"' + word.replace("\\", "\\\\") + '"' for word in words)


def _terms(text: str) -> list[tuple[str, str]]:
    terms: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TERM.match(text, at)
        if match is None:
            raise QueryInvalid(_why_no_term(text[at:].strip()))
        key, value = match[1], match[2]
        if key is None and value.endswith(":") and value[:-1] in KEYS:
            raise QueryInvalid(f"{value} has no value")
        if key is None:
            shown = _shown(value)
            raise QueryInvalid(f"{shown} has no key; search for it with search:{shown}; {_KNOWN}")
        if key not in KEYS:
            raise QueryInvalid(f"{_shown(key)}: is not known; {_KNOWN}")
        terms.append((key, value))
        at = match.end()
    if len(terms) > TERMS_MAX:
        raise QueryInvalid(f"has more than {TERMS_MAX} terms")
    return terms


def _why_no_term(rest: str) -> str:
    # Without a quote anything is a term.
    head = rest.split(maxsplit=1)[0]
    return f'{_shown(head)} has a quote that does not enclose a whole value; write key:"value"'


def _text(key: str, value: str) -> str:
    if '"' in value and not value.startswith('"'):
        raise QueryInvalid(_why_no_term(value))
    text = _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
    if not text.strip():
        raise QueryInvalid(f"{key}: has no value")
    return text


def _flag(key: str, value: str) -> bool:
    flag = _FLAGS.get(_text(key, value))
    if flag is None:
        raise QueryInvalid(f"{key}: must be true or false")
    return flag


def _archived(found: ChatFilter, value: str) -> ChatFilter:
    text = _text("archived", value)
    if text == "any":
        return replace(found, archived=None)
    if text not in _FLAGS:
        raise QueryInvalid("archived: must be true, false or any")
    return replace(found, archived=_FLAGS[text])


def _status(found: ChatFilter, value: str) -> ChatFilter:
    text = _text("status", value)
    known = [status.value for status in ShownStatus]
    if text not in known:
        raise QueryInvalid(f"status: must be one of {', '.join(known)}")
    return replace(found, statuses=(*found.statuses, ShownStatus(text)))


def _label(found: ChatFilter, value: str) -> ChatFilter:
    if value.startswith('"'):
        value = _text("label", value)
    key, colon, wanted = value.partition(":")
    if wanted.startswith('"'):
        wanted = _text("label", wanted)
    if not colon or not wanted or not is_label_key(key):
        raise QueryInvalid("label: must be label:key:value")
    if found.labels.get(key, wanted) != wanted:
        raise QueryInvalid(f"label: asks for two values of {key}; a chat has one")
    return replace(found, labels={**found.labels, key: wanted})


def _search(found: ChatFilter, value: str) -> ChatFilter:
    text = _text("search", value)
    if not any(sign.isalnum() for sign in text):
        raise QueryInvalid("search: has no letter and no digit to look for")
    # Within a text these are signs of the language of searches, and of markup.
    words = re.sub(r"[\"<>]", " ", text)
    words = f'"{words}"' if value.startswith('"') else words
    return replace(found, search=words if found.search is None else f"{found.search} {words}")


_READERS: Final[Mapping[str, Callable[[ChatFilter, str], ChatFilter]]] = {
    "title": lambda found, value: replace(found, title=_text("title", value)),
    "archived": _archived,
    "has_unread": lambda found, value: replace(found, has_unread=_flag("has_unread", value)),
    "status": _status,
    "label": _label,
    "bot": lambda found, value: replace(found, bot=_text("bot", value)),
    "channel": lambda found, value: replace(found, channel=_text("channel", value)),
    "search": _search,
}


def _shown(text: str) -> str:
    """A piece of what was typed, fit to be shown back."""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:40]
