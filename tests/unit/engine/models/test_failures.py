"""Classification, redaction, backoff and cost, case by case."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from engine.chat.content import Usage
from engine.models.cost import Prices, cost_micros
from engine.models.errors import Symptom, classify
from engine.models.redaction import redact
from engine.models.retry import delay_seconds, retry_after_seconds

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


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
    assert redact("the tide and the sea", ("tide", "sea")) == "the *** and the sea"


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
