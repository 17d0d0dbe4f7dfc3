"""Log lines are JSON with a stable action, and never carry a token."""

import io
import json
import logging
import time
from collections.abc import Iterator

import pytest

from bots.logs import REDACTED, configure_logs, redact
from config.settings import LogFormat, LogLevel, LogSettings


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_line_is_json_with_action_and_extras(stream: io.StringIO) -> None:
    configure_logs(LogSettings(), stream=stream)
    logging.getLogger("engine.worker").info(
        "lease lost", extra={"action": "lease_lost", "chat_id": "c1"}
    )
    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "INFO",
        "logger": "engine.worker",
        "action": "lease_lost",
        "message": "lease lost",
        "chat_id": "c1",
    }


def test_line_of_a_third_party_has_an_action_too(stream: io.StringIO) -> None:
    configure_logs(LogSettings(), stream=stream)
    logging.getLogger("asyncio").warning("slow %s", "callback")
    assert json.loads(stream.getvalue())["action"] == "log"


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.TEXT])
def test_token_in_message_extra_or_traceback_is_masked(
    stream: io.StringIO, form: LogFormat
) -> None:
    configure_logs(LogSettings(format=form), stream=stream)
    try:
        int("no luck with xapp-1-hush")
    except ValueError:
        logging.getLogger("x").exception(
            "%s failed", "xoxb-1-hush", extra={"action": "call_failed", "key": "sk-proj-hush1234"}
        )
    assert "hush" not in stream.getvalue()
    assert REDACTED in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "xoxb-12-hush-3",
        "xoxe.xoxp-1-hush",
        "xapp-1-A-hush",
        "sk-ant-api03-hush_1",
        "Authorization: Bearer hush.1/2+3==",
        "authorization: bearer hush",
        "postgresql://wren:hush@db/x",
        "redis://:hush@h:1/0",
        "postgresql://wren:pw#hush@db/x",
        "postgresql://wren:pw/hush@db/x",
        "postgresql://wren:5/hush@db/x",
        "postgresql://wren:pw?hush@db/x",
        "postgresql://wren:pw'hush@db/x",
        "https://h/v1?api_key=hush&x=1",
        "postgresql://h/d?user=wren&Pwd=hush",
        "postgresql://h/d?passwd=hush",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GhUsHx.hushhushhushhushhushhushhush",
    ],
)
def test_everything_that_looks_like_a_token_is_masked(text: str) -> None:
    masked = redact(f"before {text} after")
    assert "hush" not in masked.lower()
    assert masked.startswith("before ")
    assert masked.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "task-force sketch",
        "see http://h:80/a?page=2 of a@b",
        "sk-1",
        "v1.2.3",
        "chat 01K:9 at 10:00",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_level_is_respected_and_noisy_libraries_are_quiet(stream: io.StringIO) -> None:
    configure_logs(LogSettings(level=LogLevel.INFO), stream=stream)
    logging.getLogger("engine").debug("unseen")
    logging.getLogger("httpx").info("unseen")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("part", ["://", "://a:", "?pass", "?", "sk-", "a."])
def test_long_line_takes_no_long_time(part: str) -> None:
    began = time.process_time()
    redact(part * (100_000 // len(part)))
    assert time.process_time() - began < 5
