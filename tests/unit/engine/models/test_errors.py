"""Every failure of a model falls into one kind, with its text and what may be told of it."""

from datetime import UTC, datetime

import pytest

from engine.chat.errors import ChatError, ErrorKind
from engine.models.errors import (
    DETAIL_CHARACTERS_MAX,
    Symptom,
    Trouble,
    classify,
    is_context_error,
    kind_text,
)

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
K = ErrorKind


def error_of(symptom: Symptom, *, provider: str = "Harbour AI") -> ChatError:
    return classify(symptom, provider=provider, now=NOW)[0]


@pytest.mark.parametrize(
    ("status", "words", "kind", "retryable"),
    [
        (529, "", K.OVERLOADED, True),
        (503, "The engine is currently overloaded", K.OVERLOADED, True),
        (None, "overloaded_error: Overloaded", K.OVERLOADED, True),
        (400, "your text about an overloaded ship is too long", K.CONFIG, False),
        (401, "rate limit", K.AUTH, False),
        (402, "", K.AUTH, False),
        (429, "You exceeded your current quota, please check your plan", K.AUTH, False),
        (400, "Your credit balance is too low to access the API", K.AUTH, False),
        (400, "API key not valid. Please pass a valid API key.", K.AUTH, False),
        (403, "no", K.AUTH, False),
        (403, "model_not_found", K.CONFIG, False),
        (429, "", K.RATE_LIMIT, True),
        (None, "Rate limit reached for requests", K.RATE_LIMIT, True),
        (429, "maximum context length is 8192 tokens", K.CONFIG, False),
        (408, "", K.TIMEOUT, True),
        (502, "", K.TIMEOUT, True),
        (504, "", K.TIMEOUT, True),
        (522, "", K.TIMEOUT, True),
        (None, "connection reset by peer", K.TIMEOUT, True),
        (503, "unknown model", K.CONFIG, False),
        (400, "", K.CONFIG, False),
        (404, "", K.CONFIG, False),
        (422, "", K.CONFIG, False),
        (None, "the request exceeds the available context size", K.CONFIG, False),
        (500, "", K.GENERIC, True),
        (500, "prompt is too long", K.CONFIG, False),
        (418, "", K.GENERIC, False),
        (None, "model runner has unexpectedly stopped", K.GENERIC, True),
    ],
)
def test_error_is_classified_by_the_first_rule_that_holds(
    status: int | None,
    words: str,
    kind: ErrorKind,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    error = error_of(Symptom(status=status, words=words))
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
        (None, "context_length_exceeded", "Your input exceeds the context window of this model."),
        (400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
        (400, "", "input length and `max_tokens` exceed context limit: 1 + 2 > 3"),
        (400, "", "The input token count (1048577) exceeds the maximum number of tokens allowed"),
        (500, "exceed_context_size_error", "the request exceeds the available context size"),
        (400, "", "Input is too long for requested model."),
        (429, "", "Please reduce the length of the messages or completion."),
    ],
)
def test_history_that_is_too_long_is_recognised_and_not_retried(
    status: int | None, code: str, words: str
) -> None:
    error = error_of(Symptom(status=status, code=code, words=words))
    assert error.kind is K.CONFIG
    assert is_context_error(error)
    assert not error.retryable


@pytest.mark.parametrize(
    "symptom",
    [
        Symptom(status=404, words="model_not_found"),
        Symptom(status=401, words="maximum context length"),
        Symptom(status=429, words="Request too large on tokens per min (TPM): Limit 30000"),
        Symptom(trouble=Trouble.ADDRESS, words="context length"),
        Symptom(status=400, words="max_tokens is too large: 100000"),
    ],
)
def test_no_other_error_is_taken_for_a_history_that_is_too_long(symptom: Symptom) -> None:
    assert not is_context_error(error_of(symptom))


