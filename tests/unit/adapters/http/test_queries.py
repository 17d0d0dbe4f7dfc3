from datetime import UTC, datetime
from uuid import UUID

import pytest

from adapters.http.queries import decode_cursor, encode_cursor, stream_query
from engine.chat.ids import ChatId

CHAT = ChatId(UUID(int=7))


def test_cursor_comes_back_as_it_was() -> None:
    at = datetime(2026, 12, 1, 6, 4, 5, 123456, tzinfo=UTC)
    cursor = decode_cursor(encode_cursor(CHAT, at))
    assert cursor is not None
    assert (cursor.chat_id, cursor.created_at) == (CHAT, at)


@pytest.mark.parametrize("cursor", ["", "x", "é", "MjAyNg", "=", "A" * 5000])
def test_what_is_no_cursor_is_none(cursor: str) -> None:
    assert decode_cursor(cursor) is None


@pytest.mark.parametrize(
    ("last_event_id", "after"), [(None, 3), ("7", 7), ("", 3), ("x", 3), ("-1", 3)]
)
def test_reconnecting_client_goes_first(last_event_id: str | None, after: int) -> None:
    assert stream_query([("after_id", "3")], last_event_id) == after
