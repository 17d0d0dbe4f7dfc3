"""Where a pinned chat stands: a rank between its neighbours', as long as there is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.details import DetailsChange, rank_between


@pytest.mark.parametrize(
    ("before", "after", "rank"),
    [(None, None, 1.0), (3.0, None, 4.0), (None, 3.0, 2.0), (1.0, 2.0, 1.5), (-2.0, -1.0, -1.5)],
)
def test_rank_stands_between_its_neighbours(
    before: float | None, after: float | None, rank: float
) -> None:
    assert rank_between(before, after) == rank


def test_no_rank_where_two_are_too_close() -> None:
    assert rank_between(1.0, 1.0) is None
    assert rank_between(2.0, 1.0) is None
    low, high = 1.0, 2.0
    moves = 0
    while (middle := rank_between(low, high)) is not None:
        high, moves = middle, moves + 1
    assert 45 < moves < 60


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_rank_is_never_outside(one: float, other: float) -> None:
    rank = rank_between(one, other)
    assert rank is None or one < rank < other


def test_zero_unpins_and_nothing_leaves_the_pin_alone() -> None:
    assert DetailsChange(pin_order=1).pins
    assert not DetailsChange(pin_order=0).pins
    assert not DetailsChange().pins