@pytest.mark.parametrize(
    ("trouble", "kind", "message", "retryable"),
    [
        (Trouble.CONNECTION, K.TIMEOUT, "Harbour AI is temporarily unavailable.", True),
        (Trouble.INCOMPLETE, K.TIMEOUT, "Harbour AI is temporarily unavailable.", True),
        (Trouble.SILENCE_TIMEOUT, K.TIMEOUT, "The request timed out before it completed.", True),
        (
            Trouble.STARTUP_TIMEOUT,
            K.STARTUP_TIMEOUT,
            "Harbour AI did not start responding in time.",
            True,
        ),
        (Trouble.CANCELED, K.CANCELED, "The request was canceled.", False),
        (Trouble.MISSING_KEY, K.MISSING_KEY, "No API key is set for Harbour AI.", False),
        (Trouble.OVERSIZE, K.GENERIC, "Harbour AI returned an unexpected error.", False),
        (
            Trouble.ADDRESS,
            K.CONFIG,
            "Harbour AI rejected the model configuration. "
            "Check the selected model and provider settings.",
            False,
        ),
    ],
)
def test_trouble_of_the_client_decides_before_any_words(
    trouble: Trouble,
    kind: ErrorKind,
    message: str,
    retryable: bool,  # noqa: FBT001 - a column of the table
) -> None:
    error = error_of(Symptom(trouble=trouble, words="401 unauthorized"))
    assert (error.kind, error.message, error.retryable) == (kind, message, retryable)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("dial tcp 10.0.0.1:503: connect failed", None),
        ("Cannot connect to host harbour.test:429 ssl:default", None),
        ("proxy [::1]:500 said no", None),
        ("dial harbour.test:404: not found", None),
        ("at most 400 items and 512 tokens", None),
        ("error, status code: 429, message: slow", 429),
        ("HTTP 503", 503),
        ("HTTP/1.1 502 Bad Gateway", 502),
        ("503 Service Unavailable", 503),
        ("upstream said (404 Not Found)", 404),
        ('{"status": 500}', 500),
        ("host:8080 answered status=401", 401),
    ],
)
def test_status_in_words_is_found_and_a_port_is_none(words: str, status: int | None) -> None:
    assert error_of(Symptom(words=words)).status_code == status


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (K.OVERLOADED, "Harbour AI is temporarily overloaded."),
        (K.RATE_LIMIT, "Harbour AI is rate limiting requests."),
        (K.TIMEOUT, "Harbour AI is temporarily unavailable."),
        (K.STARTUP_TIMEOUT, "Harbour AI did not start responding in time."),
        (
            K.AUTH,
            "Authentication with Harbour AI failed. "
            "Check the API key, permissions, and billing settings.",
        ),
        (
            K.CONFIG,
            "Harbour AI rejected the model configuration. "
            "Check the selected model and provider settings.",
        ),
        (K.USAGE_LIMIT, "The usage limit has been reached."),
        (K.MISSING_KEY, "No API key is set for Harbour AI."),
        (
            K.PROVIDER_DISABLED,
            "The Harbour AI provider has been disabled. Contact your administrator.",
        ),
        (K.CANCELED, "The request was canceled."),
        (K.GENERIC, "Harbour AI returned an unexpected error."),
    ],
)
def test_each_kind_has_its_text_with_the_name_that_people_know(
    kind: ErrorKind, message: str
) -> None:
    assert kind_text(kind, provider="Harbour AI") == message


def test_without_a_provider_nobody_is_blamed() -> None:
    unnamed = {kind: kind_text(kind, provider="") for kind in K}
    assert unnamed[K.CANCELED] == "The request was canceled."
    assert unnamed[K.USAGE_LIMIT] == "The usage limit has been reached."
    assert unnamed[K.GENERIC] == unnamed[K.AUTH] == "The chat request failed unexpectedly."


