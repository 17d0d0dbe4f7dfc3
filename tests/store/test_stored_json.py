"""Text and JSON survive the way into Postgres and back, whatever they are made of."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from engine.chat.content import Part, TextPart
from engine.store.stored_json import decode_json, decode_text, encode_json, encode_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x00\ue000\ue001\\u0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(TEXT)
@example("\x00")
@example("\\u0000")
@example("\ue000\ue001")
@example("\ue000\x00\ue001\ue000")
def test_text_comes_back_without_ever_being_stored_with_nul(text: str) -> None:
    stored = encode_text(text)

    assert "\x00" not in stored
    assert decode_text(stored) == text


@given(JSON)
def test_json_comes_back_without_ever_being_stored_with_an_escaped_nul(value: Any) -> None:
    stored = encode_json(value)

    assert all("\x00" not in text for text in _strings(json.loads(stored)))
    assert decode_json(stored) == value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)


def test_keys_are_text_like_any_other() -> None:
    value = {"a\x00b": {"\ue000": 1}}

    assert decode_json(encode_json(value)) == value


def test_text_without_anything_special_is_stored_as_it_is() -> None:
    assert encode_json({"text": "ordinary \\u0000 text"}) == b'{"text":"ordinary \\\\u0000 text"}'


def test_lone_surrogate_becomes_a_replacement_character() -> None:
    assert encode_text("a\ud800b") == "a\ufffdb"
    assert decode_json(encode_json(["a\ud800b", {"\udfff": 1}])) == ["a\ufffdb", {"\ufffd": 1}]


def test_typed_values_with_nul_come_back_typed() -> None:
    parts: tuple[Part, ...] = (TextPart(text="a\x00b"),)

    assert decode_json(encode_json(parts), tuple[Part, ...]) == parts
