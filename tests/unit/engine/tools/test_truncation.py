"""Results are cut to the model's window: never over it, never in half a character, always said."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tools.truncation import (
    RESULT_BYTES_MIN,
    RESULT_BYTES_UNKNOWN,
    result_budget,
    truncate_result,
    truncate_text,
)

BUDGET = 1000


def test_a_small_window_still_gets_something_useful() -> None:
    assert result_budget(None) == RESULT_BYTES_UNKNOWN
    assert result_budget(1000) == RESULT_BYTES_MIN
    assert result_budget(200_000) <= 200_000


@pytest.mark.parametrize("result", [None, 7, "x", {"output": "x"}, {"a": [1, "é"]}, ["x"] * 50])
def test_what_fits_is_left_alone(result: Any) -> None:
    assert truncate_result(result, BUDGET) == (result, 0)


@pytest.mark.parametrize(
    "result",
    [
        {"output": "é" * 5000},
        {"output": '\x00\n"' * 5000},
        {"output": "\x00" * 2000 + "x" * 90_000},
        {"output": "x" * 90_000 + '"' * 2000},
        {"output": "🛶" * 5000, "exit_code": 1},
        {"output": "short", "rest": "x" * 5000},
        {"rows": [{"a": '"quoted"'}] * 500},
        "wave " * 5000,
        ["\\"] * 5000,
    ],
)
def test_what_does_not_fit_is_cut_and_says_so(result: Any) -> None:
    cut_result, cut = truncate_result(result, BUDGET)
    assert cut > 0
    assert len(msgspec.json.encode(cut_result)) <= BUDGET
    assert truncate_result(cut_result, BUDGET) == (cut_result, 0)
    assert f"{cut} bytes cut" in cut_result["output"]


def test_other_fields_beside_a_long_output_stay() -> None:
    result, _ = truncate_result({"output": "x" * 9000, "exit_code": 3}, BUDGET)
    assert result["exit_code"] == 3


@given(st.text(min_size=200), st.integers(150, 600))
def test_head_and_tail_stay_and_the_budget_is_kept(text: str, budget: int) -> None:
    text = text * 5
    short, cut = truncate_text(text, budget)
    if not cut:
        assert short == text
        return
    assert len(short.encode()) <= budget
    head, _, rest = short.partition("\n[... ")
    tail = rest.partition(" ...]\n")[2]
    if "\n[... " not in text and " ...]\n" not in text:
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(text.encode()) - len(head.encode()) - len(tail.encode()) == cut
