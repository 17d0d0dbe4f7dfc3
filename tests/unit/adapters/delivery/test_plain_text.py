"""Clean characters, blankness, grapheme clusters and widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.delivery.plain_text import (
    CleanText,
    boundary_before,
    clean,
    display_width,
    is_blank,
    is_boundary,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=80)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean("ok \ud83d bad \ude00 end") == "ok \ufffd bad \ufffd end"


def test_two_halves_that_came_apart_are_one_character() -> None:
    assert clean("\ud83d" + "\ude00") == "\U0001f600"


def test_a_half_that_may_still_be_completed_is_held_back() -> None:
    assert clean("a\ud83d", final=False) == "a"
    assert clean("a\r", final=False) == "a"
    assert clean("a\r") == "a\n"


def test_line_ends_are_line_feeds_and_controls_are_gone() -> None:
    assert clean("a\r\nb\rc\x00d\x1b[0m\te\x85f") == "a\nb\ncd[0m\te f"


@given(ANY_TEXT)
def test_cleaned_text_can_be_encoded_and_is_clean(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert clean(cleaned) == cleaned.removeprefix("\ufeff")
    assert not {"\r", "\0", "\x1b", "\x85"} & set(cleaned)


@given(ANY_TEXT, st.integers(0, 80))
def test_cleaning_a_prefix_gives_a_prefix(text: str, cut: int) -> None:
    assert clean(text).startswith(clean(text[:cut], final=False))


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u2060", "\ufeff", "\u00a0", "\u3164"])
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    """B19"""
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "\u200ba", "•", "─", "\ufffd", "🚀"])
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "👩\u200d💻",
        "👨\u200d👩\u200d👧\u200d👦",
        "🇯🇵",
        "1\ufe0f\u20e3",
        "👍🏽",
        "क्ष",
        "สำ",
        "각",
        "\u1100\u1161\u11a8",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_no_cut_is_allowed_inside_a_cluster(cluster: str) -> None:
    text = "ab" + cluster + "c"
    inside = range(3, 2 + len(cluster))
    assert [at for at in inside if is_boundary(text, at)] == []
    assert is_boundary(text, 2)
    assert is_boundary(text, 2 + len(cluster))
    assert all(boundary_before(text, at) == 2 for at in inside)


def test_a_row_of_flags_is_cut_between_flags() -> None:
    flags = "🇯🇵🇩🇪🇫🇷"
    assert [at for at in range(1, 6) if is_boundary(flags, at)] == [2, 4]


def test_a_cluster_that_never_ends_is_cut_somewhere() -> None:
    assert boundary_before("a" + "\u0301" * 500, 300) == 300


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert [display_width(text) for text in ("abc", "注文", "e\u0301", "👩\u200d💻")] == [
        3,
        4,
        1,
        2,
    ]


@pytest.mark.parametrize(
    "text", ["a\r\nb\rc", "\ufeffa\ufeffb", "a\ud83d\ude00b", "\ud83dx", "\0a\x0bb", "é\r\n"]
)
def test_a_text_that_grows_is_cleaned_as_the_whole(text: str) -> None:
    growing = CleanText()
    for length in range(len(text) + 1):
        growing = growing.grown(text[:length])
        assert growing.text == clean(text[:length], final=False)


def test_another_text_is_cleaned_afresh() -> None:
    assert CleanText().grown("harbour").grown("light\rhouse").text == "light\nhouse"
