"""Errors of a chat, as stored and shown.

ErrorKind classifies; ChatError is the value kept on the chat. Expected outcomes of commands are not
errors but Refusals, see decision.py.
"""

from enum import StrEnum

from msgspec import Struct


class ErrorKind(StrEnum):
    """What went wrong, in the terms of the retry and display rules."""

    OVERLOADED = "overloaded"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    STARTUP_TIMEOUT = "startup_timeout"
    AUTH = "auth"
    CONFIG = "config"
    USAGE_LIMIT = "usage_limit"
    MISSING_KEY = "missing_key"
    PROVIDER_DISABLED = "provider_disabled"
    CANCELED = "canceled"
    ACTION_TIMEOUT = "action_timeout"
    INTERNAL = "internal"
    GENERIC = "generic"


class ChatError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a chat is in error: `message` for people, `detail` bounded and redacted for operators.

    `context_exceeded`: the history is longer than what the model can read.
    """

    kind: ErrorKind
    message: str
    detail: str | None = None
    provider: str | None = None
    retryable: bool = False
    status_code: int | None = None
    context_exceeded: bool = False


class RetryState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A retry that is being waited for. `retrying_at` is seconds since the epoch (UTC)."""

    attempt: int
    delay_ms: int
    retrying_at: float
    error: ChatError
