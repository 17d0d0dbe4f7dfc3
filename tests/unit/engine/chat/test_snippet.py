"""The passage for which a chat was found: what matches is apart, and nothing is cut within a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.snippet import SnippetPiece, snippet_of, words_of


def shown(text: str, words: list[str], **cut: bool) -> str:
    """The passage with its matches in brackets."""
    pieces = snippet_of(text, words, **cut)
    return "".join(f"[{piece.text}]" if piece.is_match else piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ("Red boat", ("red", "boat")),
        ('"lost at sea" sea', ("lost", "at", "sea")),
        ("boat -red", ("boat",)),
        ('boat -"red sail"', ("boat",)),
        ("well-known", ("well", "known")),
        ("GRÜSSE \U0001f6a4", ("grüsse",)),
    ],
)
def test_words_of_a_search(search: str, words: tuple[str, ...]) -> None:
    assert words_of(search) == words


def test_short_text_is_shown_whole() -> None:
    assert shown("The red boat, reddish.", ["red"]) == "The [red] boat, reddish."
    assert snippet_of("", ["red"]) == ()


def test_long_text_is_cut_between_words_around_the_first_match() -> None:
    text = "before " * 40 + "the boat " + "after " * 80
    passage = shown(text, ["boat"])
    assert passage.startswith("\u2026before ")
    assert "[boat]" in passage
    assert passage.endswith("after\u2026")
    assert len(passage) < 210


def test_window_of_a_longer_text_is_no_whole_text() -> None:
    assert shown("ords red boat", ["red"], is_begun=False) == "\u2026[red] boat"
    assert shown("red boat", ["red"], is_ended=False) == "[red] boat\u2026"


@given(st.text(max_size=500), st.lists(st.text(max_size=5), max_size=3))
def test_a_passage_is_a_piece_of_the_text(text: str, words: list[str]) -> None:
    pieces = snippet_of(text, words)
    assert all(piece.text for piece in pieces)
    whole = "".join(
        piece.text for piece in pieces if piece != SnippetPiece("\u2026", is_match=False)
    )
    assert whole in text or "\u2026" in text
