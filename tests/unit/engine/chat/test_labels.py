"""What labels may look like, by bytes."""

from typing import Any

import pytest

from engine.chat.labels import label_mistakes


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"a": "b"},
        {"team/harbour.x_1-2": "\U0001f6a4"},
        {"k" * 64: "v" * 256},
        {"9": "ü" * 128},
        {f"key{number}": "x" for number in range(50)},
        {"a": "\x00"},
    ],
)
def test_labels_that_may_be(labels: dict[str, Any]) -> None:
    assert label_mistakes(labels) == []


@pytest.mark.parametrize(
    ("labels", "key", "says"),
    [
        ({"": "x"}, "", "1 to 64"),
        ({"-a": "x"}, "-a", "begins with a letter or a digit"),
        ({"a b": "x"}, "a b", "letters, digits"),
        ({"ä": "x"}, "ä", "letters, digits"),
        ({"a\n": "x"}, "a\n", "letters, digits"),
        ({"k" * 65: "x"}, "k" * 65, "1 to 64"),
        ({"a": ""}, "a", "1 to 256 bytes"),
        ({"a": "v" * 257}, "a", "1 to 256 bytes"),
        ({"a": "ü" * 129}, "a", "1 to 256 bytes"),
        ({"a": 1}, "a", "must be text"),
        ({"a": None}, "a", "must be text"),
        ({f"key{number}": "x" for number in range(51)}, None, "at most 50"),
    ],
)
def test_labels_that_may_not_be_say_how_to_mend_them(
    labels: dict[str, Any], key: str | None, says: str
) -> None:
    ((where, detail),) = label_mistakes(labels)
    assert where == key
    assert says in detail
