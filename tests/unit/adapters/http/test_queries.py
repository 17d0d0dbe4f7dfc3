import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest

from adapters.http.queries import decode_cursor, encode_cursor, stream_query
from engine.api import ChatCursor
from engine.chat.ids import ChatId

CHAT = ChatId(UUID(int=7))


def rank(text: str) -> str:
    """A cursor with this for the rank."""
    cursor = f"2026-12-01T06:04:05+00:00 {CHAT} {text}"
    return base64.urlsafe_b64encode(cursor.encode()).decode()


@pytest.mark.parametrize("rank", [None, 1.0, -0.1, 0.1 + 0.2])
def test_cursor_comes_back_as_it_was(rank: float | None) -> None:
    at = datetime(2026, 12, 1, 6, 4, 5, 123456, tzinfo=UTC)
    cursor = ChatCursor(created_at=at, chat_id=CHAT, pin_rank=rank)
    assert decode_cursor(encode_cursor(cursor)) == cursor


@pytest.mark.parametrize(
    "cursor", ["", "x", "é", "MjAyNg", "=", "A" * 5000, rank("nan"), rank("inf"), rank("1 2")]
)
def test_what_is_no_cursor_is_none(cursor: str) -> None:
    assert decode_cursor(cursor) is None


@pytest.mark.parametrize(
    ("last_event_id", "after"), [(None, 3), ("7", 7), ("", 3), ("x", 3), ("-1", 3)]
)
def test_reconnecting_client_goes_first(last_event_id: str | None, after: int) -> None:
    assert stream_query([("after_id", "3")], last_event_id) == after
