"""What one text may cost, counted in the characters that are handed to the parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.markdown import Markdown
from adapters.console.pieces import LAID_OUT_MAX, MARKS_MAX, PIECE_MAX, pieces_of
from adapters.console.preview import Preview
from engine.stream.events import TextDelta


class CountingMarkdown(Markdown):
    """The real thing, which also keeps the lengths of what its parser is given."""

    def __init__(self) -> None:
        super().__init__()
        self.parsed: list[int] = []
        parse = self._parser.parse

        def counted(text: str) -> object:
            self.parsed.append(len(text))
            return parse(text)

        self._parser.parse = counted  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("mark", ["![", "[", "]", "_*", "*a ", "`", "**a", "![\n", "[]", "a\n"])
def test_hostile_text_is_shown_as_it_is_without_being_parsed(mark: str) -> None:
    markdown = CountingMarkdown()
    text = mark * (190_000 // len(mark))
    blocks = markdown.blocks(text)
    assert markdown.parsed == [], "nothing but plain text"
    shown = "".join(blocks).replace('<p class="plain">', "").replace("</p>", "")
    assert shown == text


@pytest.mark.parametrize("mark", ["![", "[", "_*", "` ", "![\n\n", "**a_ ` ["])
def test_hostile_text_that_is_short_or_has_paragraphs_is_not_parsed_either(mark: str) -> None:
    markdown = CountingMarkdown()
    markdown.blocks(mark * (PIECE_MAX // len(mark)))
    assert markdown.parsed == []


def test_one_message_has_a_share_of_the_parser() -> None:
    markdown = CountingMarkdown()
    text = "word " * 20 + "\n\n"
    markdown.blocks(text * 2000)
    assert LAID_OUT_MAX - PIECE_MAX < sum(markdown.parsed) <= LAID_OUT_MAX
    assert max(markdown.parsed) <= PIECE_MAX


def test_text_that_grows_is_not_parsed_from_the_beginning_again() -> None:
    markdown = CountingMarkdown()
    growing = Preview(markdown, reasoning=str, tool=lambda name, state: name + state)
    growing.add(TextDelta(text="word " * 20 + "\n\n"))
    for _ in range(499):
        growing.add(TextDelta(text="word " * 20 + "\n\n"))
    growing.changes()
    markdown.parsed.clear()
    growing.add(TextDelta(text="more"))
    assert growing.changes() == (500, ["<p>more</p>\n"])
    assert sum(markdown.parsed) < PIECE_MAX


def test_long_answer_with_many_closed_marks_is_laid_out() -> None:
    text = "\n".join(
        f"- **item {number}** has `code_of_{number}` and [a link]" for number in range(300)
    )
    assert [piece.is_laid_out for piece in pieces_of(text)] == [True]


def test_code_may_hold_any_marks_and_goes_on_after_a_cut() -> None:
    text = "```python\n" + "x = a[[_*\n" * (PIECE_MAX // 5) + "```\n\nThe *end*"
    pieces = pieces_of(text)
    assert all(piece.is_laid_out for piece in pieces)
    blocks = Markdown().blocks(text)
    assert [block[:4] for block in blocks] == ["<pre"] * (len(blocks) - 1) + ["<p>T"]
    assert sum(block.count("x = a[[_*") for block in blocks) == PIECE_MAX // 5


def test_marks_that_nothing_closes_are_counted_over_lines() -> None:
    assert pieces_of("*a\n" * MARKS_MAX)[0].is_laid_out
    assert not pieces_of("*a\n" * (MARKS_MAX + 1))[0].is_laid_out


@given(st.text(alphabet=st.sampled_from("a[]!*_\n "), max_size=300), st.integers(1, 400))
def test_pieces_hold_the_whole_text(unit: str, times: int) -> None:
    text = unit * times
    assert "".join(piece.text for piece in pieces_of(text)) == text


@given(st.text(alphabet=st.sampled_from("a[*_`~\n "), max_size=300), st.integers(1, 400))
def test_pieces_stay_while_the_text_grows(unit: str, times: int) -> None:
    text = unit * times
    settled = pieces_of(text)[:-1]
    assert pieces_of(text + "more")[: len(settled)] == settled
