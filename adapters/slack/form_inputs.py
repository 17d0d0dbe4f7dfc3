"""A form's fields as the inputs of a modal (pure). What they bring back is read in buttons.py.

An input begins with what was proposed for it, if Slack would take that from a person; what it would not
take is left out, since it would refuse the whole modal.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from adapters.slack import limits
from adapters.slack.buttons import VALUE_ID, field_id
from adapters.slack.option_menus import menu, option_objects
from adapters.slack.plain_labels import plain_object
from engine.chat.form import Field, FieldKind, Option

_USER: Final = re.compile(r"(?:<@|slack:[^\s:]+:)?([UW][A-Z0-9]+)>?")
"""A user as models and programs write one: the id, a mention, or an identity."""
INITIAL_BYTES_MAX: Final = 100_000
"""What options that are chosen already may take of the view's limit."""
Element = dict[str, Any]


def input_block(index: int, field: Field) -> dict[str, Any]:
    """The block of one field; `index` is its place in the whole form."""
    block: dict[str, Any] = {
        "type": "input",
        "block_id": field_id(index),
        "label": plain_object(field.label, limits.INPUT_LABEL_MAX),
        "element": {"action_id": VALUE_ID} | _ELEMENTS[field.kind](field),
        "optional": not field.required,
    }
    if field.hint:
        block["hint"] = plain_object(field.hint, limits.INPUT_HINT_MAX)
    return block


def option_value(index: int) -> str:
    """What an option of a field is sent back as: its place, since a value may be any JSON."""
    return str(index)


def _text(field: Field) -> Element:
    longest = limits.INPUT_TEXT_MAX
    most = longest if field.most is None else max(1, min(field.most, longest))
    element: Element = {
        "type": "plain_text_input",
        "multiline": field.multiline,
        "max_length": most,
    }
    if field.fewest and field.fewest <= most:
        element["min_length"] = field.fewest
    fewest = element.get("min_length", 1)
    initial = field.initial
    if isinstance(initial, str) and fewest <= len(initial) <= most:
        is_shown = field.multiline or "\n" not in initial
        return element | ({"initial_value": initial} if is_shown else {})
    return element


def _written(field: Field) -> Element:
    """Lines and JSON are written as text; limits are of items there, not of characters."""
    initial = field.initial
    if field.kind is FieldKind.LINES and isinstance(initial, list):
        initial = "\n".join(str(item) for item in initial)
    elif initial is not None and not isinstance(initial, str):
        initial = json.dumps(initial, ensure_ascii=False)
    as_text = Field(
        name=field.name,
        label=field.label,
        kind=FieldKind.TEXT,
        initial=initial,
        multiline=True,
    )
    return _text(as_text)


def _number(field: Field) -> Element:
    is_whole = field.kind is FieldKind.INTEGER
    element: Element = {"type": "number_input", "is_decimal_allowed": not is_whole}
    low, high = field.minimum, field.maximum
    if low is not None and high is not None and low > high:
        low = high = None
    if low is not None:
        element["min_value"] = _decimal(low)
    if high is not None:
        element["max_value"] = _decimal(high)
    initial = field.initial
    if isinstance(initial, bool) or not isinstance(initial, int | float):
        return element
    is_within = (low is None or low <= initial) and (high is None or initial <= high)
    if is_within and abs(initial) < _NUMBER_MAX and (not is_whole or float(initial).is_integer()):
        element["initial_value"] = _decimal(initial)
    return element


_NUMBER_MAX: Final = 2**53
"""Beyond it a float does not tell whole numbers apart, and people do not type them."""


def _decimal(number: float) -> str:
    """A number in digits alone, as people type it."""
    return format(Decimal(f"{number:.15g}"), "f")


def _boolean(field: Field) -> Element:
    yes, no = (
        {"text": plain_object(label, limits.OPTION_TEXT_MAX), "value": value}
        for label, value in (("Yes", "true"), ("No", "false"))
    )
    element: Element = {"type": "radio_buttons", "options": [yes, no]}
    if isinstance(field.initial, bool):
        element["initial_option"] = yes if field.initial else no
    return element


def _date(field: Field) -> Element:
    initial = field.initial
    try:
        day = date.fromisoformat(initial) if isinstance(initial, str) else None
    except ValueError:
        day = None
    return {"type": "datepicker"} | ({"initial_date": day.isoformat()} if day else {})


def _user(field: Field) -> Element:
    found = _users_in([field.initial])
    return {"type": "users_select"} | ({"initial_user": found[0]} if found else {})


def _users(field: Field) -> Element:
    element: Element = {"type": "multi_users_select"} | _most_chosen(field)
    found = _users_in(field.initial if isinstance(field.initial, list) else [field.initial])
    is_shown = bool(found) and _may_be_chosen(field, len(found))
    return element | ({"initial_users": found} if is_shown else {})


def _users_in(values: list[Any]) -> list[str]:
    """The ids of users, each once; none at all where any value is not one."""
    matches = [_USER.fullmatch(value) if isinstance(value, str) else None for value in values]
    found = [match[1] for match in matches if match]
    return list(dict.fromkeys(found)) if len(found) == len(values) else []


def _choice(field: Field) -> Element:
    if not field.options:
        return _text(field)
    element = menu(field.options, option_value)
    chosen = next((i for i, o in enumerate(field.options) if _is_it(o, field.initial)), None)
    return element | ({} if chosen is None else {"initial_option": _initials(field, [chosen])[0]})


def _choices(field: Field) -> Element:
    if not field.options:
        return _text(field)
    element = menu(field.options, option_value, many=True) | _most_chosen(field)
    wanted = field.initial if isinstance(field.initial, list) else []
    chosen = [i for i, o in enumerate(field.options) if any(_is_it(o, each) for each in wanted)]
    initial = _initials(field, chosen) if _may_be_chosen(field, len(chosen)) else []
    is_shown = bool(initial) and len(json.dumps(initial)) <= INITIAL_BYTES_MAX
    return element | ({"initial_options": initial} if is_shown else {})


def _initials(field: Field, chosen: list[int]) -> list[dict[str, Any]]:
    """The chosen options exactly as the menu has them: Slack compares them."""
    objects = option_objects(field.options, option_value)
    return [objects[index] for index in chosen]


def _is_it(option: Option, value: Any) -> bool:
    return isinstance(option.value, bool) == isinstance(value, bool) and option.value == value


def _most_chosen(field: Field) -> Element:
    return {"max_selected_items": field.most} if field.most else {}


def _may_be_chosen(field: Field, count: int) -> bool:
    return not field.most or count <= field.most


_ELEMENTS: Final[Mapping[FieldKind, Callable[[Field], Element]]] = {
    FieldKind.TEXT: _text,
    FieldKind.NUMBER: _number,
    FieldKind.INTEGER: _number,
    FieldKind.BOOLEAN: _boolean,
    FieldKind.DATE: _date,
    FieldKind.CHOICE: _choice,
    FieldKind.CHOICES: _choices,
    FieldKind.USER: _user,
    FieldKind.USERS: _users,
    FieldKind.LINES: _written,
    FieldKind.JSON: _written,
}
