"""Classification, redaction, backoff and cost, case by case."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from engine.chat.content import Usage
from engine.chat.errors import ChatError, ErrorKind
from engine.models.cost import Prices, cost_micros
from engine.models.errors import Symptom, Trouble, classify, is_context_error
from engine.models.redaction import redact
from engine.models.retry import delay_seconds, retry_after_seconds

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


def test_detail_is_cut_and_without_a_provider_nobody_is_blamed() -> None:
    error = error_of(Symptom(words="word " * 1000), provider="")
    assert error.detail is not None
    assert len(error.detail) == 500
    assert error.message == "The chat request failed unexpectedly."


def test_retry_after_of_an_error_that_is_not_retried_is_dropped() -> None:
    headers = {"retry-after": "5"}
    assert classify(Symptom(status=401), provider="p", now=NOW, headers=headers)[1] is None
    assert classify(Symptom(status=429), provider="p", now=NOW, headers=headers)[1] == 5


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-proj-abcDEF123456_x-y", "key ***"),
        ("Incorrect API key provided: sk-abcd***********wxyz.", "Incorrect API key provided: ***"),
        ("xoxb-12-34-abc and xapp-1-A-2", "*** and ***"),
        ("Authorization: Bearer abcdefgh.ij-k", "Authorization: ***"),
        ("used bearer eyJhbGciOi.abc", "used bearer ***"),
        ("https://ada:pw@db.test/x?key=1&b=2#f end", "https://***@db.test/x?*** end"),
        ("postgresql://bo:se@cret@host:5432/db", "postgresql://***@host:5432/db"),
        ("https://hooks.slack.com/services/T0/B0/abcdef", "https://hooks.slack.com/services/***"),
        ("https://discord.com/api/webhooks/1/tok-en", "https://discord.com/api/webhooks/***"),
        ('{"api_key": "abcdefgh"}', '{"api_key": "***"}'),
        ("password=hunter22 ok", "password=*** ok"),
        ("/v1/models?key=abc123", "/v1/models?key=***"),
        ("ghp_abcdefghij1234 AKIAIOSFODNN7EXAMPLE", "*** ***"),
        ("eyJhbGciOiJI.eyJzdWIi.sig", "***"),
    ],
)
def test_secrets_are_masked(text: str, clean: str) -> None:
    """B25: whatever a provider or a library quotes."""
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "The task is risky; ask-me-anything about the desk-top-publisher.",
        "maximum context length is 8192 tokens, you asked for 9000 tokens",
        "model gpt-4o-mini at https://harbour.test:8443/v1/chat is unknown",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


def test_given_secrets_are_masked_wherever_they_stand() -> None:
    assert redact("a plainword b", ("plainword", "", "a")) == "a *** b"


def test_hostile_text_is_masked_in_no_time() -> None:
    for hostile in ("a-" * 4000, "x" * 8000, "https://" * 1000, "token" * 1600, "e" * 8000 + "@"):
        redact(hostile)


def test_backoff_doubles_up_to_a_minute_and_stops_after_25_retries() -> None:
    """E55: min(1 s * 2^n, 60 s), n from 0."""
    delays = [delay_seconds(n) for n in range(1, 9)]
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]
    assert delay_seconds(25) == 60
    assert delay_seconds(26) is None


def test_backoff_is_at_least_what_the_provider_asks() -> None:
    assert delay_seconds(1, 30.0) == 30
    assert delay_seconds(8, 30.0) == 60
    assert delay_seconds(8, 90.0) == 90


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"RETRY-AFTER-MS": "250", "Retry-After": "3"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 12:01:00 GMT"}, 60.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "1e99"}, 86_400.0),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


def test_cost_is_rounded_up_once() -> None:
    prices = Prices(input=Decimal("0.15"), output=Decimal("0.60"), cache_read=Decimal("0.075"))
    usage = Usage(input_tokens=1, output_tokens=1, cache_read_tokens=1)
    assert cost_micros(usage, prices) == 1
    million = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert cost_micros(million, prices) == 750_000


def test_unpriced_is_not_free() -> None:
    usage = Usage(input_tokens=5)
    assert cost_micros(usage, None) is None
    assert cost_micros(usage, Prices(output=Decimal(1))) is None
    assert cost_micros(None, Prices(input=Decimal(1))) is None
    assert cost_micros(Usage(), Prices(input=Decimal(1))) is None
    assert cost_micros(usage, Prices(input=Decimal(0))) == 0