@pytest.mark.parametrize(
    ("words", "status", "kind"),
    [
        ("context canceled: overloaded", None, K.CANCELED),
        ("overloaded, unauthorized", None, K.OVERLOADED),
        ("401 Unauthorized: rate limit, timeout, model_not_found", None, K.AUTH),
        ("403 Forbidden: rate limit exceeded", None, K.AUTH),
        ("403 Forbidden: unknown model", None, K.CONFIG),
        ("rate limit: request timed out", None, K.RATE_LIMIT),
        ("rate limit, unsupported_value", None, K.CONFIG),
        ("request timed out", None, K.TIMEOUT),
        ("timed out while loading an unknown model", None, K.CONFIG),
        ("out of luck", None, K.GENERIC),
    ],
)
def test_first_rule_of_the_order_decides(words: str, status: int | None, kind: ErrorKind) -> None:
    assert error_of(Symptom(status=status, words=words)).kind is kind


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("dial tcp 10.0.0.1:401: connection refused", K.TIMEOUT),
        ("connect to harbour.test:403 failed: no such host", K.TIMEOUT),
        ("Post https://harbour.test:429/v1/responses: EOF", K.TIMEOUT),
        ("proxy harbour.test:529 gave up", K.GENERIC),
        ("[fe80::1]:400 gave up", K.GENERIC),
    ],
)
def test_port_is_never_taken_for_a_status(words: str, kind: ErrorKind) -> None:
    error = error_of(Symptom(words=words))
    assert (error.kind, error.status_code) == (kind, None)


@pytest.mark.parametrize(
    ("status", "code", "words", "detail"),
    [
        (401, "invalid_api_key", "Incorrect API key provided: hunter2.", "HTTP 401: the API key was refused"),
        (401, "", "who is hunter2?", "HTTP 401"),
        (403, "", "hunter2 lacks the permission to do this", "HTTP 403: the API key lacks a permission"),
        (402, "", "hunter2 must pay", "HTTP 402"),
        (None, "insufficient_quota", "hunter2 exceeded it", "the account has no credit or quota left"),
        (None, "authentication_error", "hunter2", None),
    ],
)  # fmt: skip
def test_refused_key_is_told_in_words_of_ours_alone(
    status: int | None, code: str, words: str, detail: str | None
) -> None:
    """E55, B25: whatever shape the key has that the provider quotes."""
    error = error_of(Symptom(status=status, code=code, words=words))
    assert error.kind is K.AUTH
    assert error.detail == detail


@pytest.mark.parametrize(
    ("words", "detail"),
    [
        ("see https://ada:pw@api.test/v1?key=abc#frag now", "see https://***@api.test/v1?*** now"),
        ("sent Bearer abcdef1234 with sk-abcdefgh12345678", "sent Bearer *** with ***"),
        ("our plainsecret leaked", "our *** leaked"),
        ("two\n lines\tof  words", "two lines of words"),
        ("", None),
        (" \n", None),
    ],
)
def test_detail_is_redacted_and_one_line(words: str, detail: str | None) -> None:
    """B25: URLs without user info and query, no keys, no bearer tokens, none of our secrets."""
    error, _ = classify(
        Symptom(status=500, words=words), provider="p", now=NOW, secrets=("plainsecret",)
    )
    assert error.detail == detail


@pytest.mark.parametrize("count", [499, 500, 501, 100_000])
def test_detail_is_never_longer_than_its_bound(count: int) -> None:
    detail = error_of(Symptom(status=500, words="ä" * count)).detail
    assert detail is not None
    assert len(detail) == min(count, DETAIL_CHARACTERS_MAX)
    assert detail.endswith("…") == (count > DETAIL_CHARACTERS_MAX)


def test_secret_at_the_cut_is_not_told_in_half() -> None:
    secret = "s3cret-" * 9
    error, _ = classify(
        Symptom(status=500, words="x" * 480 + f" {secret}"),
        provider="p",
        now=NOW,
        secrets=(secret,),
    )
    assert error.detail == "x" * 480 + " ***"
