"""What the query of a request asks for (pure): filters, pages, and where a stream goes on."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Final
from uuid import UUID

from adapters.http.fields import Mistakes, has_lone_surrogate
from engine.api import ChatCursor
from engine.chat.chat_query import ChatFilter, QueryInvalid, parse_chat_query
from engine.chat.ids import ChatId, MessageId

LIMIT_DEFAULT: Final = 50
LIMIT_MAX: Final = 200
_ID_MAX: Final = 2**63 - 1
Pairs = Sequence[tuple[str, str]]
"""Names and values, as often as they were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatsQuery:
    """Which chats are asked for."""

    after: ChatCursor | None
    limit: int
    wanted: ChatFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesQuery:
    """Which messages are asked for: the first after one, or the last before one or of all."""

    after: MessageId | None
    before: MessageId | None
    limit: int


def chats_query(pairs: Pairs) -> ChatsQuery:
    """The filter and page of a list of chats."""
    mistakes = Mistakes()
    query = _Query(pairs, mistakes, known=("cursor", "limit", "q", "archived", "label"))
    cursor = query.one("cursor")
    after = None if cursor is None else decode_cursor(cursor)
    if cursor is not None and after is None:
        mistakes.add("cursor", "is not a cursor; use next_cursor of the page before")
    labels: dict[str, str] = {}
    for label in query.all("label"):
        key, colon, value = label.partition(":")
        if not colon or not key or has_lone_surrogate(label):
            mistakes.add("label", "must be key:value")
        labels[key] = value
    wanted = _filter_of(query, mistakes)
    labels = {**wanted.labels, **labels}
    found = ChatsQuery(after=after, limit=query.limit(), wanted=replace(wanted, labels=labels))
    mistakes.raise_if_any()
    return found


def messages_query(pairs: Pairs) -> MessagesQuery:
    """The page of a history."""
    mistakes = Mistakes()
    query = _Query(pairs, mistakes, known=("after", "before", "limit"))
    after, before = query.number("after"), query.number("before")
    if after is not None and before is not None:
        mistakes.add("after", "goes without before")
    found = MessagesQuery(
        after=None if after is None else MessageId(after),
        before=None if before is None else MessageId(before),
        limit=query.limit(),
    )
    mistakes.raise_if_any()
    return found


def actions_query(pairs: Pairs) -> bool:
    """Whether only open actions are asked for."""
    mistakes = Mistakes()
    state = _Query(pairs, mistakes, known=("state",)).one("state") or "open"
    if state not in ("open", "all"):
        mistakes.add("state", "must be open or all")
    mistakes.raise_if_any()
    return state == "open"


def stream_query(pairs: Pairs, last_event_id: str | None) -> MessageId:
    """The message after which a stream begins. What a reconnecting client says goes first."""
    mistakes = Mistakes()
    after = _Query(pairs, mistakes, known=("after_id",)).number("after_id") or 0
    mistakes.raise_if_any()
    if last_event_id is not None and (resumed := _number(last_event_id)) is not None:
        after = resumed
    return MessageId(after)


def no_query(pairs: Pairs) -> None:
    """Nothing may be asked for."""
    mistakes = Mistakes()
    _Query(pairs, mistakes, known=())
    mistakes.raise_if_any()


def _filter_of(query: "_Query", mistakes: Mistakes) -> ChatFilter:
    archived = query.flag("archived")
    try:
        return parse_chat_query(query.one("q") or "", archived=archived)
    except QueryInvalid as error:
        mistakes.add("q", error.detail)
        return ChatFilter()


def recordings_query(pairs: Pairs) -> tuple[int | None, int]:
    """Before which recording a page ends, and how long it is."""
    mistakes = Mistakes()
    query = _Query(pairs, mistakes, known=("before", "limit"))
    found = (query.number("before"), query.limit())
    mistakes.raise_if_any()
    return found


def encode_cursor(cursor: ChatCursor) -> str:
    """Where the next page begins, as clients carry it."""
    text = f"{cursor.created_at.isoformat()} {cursor.chat_id}"
    if cursor.pin_rank is not None:
        text += f" {cursor.pin_rank!r}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> ChatCursor | None:
    """What `encode_cursor` made; None if it did not make this."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        time, chat_id, *ranks = text.split(" ")
        rank = float(ranks[0]) if ranks else None
        if len(ranks) > 1 or (rank is not None and not isfinite(rank)):
            return None
        created_at = datetime.fromisoformat(time)
        if created_at.tzinfo is None:
            return None
        return ChatCursor(
            created_at=created_at.astimezone(UTC), chat_id=ChatId(UUID(chat_id)), pin_rank=rank
        )
    except (ValueError, OverflowError, binascii.Error):
        return None


class _Query:
    def __init__(self, pairs: Pairs, mistakes: Mistakes, *, known: Iterable[str]) -> None:
        self._pairs = pairs
        self._mistakes = mistakes
        known = tuple(known)
        for name, _ in pairs:
            if name not in known:
                mistakes.add_unknown(name[:80], name, known)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def one(self, name: str) -> str | None:
        values = self.all(name)
        if len(values) > 1:
            self._mistakes.add(name, "is given more than once")
        return values[0] if values else None

    def number(self, name: str) -> int | None:
        text = self.one(name)
        if text is None:
            return None
        number = _number(text)
        if number is None:
            self._mistakes.add(name, "must be a whole number of at least 0")
        return number

    def flag(self, name: str) -> bool:
        text = self.one(name) or "false"
        if text not in ("true", "false"):
            self._mistakes.add(name, "must be true or false")
        return text == "true"

    def limit(self) -> int:
        text = self.one("limit")
        number = LIMIT_DEFAULT if text is None else _number(text)
        if number is None or not 1 <= number <= LIMIT_MAX:
            self._mistakes.add("limit", f"must be a whole number from 1 to {LIMIT_MAX}")
            return LIMIT_DEFAULT
        return number


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > _ID_MAX:
        return None
    return int(text)
