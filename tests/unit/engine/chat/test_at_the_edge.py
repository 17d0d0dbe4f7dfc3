"""Names, passages, ranks and cells where one sign more or less makes the difference."""

from math import nextafter

import pytest

from engine.chat.details import rank_between
from engine.chat.files import NAME_BYTES_MAX, is_text, safe_name
from engine.chat.snippet import BEFORE_MAX, SNIPPET_MAX, SnippetPiece, snippet_of
from engine.chat.usage import shown_as_text


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("XXL.tar.XX", "XXL.tar.XX"),
        ("red\u2028boat\u2029", "red boat"),
        ("v1." + "x" * 300 + ".md", "v1." + "x" * 249 + ".md"),
        ("x" * 251 + " .md", "x" * 251 + " .md"),
        ("x" * 250 + ". more.md", "x" * 250 + ".md"),
        ("x" * 251 + "X more.md", "x" * 251 + "X.md"),
        (" ." + "x" * 300 + ".md", "x" * 252 + ".md"),
        ("x" * 300 + "." + "s" * 20, "x" * 234 + "." + "s" * 20),
        ("x" * 300 + "." + "s" * 21, "x" * 255),
        ("." + "s" * 300, "s" * 255),
    ],
)
def test_a_long_name_keeps_what_says_most(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert len(safe.encode()) <= NAME_BYTES_MAX


@pytest.mark.parametrize("kind", ["geo+json", "svg+xml", "openapi+yaml"])
def test_types_that_are_written_in_a_text_format_are_text(kind: str) -> None:
    assert is_text(f"application/{kind}")
    assert not is_text(f"application/{kind.upper()}x")


def test_there_is_no_rank_between_neighbours() -> None:
    one = 1.0
    two = nextafter(one, 2)
    three = nextafter(two, 2)
    assert rank_between(one, three) == two
    assert rank_between(one, two) is None
    assert rank_between(two, three) is None
    assert rank_between(two, two) is None


@pytest.mark.parametrize("cell", ["\tred", "\u00a0=1", "  +1"])
def test_what_a_spreadsheet_would_skip_or_run_is_shown(cell: str) -> None:
    assert shown_as_text(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["X=1", "\u2003=1", "\u00a0red", ""])
def test_what_no_spreadsheet_runs_is_left_alone(cell: str) -> None:
    assert shown_as_text(cell) == cell


def passage(text: str, *words: str) -> str:
    return "".join(piece.text for piece in snippet_of(text, words))


def test_a_match_at_either_end_is_a_piece_and_nothing_empty_beside_it() -> None:
    red, boat = (SnippetPiece(word, is_match=True) for word in ("red", "boat"))
    assert snippet_of("red boat", ["red", "boat"]) == (
        red,
        SnippetPiece(" ", is_match=False),
        boat,
    )


def test_a_passage_may_begin_and_end_within_a_word_that_is_longer() -> None:
    text = "-" + "=" * BEFORE_MAX + "boat " + "-" * 300
    assert passage(text, "boat") == f"…{text[1 : 1 + SNIPPET_MAX]}…"


def test_a_match_is_shown_though_no_blank_is_before_it() -> None:
    assert passage("=" * 100 + "boat sails", "boat").startswith("…" + "=" * BEFORE_MAX + "boat")


@pytest.mark.parametrize("blank", [" ", "\n"])
def test_the_end_is_the_last_blank_of_the_second_half(blank: str) -> None:
    half = SNIPPET_MAX // 2
    long = "x" * 400
    assert passage("y" * half + blank + long + blank) == "y" * half + "…"
    assert passage("y" * (half - 1) + blank + long + blank) == (
        "y" * (half - 1) + blank + "x" * half + "…"
    )
    for end in (half + 20, SNIPPET_MAX - 1):
        text = "y" * half + blank + "z" * (end - half - 1) + blank + long
        assert passage(text) == text[:end] + "…"


def test_a_match_behind_the_passage_is_not_in_it() -> None:
    text = "red boat " + "x" * 300 + " red"
    assert passage(text, "red") == text[:SNIPPET_MAX] + "…"
