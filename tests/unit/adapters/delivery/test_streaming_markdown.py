"""What of an unfinished text is shown: nothing half, nothing open, and not too little."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.delivery.plain_text import clean
from adapters.delivery.streaming_markdown import safe_length, safe_prefix
from adapters.slack.markup import render_mrkdwn
from tests.unit.adapters.delivery.markdown_texts import markdown_texts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Open emphasis and code are closed.
        ("a **bo", "a **bo**"),
        ("a **bold *it", "a **bold *it***"),
        ("~~go", "~~go~~"),
        ("use `x = 1", "use `x = 1`"),
        ("**use `x", "**use `x`**"),
        ("これは**重", "これは**重**"),
        # Half markers wait.
        ("a **", "a"),
        ("a **bold*", "a **bold**"),
        ("a **bold**", "a **bold**"),
        ("a `co`", "a `co`"),
        ("a \\", "a"),
        ("a \\\\", "a \\\\"),
        ("a\n#", "a\n"),
        ("a\n- ", "a\n"),
        ("a\n2.", "a\n"),
        ("a\n---", "a\n"),
        ("a\n==", "a\n"),
        ("a\n``", "a\n"),
        ("> a\n> -", "> a\n"),
        # Half entities, links and addresses wait.
        ("AT&", "AT"),
        ("a &am", "a"),
        ("a &amp;", "a &amp;"),
        ("a & b", "a & b"),
        ("see [the do", "see"),
        ("see [the docs]", "see"),
        ("see [the docs](https://e.com/a_", "see"),
        ('see [the docs](https://e.com "ti', "see"),
        ("see [the docs](https://e.com) x", "see [the docs](https://e.com) x"),
        ("a ![alt](data:image/png;base64,AAAA", "a"),
        ("see [1] and", "see [1] and"),
        ("see <https://e.com", "see"),
        ("see https://e.com/pa", "see"),
        ("see https://e.com/path ", "see https://e.com/path "),
        ("see http", "see"),
        ("a <@U1", "a"),
        ("a < b", "a < b"),
        ("x \\(a_1", "x"),
        ("x $$a_1", "x"),
        # A table's header waits for its second row; rows come whole.
        ("a\n\n| A | B |", "a\n\n"),
        ("a\n\n| A | B |\n", "a\n\n"),
        ("a\n\n| A | B |\n|--", "a\n\n"),
        ("| A | B |\n|---|---|\n| c | d |\n| e", "| A | B |\n|---|---|\n| c | d |\n"),
        # Fences are closed, and a half closing fence is not code.
        ("```py\nx = 1", "```py\nx = 1\n```\n"),
        ("```py\nx = 1\n", "```py\nx = 1\n```\n"),
        ("```py\nx = 1\n``", "```py\nx = 1\n```\n"),
        ("~~~\n**x", "~~~\n**x\n~~~\n"),
        ("- a\n  ```\n  x", "- a\n  ```\n  x\n  ```\n"),
        ("> ```\n> x", "> ```\n> x\n> ```\n"),
        ("```\nx\n```\ny", "```\nx\n```\ny"),
        # Complete text is shown as it is.
        ("a **b** c\n\nd", "a **b** c\n\nd"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a*b", "a*b"),
        ("", ""),
        ("\ud83d", ""),
        ("a\r", "a"),
    ],
)
def test_prefix(text: str, shown: str) -> None:
    assert safe_prefix(text) == shown


def test_an_open_bracket_does_not_hold_a_text_back_forever() -> None:
    assert safe_prefix("a [" + "harbour " * 60).startswith("a [harbour")


def test_pipes_that_are_no_table_hold_back_one_line() -> None:
    assert safe_prefix("| a |\n| b |\n| c |") == "| a |\n| b |\n"


def test_an_unclosed_formula_or_angle_is_shown_at_last() -> None:
    assert len(safe_prefix("\\(" + "x " * 300)) > 500
    assert len(safe_prefix("<" + "x" * 3000)) > 2900


@given(markdown_texts(blocks_max=4), st.integers(0, 400))
def test_what_is_shown_is_what_is_sure_and_closers(text: str, length: int) -> None:
    prefix = clean(text[:length], final=False)
    kept = safe_length(prefix)
    shown = safe_prefix(text[:length])
    assert shown.startswith(prefix[:kept])
    assert set(shown[kept:]) <= set("*_~`> \n")
    assert len(prefix) - kept < 400


@settings(max_examples=50)
@example(
    "**w0x\n\n- w1x w2x w3x\n- w4x **w5x w6x** w7x\n  - $a_1 * b$ w8x \\(x^2\\) w9x\n    1. w10x  \n"
    "w11x\\\nw12x\n    2. a * w13x * b snake_case_w14x 2*3*4 w15x\n- [x] `w16x w17x` w18x\n"
    "- [ ] ![w19x](https://example.com/i.png) w20x\n\n\n\n"
).via("an unclosed marker before a list of many levels, which takes long to lay out")
@given(markdown_texts(blocks_max=3))
def test_no_state_on_the_way_shows_open_markers(text: str) -> None:
    for length in range(0, min(len(text), 300), 3):
        shown = render_mrkdwn(safe_prefix(text[:length]))
        assert shown.count("```") % 2 == 0
        assert not shown.endswith(("[", "](", "&amp;am"))


@given(st.text(max_size=120))
def test_no_text_breaks_it(text: str) -> None:
    assert safe_length(clean(text)) <= len(clean(text))
    safe_prefix(text).encode()
