"""How long Slack wants to be left alone."""

import pytest

from adapters.slack.retry_after import SECONDS_MAX, UNSAID_SECONDS, retry_after_seconds


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-1", UNSAID_SECONDS),
        ("", UNSAID_SECONDS),
        ("soon", UNSAID_SECONDS),
        ("nan", UNSAID_SECONDS),
        ("Tue, 01 Dec 2026 12:00:30 GMT", UNSAID_SECONDS),
        ("1000000000", SECONDS_MAX),
        ("1e400", SECONDS_MAX),
        ("inf", SECONDS_MAX),
    ],
)
def test_what_makes_no_sense_is_bounded(said: str, meant: float) -> None:
    """D4"""
    assert retry_after_seconds({"Retry-After": said}) == meant
    assert retry_after_seconds({"retry-after": [said]}) == meant


def test_without_the_header_a_moment_is_waited() -> None:
    """D4"""
    assert retry_after_seconds({"Content-Type": "application/json"}) == UNSAID_SECONDS
    assert retry_after_seconds({"Retry-After": []}) == UNSAID_SECONDS
