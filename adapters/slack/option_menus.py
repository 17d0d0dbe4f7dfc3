"""Options as Slack's menus show them (pure): all of them, however many, long or alike they are.

A menu holds a hundred. Where there are more, or where they take much room, they stay with us, and Slack
asks for those that fit what somebody types, see `found_options`.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from adapters.slack import limits
from adapters.slack.plain_labels import (
    beginning,
    distinct_labels,
    is_cut,
    label_of,
    plain_object,
    plain_text,
)
from engine.chat.form import Option

MENU_BYTES_MAX: Final = 40_000
"""What options may take of a modal; beyond it Slack asks for them."""
Value = Callable[[int], str]
"""What an option is sent back as."""
_REST_FROM: Final = 60
"""Characters of a long label after which its rest is shown below it; less than OPTION_TEXT_MAX."""


def menu(options: Sequence[Option], value: Value, *, many: bool = False) -> dict[str, Any]:
    """A select element without its action id."""
    kind = "multi_" if many else ""
    listed = [] if len(options) > limits.OPTIONS_MAX else option_objects(options, value)
    if listed and len(json.dumps(listed)) <= MENU_BYTES_MAX:
        return {
            "type": f"{kind}static_select",
            "placeholder": plain_object("Choose…", limits.PLACEHOLDER_MAX),
            "options": listed,
        }
    return {
        "type": f"{kind}external_select",
        "placeholder": plain_object("Type to search…", limits.PLACEHOLDER_MAX),
        "min_query_length": 0,
    }


def found_options(options: Sequence[Option], value: Value, typed: str) -> list[dict[str, Any]]:
    """The options that contain what was typed, those that begin with it first; as many as Slack takes."""
    typed = " ".join(typed.split()).casefold()
    places = [
        (not label.startswith(typed), index)
        for index, option in enumerate(options)
        if typed in (label := " ".join(option.label.split()).casefold())
    ]
    wanted = [index for _, index in sorted(places)[: limits.OPTIONS_MAX]]
    return option_objects([options[index] for index in wanted], lambda place: value(wanted[place]))


def option_objects(options: Sequence[Option], value: Value) -> list[dict[str, Any]]:
    """Each option as an object of a menu; what a label has no room for is said below it."""
    labels = distinct_labels([option.label for option in options], limits.OPTION_TEXT_MAX)
    return [
        _option(option.label, label, value(index))
        for index, (option, label) in enumerate(zip(options, labels, strict=True))
    ]


def _option(text: str, label: str, value: str) -> dict[str, Any]:
    shown = {"text": plain_text(label), "value": value}
    if not is_cut(text, limits.OPTION_TEXT_MAX):
        return shown
    rest = beginning(text, limits.OPTION_TEXT_MAX)[_REST_FROM:]
    return shown | {"description": plain_text(label_of(rest, limits.OPTION_DESCRIPTION_MAX))}
