"""The tree of a growing text is that of the whole text, at every length on the way."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.delivery.growing_tree import GrowingTree
from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import Leaf, LeafKind
from adapters.delivery.plain_text import clean
from tests.unit.adapters.delivery.markdown_texts import markdown_texts, markup_soup

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def assert_same_at_every_length(text: str, step: int) -> None:
    text = clean(text)
    tree = GrowingTree()
    for length in [*range(0, len(text), step), len(text)]:
        assert tuple(tree.leaves_of(text[:length])) == parse_blocks(text[:length])


@quick
@given(markdown_texts(blocks_max=6), st.sampled_from((1, 7, 50)))
def test_a_growing_document_has_the_tree_of_what_is_there(text: str, step: int) -> None:
    assert_same_at_every_length(text[:600], step)


@quick
@example("---\n\na\n***", 1).via("a rule that goes on as a paragraph")
@example("a\n\nb |\n--+", 1).via("a table whose second row goes on as text")
@example("- a\n- b |\n--|\n\nc\n", 1).via("an item above what would be a table's second row")
@example('{\n"k": 1\n}\na\n===', 1).via("JSON, and text that turns out to be a heading")
@given(markup_soup, st.sampled_from((1, 3)))
def test_growing_soup_has_the_tree_of_what_is_there(text: str, step: int) -> None:
    assert_same_at_every_length(text[:300], step)


def test_another_text_is_taken_for_what_it_is() -> None:
    tree = GrowingTree()
    tree.leaves_of("# Harbour\n\nAda\n\nBo\n\n")
    assert tuple(tree.leaves_of("Wren")) == parse_blocks("Wren")


def test_a_list_goes_on_with_its_numbers() -> None:
    tree = GrowingTree(first_number=7)
    text = ""
    for item in range(4):
        text += f"1. item {item}\n"
        tree.leaves_of(text)
    numbers = [leaf.containers[0].number for leaf in tree.leaves_of(text)]  # type: ignore[union-attr]
    assert numbers == [7, 8, 9, 10]
    assert tree.settled >= 2


@pytest.mark.parametrize(
    "unit", ["Ada sails.\n\n", "- item\n", "1. one\n", "```\nx\n```\n\n", "> quoted\n\n"]
)
def test_only_the_last_block_is_parsed_again(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0

    def counted(source: str, **numbers: int | None) -> tuple[Leaf, ...]:
        nonlocal parsed
        parsed += len(source)
        return parse_blocks(source, **numbers)  # type: ignore[arg-type]

    monkeypatch.setattr("adapters.delivery.growing_tree.parse_blocks", counted)
    tree, text = GrowingTree(), ""
    for _ in range(300):
        text += unit
        leaves = tree.leaves_of(text)
    assert all(leaf.kind in LeafKind for leaf in leaves)
    assert parsed < 6 * len(text)
