"""Classify what went wrong with a model into a ChatError that people may read.

Pure. The first rule that matches decides, in this order: canceled, overloaded, strong signs of
authentication, weak ones (403) unless it is the configuration, rate limit, timeout, configuration,
generic. The message names the provider; the detail is its own words, redacted and cut, but for
authentication, where only words of ours are told: what a provider says of a key may quote it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from engine.chat.errors import ChatError, ErrorKind
from engine.models.redaction import redact
from engine.models.retry import retry_after_seconds

DETAIL_CHARACTERS_MAX: Final = 500
_WORDS_CHARACTERS_MAX: Final = 8000


class Trouble(StrEnum):
    """How a request failed, as far as the client itself can tell."""

    RESPONSE = "response"
    CONNECTION = "connection"
    STARTUP_TIMEOUT = "startup_timeout"
    SILENCE_TIMEOUT = "silence_timeout"
    INCOMPLETE = "incomplete"
    ADDRESS = "address"
    OVERSIZE = "oversize"
    MISSING_KEY = "missing_key"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """What is known of a failure. `words` and `code` come from the provider or the HTTP library.

    `status` is that of the response or of an error inside a stream; None when there is none.
    """

    trouble: Trouble = Trouble.RESPONSE
    status: int | None = None
    words: str = ""
    code: str = ""


_BY_TROUBLE: Final = {
    Trouble.CONNECTION: ErrorKind.TIMEOUT,
    Trouble.STARTUP_TIMEOUT: ErrorKind.STARTUP_TIMEOUT,
    Trouble.SILENCE_TIMEOUT: ErrorKind.TIMEOUT,
    Trouble.INCOMPLETE: ErrorKind.TIMEOUT,
    Trouble.ADDRESS: ErrorKind.CONFIG,
    Trouble.OVERSIZE: ErrorKind.GENERIC,
    Trouble.MISSING_KEY: ErrorKind.MISSING_KEY,
    Trouble.CANCELED: ErrorKind.CANCELED,
}

_TEXTS: Final = {
    ErrorKind.OVERLOADED: "{} is temporarily overloaded.",
    ErrorKind.RATE_LIMIT: "{} is rate limiting requests.",
    ErrorKind.TIMEOUT: "{} is temporarily unavailable.",
    ErrorKind.STARTUP_TIMEOUT: "{} did not start responding in time.",
    ErrorKind.AUTH: (
        "Authentication with {} failed. Check the API key, permissions, and billing settings."
    ),
    ErrorKind.CONFIG: (
        "{} rejected the model configuration. Check the selected model and provider settings."
    ),
    ErrorKind.USAGE_LIMIT: "The usage limit has been reached.",
    ErrorKind.MISSING_KEY: "No API key is set for {}.",
    ErrorKind.PROVIDER_DISABLED: "The {} provider has been disabled. Contact your administrator.",
    ErrorKind.CANCELED: "The request was canceled.",
    ErrorKind.GENERIC: "{} returned an unexpected error.",
}
_TIMED_OUT: Final = "The request timed out before it completed."
_NO_PROVIDER: Final = "The chat request failed unexpectedly."

_ALWAYS_RETRYABLE: Final = frozenset(
    {
        ErrorKind.OVERLOADED,
        ErrorKind.RATE_LIMIT,
        ErrorKind.TIMEOUT,
        ErrorKind.STARTUP_TIMEOUT,
    }
)

_CANCELED_STATUS: Final = 499
_AUTH_STATUSES: Final = frozenset({401, 402})
_CONFIG_STATUSES: Final = frozenset({400, 404, 405, 413, 415, 422})
_TIMEOUT_STATUSES: Final = frozenset({408, 502, 503, 504, 520, 521, 522, 523, 524})


def _any_of(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


_CANCELED: Final = _any_of(
    r"\bcontext cancell?ed", r"\b(?:request|operation) (?:was |has been )?(?:cancell?ed|aborted)"
)
_OVERLOADED: Final = _any_of("overloaded", "over capacity", "at capacity", "server is busy")
_AUTH: Final = _any_of(
    r"(?:invalid|incorrect|missing|expired|no|bad)[ _]api[ _-]?key",
    r"api[ _]key (?:is )?(?:not valid|invalid|expired|missing)",
    "authentication[_ ](?:error|failed)",
    "unauthenticated",
    "unauthorized",
    "insufficient_quota",
    "exceeded your current quota",
    "payment required",
    r"billing (?:hard limit|details|not active)",
    "credit balance",
)
_FORBIDDEN: Final = _any_of("forbidden", "permission[_ ](?:error|denied)")
_RATE_LIMIT: Final = _any_of("rate[ _-]?limit", "too many requests", "tokens per min")
_TIMEOUT: Final = _any_of(
    "timed? ?out",
    "deadline exceeded",
    "connection (?:reset|refused|closed)",
    r"\beof\b",
    "no such host",
    "(?:temporarily|service) unavailable",
    "bad gateway",
    "disconnected",
)
_CONTEXT: Final = _any_of(
    r"context[_ ](?:length|window|size|limit)",
    "maximum context",
    r"(?:prompt|input) is too long",
    r"input (?:length|token count|tokens) .{0,80}exceed",
    "too many (?:input|prompt) tokens",
    "reduce the length of (?:the|your) (?:messages|prompt|input)",
)
_CONFIG: Final = _any_of(
    "model[_ ]not[_ ]found",
    "unknown model",
    "invalid model",
    "unsupported[_ ](?:parameter|value|model)",
    "invalid_request_error",
    r"invalid_(?:prompt|value|type|image\w*)",
    "(?:unknown|missing_required)_parameter",
    "not_found_error",
    "request_too_large",
    "html_body",
)

_AUTH_WORDS: Final = (
    (
        _any_of("quota", "credit", "billing", "payment required"),
        "the account has no credit or quota left",
    ),
    (_any_of(r"api[ _-]?key"), "the API key was refused"),
    (_any_of("permission", "forbidden"), "the API key lacks a permission"),
)
"""What is told of a refused key instead of the provider's words: the first that fits."""

