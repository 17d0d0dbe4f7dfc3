"""Whose key a model is asked with: every combination of what decides it."""

from itertools import product

import pytest

from engine.chat.errors import ErrorKind
from engine.models.key_policy import (
    CentralKey,
    KeyPolicy,
    Unavailable,
    UnavailableReason,
    UserKey,
    choose_key,
    error_of,
)

DISABLED = UnavailableReason.PROVIDER_DISABLED
REQUIRED = UnavailableReason.USER_API_KEY_REQUIRED
MISSING = UnavailableReason.MISSING_API_KEY
# enabled, user_key_allowed, has_user_key, central usable, fallback -> outcome; None: any.
TABLE: list[tuple[tuple[bool | None, ...], str]] = [
    ((False, None, None, None, None), DISABLED),
    ((True, True, True, None, None), "user"),
    ((True, False, None, True, None), "central"),
    ((True, True, False, True, True), "central"),
    ((True, True, False, True, False), REQUIRED),
    ((True, True, False, False, None), REQUIRED),
    ((True, False, None, False, None), MISSING),
]
ALL = list(product((True, False), repeat=5))


def expected(row: tuple[bool, ...]) -> str:
    (outcome,) = (
        outcome
        for pattern, outcome in TABLE
        if all(want is None or want is have for want, have in zip(pattern, row, strict=True))
    )
    return outcome


def outcome_of(policy: KeyPolicy, *, has_user_key: bool) -> str:
    match choose_key(policy, has_user_key=has_user_key):
        case UserKey():
            return "user"
        case CentralKey():
            return "central"
        case Unavailable(reason=reason):
            return reason


@pytest.mark.parametrize("row", ALL, ids=lambda row: "".join("01"[each] for each in row))
@pytest.mark.parametrize(
    ("central_key_enabled", "has_central_key", "needs_key"),
    list(product((True, False), repeat=3)),
)
def test_outcome_is_that_of_the_table(
    row: tuple[bool, ...], *, central_key_enabled: bool, has_central_key: bool, needs_key: bool
) -> None:
    enabled, allowed, has_user_key, usable, fallback = row
    policy = KeyPolicy(
        is_enabled=enabled,
        central_key_enabled=central_key_enabled,
        user_key_allowed=allowed,
        central_key_fallback=fallback,
        has_central_key=has_central_key,
        needs_key=needs_key,
    )
    is_usable = central_key_enabled and (has_central_key or not needs_key)
    assert policy.is_central_key_usable is is_usable
    if usable is is_usable:
        assert outcome_of(policy, has_user_key=has_user_key) == expected(row)


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        (DISABLED, ErrorKind.PROVIDER_DISABLED, "The Harbour provider has been disabled."),
        (REQUIRED, ErrorKind.MISSING_KEY, "No API key is set for Harbour."),
        (MISSING, ErrorKind.MISSING_KEY, "No API key is set for Harbour."),
    ],
)
def test_every_reason_has_its_sentence(
    reason: UnavailableReason, kind: ErrorKind, words: str
) -> None:
    error = error_of(reason, provider="Harbour")
    assert (error.kind, error.retryable, error.provider) == (kind, False, "Harbour")
    assert error.message.startswith(words)
