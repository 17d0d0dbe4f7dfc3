"""What a failure, a format, a wait or a left-out file carries, to the last field."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from engine.chat.content import FilePart, Finish
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import FileId
from engine.models.anthropic_format import AnthropicFormat
from engine.models.attachments import (
    INLINE_BYTES_MAX,
    REQUEST_BYTES_MAX,
    FileData,
    GivenText,
    given_of,
    plan_files,
)
from engine.models.chat_completions_format import ChatCompletionsFormat
from engine.models.errors import Symptom, classify
from engine.models.key_policy import UnavailableReason, error_of
from engine.models.model import ModelFailure
from engine.models.parts import StreamFault, StreamResult
from engine.models.provider import ProviderConfig, Wire
from engine.models.reply_events import page_fault
from engine.models.responses_format import ResponsesFormat
from engine.models.retry import delay_seconds, retry_after_seconds
from engine.models.wire_format import WireFormat
from engine.models.wires import wire_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def provider(wire: Wire) -> ProviderConfig:
    return ProviderConfig(
        name="wren", base_url="http://h/v1", wire=wire, output_limit_field="max_output"
    )


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (Wire.CHAT_COMPLETIONS, ChatCompletionsFormat(provider="wren", output_limit_field="max_output")),
        (Wire.ANTHROPIC, AnthropicFormat(provider="wren", base_url="http://h/v1")),
        (Wire.RESPONSES, ResponsesFormat(provider="wren")),
    ],
)  # fmt: skip
def test_each_wire_is_spoken_in_its_format(wire: Wire, expected: WireFormat) -> None:
    assert wire_of(provider(wire)) == expected


def test_a_failure_holds_what_came_before_it() -> None:
    error = ChatError(kind=ErrorKind.TIMEOUT, message="too late")
    partial = StreamResult(finish=Finish.INCOMPLETE)
    failure = ModelFailure(error, partial=partial, retry_after_seconds=3.0)
    assert (str(failure), failure.error, failure.retry_after_seconds) == ("too late", error, 3.0)
    assert failure.partial is partial
    assert ModelFailure(error).partial == StreamResult()
    assert ModelFailure(error).retry_after_seconds is None


@pytest.mark.parametrize(
    ("symptom", "kind"),
    [
        (Symptom(status=500, words="overloaded"), ErrorKind.OVERLOADED),
        (Symptom(status=429, words="overloaded"), ErrorKind.OVERLOADED),
        (Symptom(status=430, words="overloaded"), ErrorKind.GENERIC),
        (Symptom(status=499), ErrorKind.CANCELED),
        (Symptom(status=500, words="request was canceled"), ErrorKind.CANCELED),
        (Symptom(status=429, words="request was canceled"), ErrorKind.RATE_LIMIT),
    ],
)
def test_words_are_believed_where_nobody_is_quoted(symptom: Symptom, kind: ErrorKind) -> None:
    error, _ = classify(symptom, provider="Wren", now=NOW)
    assert (error.kind, error.provider, error.status_code) == (kind, "Wren", symptom.status)


def test_an_error_without_a_provider_names_none() -> None:
    error, wait = classify(Symptom(words="odd"), provider="", now=NOW)
    assert (error.provider, error.detail, wait) == (None, "odd", None)


OWN_KEYS = "It is asked with people's own keys, and there is none of yours."


@pytest.mark.parametrize(
    ("reason", "given", "detail"),
    [
        (UnavailableReason.USER_API_KEY_REQUIRED, None, OWN_KEYS),
        (UnavailableReason.USER_API_KEY_REQUIRED, "It is torn.", "It is torn."),
        (UnavailableReason.MISSING_API_KEY, "It is torn.", "It is torn."),
        (UnavailableReason.PROVIDER_DISABLED, None, None),
    ],
)
def test_a_missing_key_is_told_with_what_is_known_of_it(
    reason: UnavailableReason, given: str | None, detail: str | None
) -> None:
    assert error_of(reason, provider="Wren", detail=given).detail == detail


def test_a_web_page_is_shown_from_its_beginning() -> None:
    page = b"<html>\xff" + b"x" * 3000
    assert page_fault(page) == StreamFault(
        message="the address answers with a web page, not with a model's reply",
        code="html_body",
        detail="<html>\ufffd" + "x" * 1993,
    )
    assert page_fault(b"{}") is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Sun, 01 Mar 2026 12:00:09 -0000", 9.0),
        ("Sun, 01 Mar 2026 12:00:09 GMT", 9.0),
        ("Sun, 01 Mar 2026 13:00:09 +0100", 9.0),
        ("Sun, 01 Mar 2026 11:59:59 GMT", 0.0),
    ],
)
def test_a_date_to_wait_for_is_read_in_its_own_zone(value: str, seconds: float) -> None:
    for now in (NOW, NOW.astimezone(timezone(timedelta(hours=5)))):
        assert retry_after_seconds({"Retry-After": value}, now) == seconds


def test_a_wait_is_no_longer_than_a_minute_for_its_own_sake() -> None:
    assert [delay_seconds(failures) for failures in (1, 7, 25)] == [1.0, 60.0, 60.0]


def test_a_file_without_room_is_left_out_without_its_bytes() -> None:
    part = FilePart(
        name="a.png", media_type="image/png", size=REQUEST_BYTES_MAX + 1, file_id=FileId(7)
    )
    plan = plan_files([part], {"image"}, text_bytes_max=0)
    left_out = FileData(media_type="image/png", data=b"", is_left_out=True)
    assert (plan.whole, plan.heads, plan.left_out) == ((), (), {FileId(7): left_out})


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfred\xff", "red\ufffd"),
        (b"x" * INLINE_BYTES_MAX, "x" * INLINE_BYTES_MAX),
        (
            b"\xef\xbb\xbf" + b"x" * (INLINE_BYTES_MAX - 4) + "é".encode(),
            "x" * (INLINE_BYTES_MAX - 4) + "\n[... the rest is cut ...]",
        ),
    ],
)
def test_the_text_of_a_file_is_shown_as_far_as_it_is_text(data: bytes, shown: str) -> None:
    part = FilePart(name="a.txt", media_type="text/plain", file_id=FileId(7))
    file = FileData(media_type="text/plain", data=data)
    given = given_of(part, {FileId(7): file}, set())
    assert given == GivenText(text=f"[file: a.txt]\n{shown}\n[end of a.txt]")
