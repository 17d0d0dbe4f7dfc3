"""What a call has to pass, from what the platform allows."""

import pytest

from adapters.contract import CallRate
from adapters.delivery.call_gates import EDIT, POST, gates_of
from engine.budgets.bucket import Gate, full


def calls_in_a_minute(gate: Gate) -> int:
    """The most calls in any minute: those of a first one in which everybody hurries."""
    bucket, now, calls = full(gate, now=0.0), 0.0, 0
    while now < 60:
        bucket, calls = bucket.take(gate, now=now), calls + 1
        now += bucket.wait(gate, keep_share=0.0, now=now)
    return calls


@pytest.mark.parametrize("per_minute", [1, 2, 5, 6, 20, 50, 100, 300])
def test_no_minute_has_more_calls_than_the_platform_allows(per_minute: int) -> None:
    """D4"""
    whole, _ = gates_of("slack", "T1", EDIT, "C1", CallRate(per_minute=per_minute))
    assert per_minute * 0.8 <= calls_in_a_minute(whole) <= per_minute


def test_a_channel_is_posted_to_once_a_second() -> None:
    _, channel = gates_of("slack", "T1", POST, "C1", CallRate(per_channel_per_second=1))
    assert calls_in_a_minute(channel) in range(52, 61)


def test_a_method_without_a_rate_waits_for_nothing_but_a_pause() -> None:
    whole, channel = gates_of("slack", "T1", "rename", "C1", CallRate())
    assert calls_in_a_minute(whole) > 10_000
    assert calls_in_a_minute(channel) > 10_000


def test_installations_methods_and_channels_have_gates_of_their_own() -> None:
    rate = CallRate(per_minute=50)
    keys = {
        gate.key
        for installation in ("T1", "T2")
        for method in (EDIT, POST)
        for channel in ("C1", "C2")
        for gate in gates_of("slack", installation, method, channel, rate)
    }
    assert len(keys) == 2 * 2 * 2 + 2 * 2