_REASONS: Final = (
    "bad request|unauthorized|payment required|forbidden|not found|request timeout|"
    "unprocessable|too many requests|internal server error|bad gateway|service unavailable|"
    "gateway time-?out|overloaded"
)
_STATUS_IN_TEXT: Final = re.compile(
    rf"(?:\b(?:status(?:[ _]?code)?|http(?:/[\d.]+)?|error code)\b[\"']?\s*[:=]?\s*|^|[\s(\[])"
    rf"(?P<named>[45]\d\d)\b(?=\s*[:,-]?\s*(?:{_REASONS}))"
    rf"|\b(?:status(?:[ _]?code)?|http(?:/[\d.]+)?|error code)\b[\"']?\s*[:=]?\s*(?P<plain>[45]\d\d)\b",
    re.IGNORECASE,
)


def classify(
    symptom: Symptom,
    *,
    provider: str,
    now: datetime,
    headers: Mapping[str, str] | None = None,
    secrets: tuple[str, ...] = (),
) -> tuple[ChatError, float | None]:
    """Return the error, and the seconds that the provider asks to wait before the next attempt.

    `provider` is the name that people know it by. `secrets` never appear in the error.
    """
    status = symptom.status or _status_in(symptom.words)
    words = f"{symptom.code} {symptom.words}"
    kind = _BY_TROUBLE.get(symptom.trouble) or _kind(status, words)
    retryable = kind in _ALWAYS_RETRYABLE or (
        kind is ErrorKind.GENERIC
        and symptom.trouble is Trouble.RESPONSE
        and (status is None or status >= 500)
    )
    error = ChatError(
        kind=kind,
        message=_TIMED_OUT
        if symptom.trouble is Trouble.SILENCE_TIMEOUT
        else kind_text(kind, provider=provider),
        detail=_auth_detail(status, words) if kind is ErrorKind.AUTH else _detail(symptom, secrets),
        provider=provider or None,
        retryable=retryable,
        status_code=status,
        context_exceeded=kind is ErrorKind.CONFIG
        and symptom.trouble is Trouble.RESPONSE
        and _CONTEXT.search(words) is not None,
    )
    wait = retry_after_seconds(headers, now) if headers and retryable else None
    return error, wait


def is_context_error(error: ChatError) -> bool:
    """Whether the same question would be answered if the history before it were shorter."""
    return error.context_exceeded


def kind_text(kind: ErrorKind, *, provider: str) -> str:
    """What people read of an error of this kind; without a provider's name nobody is blamed."""
    text = _TEXTS.get(kind, _NO_PROVIDER)
    return text.format(provider) if provider or "{}" not in text else _NO_PROVIDER


def _kind(status: int | None, words: str) -> ErrorKind:
    is_config = (
        status in _CONFIG_STATUSES
        or _CONFIG.search(words) is not None
        or _CONTEXT.search(words) is not None
    )
    # A client error may quote the user's own text, so there the word alone says nothing.
    is_no_quote = status is None or status >= 500
    may_be_load = is_no_quote or status == 429
    rules = (
        (
            status == _CANCELED_STATUS or (is_no_quote and _CANCELED.search(words)),
            ErrorKind.CANCELED,
        ),
        (status == 529 or (may_be_load and _OVERLOADED.search(words)), ErrorKind.OVERLOADED),
        (status in _AUTH_STATUSES or _AUTH.search(words), ErrorKind.AUTH),
        (not is_config and (status == 403 or _FORBIDDEN.search(words)), ErrorKind.AUTH),
        (not is_config and (status == 429 or _RATE_LIMIT.search(words)), ErrorKind.RATE_LIMIT),
        (
            not is_config and (status in _TIMEOUT_STATUSES or _TIMEOUT.search(words)),
            ErrorKind.TIMEOUT,
        ),
        (is_config, ErrorKind.CONFIG),
    )
    return next((kind for holds, kind in rules if holds), ErrorKind.GENERIC)


def _status_in(words: str) -> int | None:
    """Return a status code that the words name as one. The port of `host:503` is none."""
    found = _STATUS_IN_TEXT.search(words)
    return int(found["named"] or found["plain"]) if found else None


def _auth_detail(status: int | None, words: str) -> str | None:
    said = next((said for pattern, said in _AUTH_WORDS if pattern.search(words)), None)
    facts = [f"HTTP {status}" if status else "", said or ""]
    return ": ".join(fact for fact in facts if fact) or None


def _detail(symptom: Symptom, secrets: tuple[str, ...]) -> str | None:
    words = redact(symptom.words[:_WORDS_CHARACTERS_MAX], secrets)
    words = " ".join(words.split())
    if len(words) > DETAIL_CHARACTERS_MAX:
        words = words[: DETAIL_CHARACTERS_MAX - 1] + "…"
    return words or None
