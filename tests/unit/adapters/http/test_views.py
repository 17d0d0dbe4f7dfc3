from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from adapters.http import views
from adapters.http.errors import Problem, Validation
from adapters.http.stream_sse import EventWriter
from engine.chat.changes import Episode
from engine.chat.content import Message, ReasoningPart, Role, TextPart, Visibility
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    HistoryReset,
    HistoryResetReason,
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    RetryEvent,
    StatusEvent,
    TextDelta,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
ERROR = ChatError(kind=ErrorKind.AUTH, message="Authentication failed.")


def message(id_: int, text: str = "Hello") -> Message:
    return Message(
        id=MessageId(id_),
        chat_id=ChatId(UUID(int=1)),
        role=Role.ASSISTANT,
        content=(
            ReasoningPart(text="Hm.", provider="openai", signature="secret"),
            TextPart(text=text),
        ),
        created_at=NOON,
        visibility=Visibility.BOTH,
        source_key="slack:secret",
    )


def test_what_is_internal_stays_inside() -> None:
    shown = views.encode(views.message(message(1))).decode()
    assert "secret" not in shown
    assert '{"type":"reasoning","text":"Hm."}' in shown


def test_problem_has_only_what_it_knows() -> None:
    assert views.problem(Problem("not_found", "No.")) == {"code": "not_found", "message": "No."}
    full = Problem(
        "invalid_fields", "No.", detail="d", validations=[Validation(field="a", detail="b")]
    )
    assert views.problem(full) == {
        "code": "invalid_fields",
        "message": "No.",
        "detail": "d",
        "validations": [{"field": "a", "detail": "b"}],
    }


EVENTS: list[tuple[Event, str]] = [
    (StatusEvent(status=ShownStatus.PENDING, archived=False, snapshot_version=1), "status"),
    (
        PartEvent(episode=Episode(history_version=1, attempt=1), seq=1, part=TextDelta(text="Hel")),
        "part",
    ),
    (MessageEvent(message=message(1)), "message"),
    (QueueEvent(messages=()), "queue"),
    (ActionsEvent(actions=()), "actions"),
    (ErrorEvent(error=ERROR), "error"),
    (RetryEvent(retry=None), "retry"),
    (
        RetryEvent(retry=RetryState(attempt=1, delay_ms=5, retrying_at=1.5, error=ERROR)),
        "retry",
    ),
    (PreviewReset(reason=PreviewResetReason.RETRY), "preview_reset"),
    (HistoryReset(reason=HistoryResetReason.TRUNCATED), "history_reset"),
]


@pytest.mark.parametrize(("event", "kind"), EVENTS)
def test_every_event_says_its_type(event: Event, kind: str) -> None:
    body: dict[str, Any] = views.event(event)
    assert body["type"] == kind
    assert views.encode(body)


def test_id_of_the_last_message_goes_with_every_event() -> None:
    writer = EventWriter(MessageId(3))
    status = EVENTS[0][0]
    amended, new = MessageEvent(message=message(2)), MessageEvent(message=message(9))
    reset = HistoryReset(reason=HistoryResetReason.TRUNCATED, after_id=MessageId(1))
    written = writer.write([status, amended, new, status, reset, status]).decode()
    ids = [line for line in written.splitlines() if line.startswith("id: ")]
    assert ids == ["id: 3", "id: 3", "id: 9", "id: 9", "id: 1", "id: 1"]


def test_line_breaks_in_text_do_not_end_an_event() -> None:
    event = MessageEvent(message=message(1, "a\n\nb\r\nid: 7"))
    written = EventWriter(MessageId(0)).write([event]).decode()
    assert written.count("\n") == 4
    assert "\r" not in written
