"""The sums of token buckets."""

from hypothesis import given
from hypothesis import strategies as st

from engine.budgets.bucket import Bucket, Gate, full, owner_of, paused, shared_key


def gate(*, capacity: float = 3, per_second: float = 2) -> Gate:
    return Gate(key="{harbour}:edit", capacity=capacity, per_second=per_second)


def wait(bucket: Bucket, of: Gate, now: float, keep_share: float = 0.0) -> float:
    return bucket.wait(of, keep_share=keep_share, now=now)


def test_a_burst_passes_and_then_one_per_interval() -> None:
    bucket = full(gate(), now=0.0)
    for _ in range(3):
        assert wait(bucket, gate(), 0.0) == 0
        bucket = bucket.take(gate(), now=0.0)
    assert wait(bucket, gate(), 0.0) == 0.5
    assert wait(bucket, gate(), 0.4) > 0
    bucket = bucket.take(gate(), now=0.5)
    assert wait(bucket, gate(), 0.5) == 0.5


def test_a_bucket_fills_up_to_its_capacity_and_not_above() -> None:
    bucket = full(gate(), now=0.0).take(gate(), now=0.0)
    for _ in range(3):
        bucket = bucket.take(gate(), now=1000.0)
    assert wait(bucket, gate(), 1000.0) == 0.5


def test_calls_that_may_wait_leave_some_to_those_that_may_not() -> None:
    """D4"""
    bucket = full(gate(capacity=4), now=0.0)
    for _ in range(2):
        assert wait(bucket, gate(capacity=4), 0.0, keep_share=0.5) == 0
        bucket = bucket.take(gate(capacity=4), now=0.0)
    assert wait(bucket, gate(capacity=4), 0.0, keep_share=0.5) == 0.5
    assert wait(bucket, gate(capacity=4), 0.0) == 0


def test_a_full_bucket_lets_everybody_pass() -> None:
    for capacity in (1.0, 1.5, 10.0):
        of = gate(capacity=capacity)
        assert wait(full(of, now=0.0), of, 0.0, keep_share=1.0) == 0


def test_nobody_passes_a_paused_bucket_and_then_one_by_one() -> None:
    """D4"""
    for bucket in (full(gate(), now=0.0).pause(until=30.0), paused(until=30.0)):
        assert wait(bucket, gate(), 10.0) == 20
        assert wait(bucket, gate(), 30.0) == 0
        assert wait(bucket.take(gate(), now=30.0), gate(), 30.0) == 0.5


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    bucket = full(gate(), now=0.0).pause(until=30.0).pause(until=10.0)
    assert wait(bucket, gate(), 0.0) == 30


def test_a_clock_that_steps_back_gives_no_tokens() -> None:
    of = gate(capacity=1, per_second=1)
    bucket = full(of, now=100.0).take(of, now=100.0)
    assert wait(bucket, of, 99.0) == 2


def test_a_holder_among_several_has_its_part() -> None:
    part = gate(capacity=10, per_second=2).share(4)
    assert (part.capacity, part.per_second) == (2.5, 0.5)
    assert gate(capacity=2).share(4).capacity == 1


def test_a_bucket_that_is_full_again_need_not_be_kept() -> None:
    bucket = full(gate(), now=0.0).take(gate(), now=0.0)
    assert not bucket.is_untouched(gate(), now=0.4)
    assert bucket.is_untouched(gate(), now=0.5)
    assert not bucket.pause(until=9.0).is_untouched(gate(), now=8.0)


def test_keys_of_one_owner_begin_alike_and_those_of_others_do_not() -> None:
    assert owner_of(shared_key("slack:T1", "edit", "C1")) == owner_of(
        shared_key("slack:T1", "post")
    )
    assert owner_of(shared_key("a}b", "edit")) == "{ab}"


@given(
    capacity=st.integers(1, 20),
    per_second=st.floats(0.05, 20),
    gaps=st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_no_stretch_of_time_has_more_calls_than_the_gate_allows(
    capacity: int, per_second: float, gaps: list[float]
) -> None:
    of = gate(capacity=capacity, per_second=per_second)
    bucket, now, passed = full(of, now=0.0), 0.0, list[float]()
    for gap in gaps:
        now += gap
        if wait(bucket, of, now) == 0:
            bucket = bucket.take(of, now=now)
            passed.append(now)
    for first, began in enumerate(passed):
        for last in range(first, len(passed)):
            most = capacity + (passed[last] - began) * per_second
            assert last - first + 1 <= most + 1e-6
