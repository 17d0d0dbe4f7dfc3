"""A chat is called by the first words that were said in it."""

import pytest

from engine.chat.title import TITLE_MAX, fallback_title


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("one", "one"),
        ("one two three four five six", "one two three four five six"),
        ("one two three four five six seven", "one two three four five six…"),
        ("one two three four five six seven eight", "one two three four five six…"),
        (" one\n\ttwo\x00three ", "one two three"),
        ("", None),
        (" \n\x00", None),
        ("x" * TITLE_MAX, "x" * TITLE_MAX),
        ("x" * (TITLE_MAX + 1), "x" * (TITLE_MAX - 1) + "…"),
        ("x" * (TITLE_MAX - 2) + " yy", "x" * (TITLE_MAX - 2) + "…"),
        (
            "x" * (TITLE_MAX - 6) + " yyyyy two three four five six",
            "x" * (TITLE_MAX - 6) + " yyyy…",
        ),
        ("x" * TITLE_MAX + " two", "x" * (TITLE_MAX - 1) + "…"),
        ("one two" + " " * 1993, "one two"),
        ("one two" + " " * 1994, "one two…"),
        (" " * 1997 + "red boat", "red…"),
        (" " * 2000 + "red", None),
    ],
)
def test_first_words_are_the_title(said: str, title: str | None) -> None:
    assert fallback_title(said) == title


def test_title_that_fills_the_room_is_cut_where_more_follows() -> None:
    words = " ".join(["thirteen-long"] * 5 + ["ten-letter"])
    assert len(words) == TITLE_MAX
    assert fallback_title(words) == words
    assert fallback_title(words + " more") == words[:-1] + "…"
    assert fallback_title(words[:-1] + " more") == words[:-1] + "…"
    assert fallback_title(words[:-10] + "        ten more") == words[:-10] + "ten…"
    short = "x" * 70 + " a b c d e"
    assert (len(short), fallback_title(short + " more")) == (TITLE_MAX, short[:-2] + "…")
