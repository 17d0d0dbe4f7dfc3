"""Owns what Slack rejects of the values that inputs begin with, as pure checks; promises a Problem for each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date
from typing import Any

from tests.fakes.slack_limits import OPTION_MAX, Problem, length_of

Json = dict[str, Any]
INPUT_TEXT_MAX = 3000


def check_initials(blocks: list[Json], known_users: Collection[str]) -> list[Problem]:
    """Everything Slack would call `invalid_arguments` about what the inputs of a modal hold already."""
    problems: list[Problem] = []
    for index, block in enumerate(blocks):
        element = block.get("element")
        if block.get("type") == "input" and isinstance(element, dict):
            at = f"/view/blocks/{index}/element"
            problems += _check_bounds(element, at)
            problems += _check_text(element, at)
            problems += _check_chosen(element, at)
            problems += _check_users(element, at, known_users)
    return problems


def _check_bounds(element: Json, at: str) -> Iterator[Problem]:
    for low, high in (("min_length", "max_length"), ("min_value", "max_value")):
        if low in element and high in element and float(element[low]) > float(element[high]):
            yield Problem(sentence=f"must not be more than {high}", pointer=f"{at}/{low}")
    for name, least in (("max_length", 1), ("max_selected_items", 1), ("min_length", 0)):
        if name in element and not least <= int(element[name]) <= INPUT_TEXT_MAX:
            yield Problem(sentence="is out of range", pointer=f"{at}/{name}")
    for name in ("min_value", "max_value"):
        if name in element and not _is_plain_number(element[name]):
            yield Problem(sentence="must be a number", pointer=f"{at}/{name}")


def _check_text(element: Json, at: str) -> Iterator[Problem]:
    if "initial_value" not in element:
        return
    value, pointer = element["initial_value"], f"{at}/initial_value"
    if not isinstance(value, str) or not value:
        yield Problem(sentence="must be a text", pointer=pointer)
    elif element["type"] == "number_input":
        yield from _check_number(element, value, pointer)
    else:
        longest = int(element.get("max_length", INPUT_TEXT_MAX))
        if not int(element.get("min_length", 0)) <= len(value) <= longest:
            yield Problem(sentence=f"must be less than {longest + 1} characters", pointer=pointer)
        if "\n" in value and not element.get("multiline"):
            yield Problem(sentence="must be one line", pointer=pointer)


def _check_number(element: Json, value: str, pointer: str) -> Iterator[Problem]:
    if not _is_plain_number(value):
        yield Problem(sentence="must be a number", pointer=pointer)
        return
    if not element.get("is_decimal_allowed") and "." in value:
        yield Problem(sentence="must be a whole number", pointer=pointer)
    low, high = element.get("min_value", "-inf"), element.get("max_value", "inf")
    if not float(low) <= float(value) <= float(high):
        yield Problem(sentence="is out of range", pointer=pointer)


def _check_chosen(element: Json, at: str) -> Iterator[Problem]:
    if "initial_date" in element:
        try:
            date.fromisoformat(element["initial_date"])
        except (TypeError, ValueError):
            yield Problem(sentence="must be a date", pointer=f"{at}/initial_date")
    chosen = element.get("initial_options", [])
    if "initial_options" in element and not chosen:
        yield Problem(sentence="no fewer than 1 items allowed", pointer=f"{at}/initial_options")
    if len(chosen) > int(element.get("max_selected_items", len(chosen) or 1)):
        yield Problem(sentence="too many items", pointer=f"{at}/initial_options")
    for option in [*chosen, *([element["initial_option"]] if "initial_option" in element else [])]:
        if "options" in element and option not in element["options"]:
            yield Problem(sentence="must be one of the options", pointer=f"{at}/initial_option")
        for name, most in OPTION_MAX.items():
            if (length_of(option.get(name)) or 0) > most:
                yield Problem(sentence=f"must be less than {most + 1}", pointer=f"{at}/{name}")


def _check_users(element: Json, at: str, known: Collection[str]) -> Iterator[Problem]:
    named = [element["initial_user"]] if "initial_user" in element else []
    for user_id in [*named, *element.get("initial_users", [])]:
        if user_id not in known:
            yield Problem(sentence="must be a user that can be seen", pointer=f"{at}/initial_user")


def _is_plain_number(value: object) -> bool:
    if not isinstance(value, str) or not set(value) <= set("-0123456789."):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
