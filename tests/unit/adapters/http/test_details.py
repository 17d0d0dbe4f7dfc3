"""From requests to changes of a chat's details."""

from typing import Any

import pytest
from msgspec import UNSET

from adapters.http.details import details_change, read_mark
from adapters.http.errors import Problem
from engine.chat.details import PIN_LAST, DetailsChange


@pytest.mark.parametrize(
    ("body", "change"),
    [
        ({"title": "Boats"}, {"title": "Boats"}),
        ({"title": None}, {"title": None}),
        ({"title": " "}, {"title": None}),
        ({"labels": {}}, {"labels": {}}),
        ({"labels": {"a": "b"}}, {"labels": {"a": "b"}}),
        ({"pin_order": 0}, {"pin_order": 0}),
        ({"pin_order": 3}, {"pin_order": 3}),
        ({"pin_order": 2**62}, {"pin_order": PIN_LAST}),
        ({"pinned": True}, {"pin_order": PIN_LAST}),
        ({"pinned": False}, {"pin_order": 0}),
        ({"model": "fast"}, {"model": "fast"}),
        ({"model": None}, {"model": None}),
        ({"records_calls": True}, {"records_calls": True}),
    ],
)
def test_what_is_named_changes_and_nothing_else(body: Any, change: dict[str, Any]) -> None:
    assert details_change(body, pin_order_now=0) == DetailsChange(**change)


def test_pinning_what_is_pinned_moves_nothing() -> None:
    assert details_change({"pinned": True}, pin_order_now=2).pin_order is UNSET


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["body"]),
        ([], ["body"]),
        ({"title": 1}, ["title"]),
        ({"title": "x" * 201}, ["title"]),
        ({"colour": "red"}, ["colour"]),
        ({"labels": []}, ["labels"]),
        ({"labels": {"a b": "x", "c": ""}}, ["labels.a b", "labels.c"]),
        ({"pinned": True, "pin_order": 1}, ["pinned"]),
        ({"pin_order": -1}, ["pin_order"]),
        ({"pin_order": None}, ["pin_order"]),
        ({"pinned": "yes"}, ["pinned"]),
        ({"records_calls": 1}, ["records_calls"]),
    ],
)
def test_every_mistake_is_named(body: Any, fields: list[str]) -> None:
    with pytest.raises(Problem) as raised:
        details_change(body, pin_order_now=0)
    assert [item.field for item in raised.value.validations] == fields


def test_reading_up_to_nothing_named_is_reading_all() -> None:
    assert read_mark({}) is None
    assert read_mark({"message_id": 7}) == 7
    with pytest.raises(Problem):
        read_mark({"message_id": -1})
