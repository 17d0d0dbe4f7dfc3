from typing import Any

import pytest

from adapters.http.errors import Problem
from adapters.http.fields import DEPTH_MAX, Mistakes, ObjectReader, check_value


def read(raw: Any, *known: str) -> tuple[ObjectReader, Mistakes]:
    mistakes = Mistakes()
    return ObjectReader(raw, mistakes, known=known), mistakes


def told(mistakes: Mistakes) -> list[tuple[str, str]]:
    with pytest.raises(Problem) as raised:
        mistakes.raise_if_any()
    return [(item.field, item.detail) for item in raised.value.validations]


def test_object_without_mistakes_raises_nothing() -> None:
    reader, mistakes = read({"a": "x", "b": True, "c": 3}, "a", "b", "c")
    assert reader.text("a", length_max=5) == "x"
    assert reader.flag("b", default=False) is True
    assert reader.whole("c") == 3
    mistakes.raise_if_any()


def test_absent_fields_are_none_or_their_default() -> None:
    reader, mistakes = read({}, "a")
    assert reader.text("a", length_max=5) is None
    assert reader.flag("a", default=True) is True
    assert reader.whole("a") is None
    assert reader.choice("a", ("x", "y"), default="y") == "y"
    assert reader.items("a", lambda item, _path: item, count_max=3) == ()
    mistakes.raise_if_any()


@pytest.mark.parametrize("raw", ["", " \t", "toolong", 7, True, [], {}])
def test_text_is_checked(raw: Any) -> None:
    reader, mistakes = read({"a": raw}, "a")
    reader.text("a", length_max=5)
    assert [field for field, _ in told(mistakes)] == ["a"]


@pytest.mark.parametrize("raw", [-1, 1.0, True, "1", 2**63])
def test_whole_numbers_are_checked(raw: Any) -> None:
    reader, mistakes = read({"a": raw}, "a")
    assert reader.whole("a") is None
    assert [field for field, _ in told(mistakes)] == ["a"]


def test_choice_says_what_there_is() -> None:
    reader, mistakes = read({"a": "z"}, "a")
    assert reader.choice("a", ("x", "y"), default="x") == "x"
    assert told(mistakes) == [("a", "must be one of x, y")]


def test_items_are_read_with_their_paths() -> None:
    reader, mistakes = read({"a": [1, 2]}, "a")
    assert reader.items("a", lambda item, path: (item, path), count_max=2) == (
        (1, "a[0]"),
        (2, "a[1]"),
    )
    assert reader.items("a", lambda item, _path: item, count_max=1) == ()
    assert told(mistakes) == [("a", "has more than 1 items")]


def test_unknown_field_makes_it_400_whatever_else_is_wrong() -> None:
    reader, mistakes = read({"tilte": "x", "a": 1}, "title", "a")
    reader.text("a", length_max=5)
    with pytest.raises(Problem) as raised:
        mistakes.raise_if_any()
    assert raised.value.status == 400
    assert told(mistakes) == [
        ("tilte", "is not known here; did you mean title?"),
        ("a", "must be text"),
    ]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("\ud800", "v"),
        (["a", "\udc00"], "v[1]"),
        ({"k": {"m": "x\ud83d"}}, "v.k.m"),
        ({"\ud800": 1}, "v"),
    ],
)
def test_lone_surrogate_is_found_wherever_it_is(value: Any, field: str) -> None:
    mistakes = Mistakes()
    check_value(value, "v", mistakes)
    assert [found for found, _ in told(mistakes)] == [field]


def test_paired_surrogates_and_nul_are_text() -> None:
    mistakes = Mistakes()
    check_value(["\U0001f9f5", "\x00", {"\x00": "\ufffd"}], "v", mistakes)
    mistakes.raise_if_any()


@pytest.mark.parametrize(("depth", "is_fine"), [(DEPTH_MAX, True), (DEPTH_MAX + 1, False)])
def test_depth_has_an_end(depth: int, is_fine: bool) -> None:  # noqa: FBT001
    value: Any = 1
    for _ in range(depth):
        value = [value]
    mistakes = Mistakes()
    check_value(value, "v", mistakes)
    assert (mistakes.count == 0) is is_fine


def test_name_of_a_field_is_fit_to_be_shown() -> None:
    reader, mistakes = read({"\ud800" + "x" * 500: 1}, "a")
    assert reader.path("a") == "a"
    ((field, _),) = told(mistakes)
    assert field == "?" + "x" * 79
