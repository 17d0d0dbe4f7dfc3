"""Owns what a person can enter in blocks: values by label, in the wire form of each element; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.slack_shown import NotShownError
from tests.fakes.slack_text import controls_in

Json = dict[str, Any]

_TEXT_TYPES = frozenset({"plain_text_input", "email_text_input", "url_text_input", "number_input"})
_DATE_FIELDS = {
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
}
_ENTITY_SELECTS = {
    "users_select": "selected_user",
    "conversations_select": "selected_conversation",
    "channels_select": "selected_channel",
    "multi_users_select": "selected_users",
    "multi_conversations_select": "selected_conversations",
    "multi_channels_select": "selected_channels",
}


class CannotSubmitError(AssertionError):
    """The Slack client itself would not let the person submit this form."""


def options_of(element: Json) -> list[Json]:
    groups = element.get("option_groups") or []
    return [*(element.get("options") or []), *(o for g in groups for o in g["options"])]


def pick_option(element: Json, wanted: str) -> Json:
    """The option with this value or label."""
    for option in options_of(element):
        if wanted in (option["value"], option["text"]["text"]):
            return option
    labels = [option["text"]["text"] for option in options_of(element)]
    raise NotShownError(f"no option {wanted!r}; shown: {labels}")


def entered(element: Json, value: object) -> Json:
    """The state entry of an element after a person entered `value`."""
    kind = element["type"]
    state: Json = {"type": kind}
    if kind in _TEXT_TYPES:
        return state | {"value": None if value is None else str(value)}
    if kind == "external_select":
        return state | {"selected_option": _found(element, value)}
    if kind == "multi_external_select":
        several = value if isinstance(value, (list, tuple)) else [value]
        return state | {"selected_options": [_found(element, v) for v in several if v is not None]}
    if kind in ("static_select", "radio_buttons", "overflow"):
        chosen = None if value is None else pick_option(element, str(value))
        return state | {"selected_option": chosen}
    if kind in ("multi_static_select", "checkboxes"):
        return state | {"selected_options": [pick_option(element, v) for v in _several(value)]}
    if kind in _DATE_FIELDS:
        return state | {_DATE_FIELDS[kind]: value}
    if kind in _ENTITY_SELECTS:
        many = kind.startswith("multi_")
        return state | {_ENTITY_SELECTS[kind]: _several(value) if many else value}
    raise NotShownError(f"a person cannot enter anything in {kind}")


def _found(element: Json, value: object) -> Json | None:
    """An option that a search brought; nobody can choose what they do not see."""
    if value is not None and not isinstance(value, dict):
        raise NotShownError(f"{value!r} must be searched for in {element['action_id']}")
    return value


def initial(element: Json) -> Json:
    """The state entry of an element nobody touched."""
    state: Json = {"type": element["type"]}
    kind = element["type"]
    if kind in _TEXT_TYPES:
        return state | {"value": element.get("initial_value")}
    if kind in _DATE_FIELDS:
        return state | {_DATE_FIELDS[kind]: element.get(f"initial_{_DATE_FIELDS[kind][9:]}")}
    if kind in _ENTITY_SELECTS:
        field = _ENTITY_SELECTS[kind]
        untouched: object = [] if kind.startswith("multi_") else None
        return state | {field: element.get(field.replace("selected_", "initial_"), untouched)}
    if kind in ("multi_static_select", "checkboxes", "multi_external_select"):
        return state | {"selected_options": element.get("initial_options", [])}
    return state | {"selected_option": element.get("initial_option")}


def fill_form(blocks: list[Json], values: Mapping[str, object]) -> Json:
    """The `state.values` of a form; `values` is keyed by label, block id or action id.

    Raises CannotSubmitError where the client would stop the person: a required field left empty,
    a text too long or too short, a number out of range; NotShownError for a key no field has.
    """
    unused = set(values)
    state: Json = {}
    for block in blocks:
        for block_id, element in controls_in([block]):
            if element["type"] in ("button", "workflow_button"):
                continue
            names = _names(block, block_id, element)
            key = next((name for name in names if name in values), None)
            entry = initial(element) if key is None else entered(element, values[key])
            unused -= set(names)
            if block["type"] == "input":
                _check_entry(block, element, entry)
            state.setdefault(block_id, {})[element["action_id"]] = entry
    if unused:
        raise NotShownError(f"the form has no field {sorted(unused)}")
    return state


def _names(block: Json, block_id: str, element: Json) -> tuple[str, ...]:
    label = block.get("label") or block.get("text") or {}
    text = label.get("text", "") if isinstance(label, dict) else ""
    return (text, block_id, element["action_id"])


def _several(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [str(entry) for entry in value]
    raise TypeError(f"expected several values, got {value!r}")


def _check_entry(block: Json, element: Json, entry: Json) -> None:
    label = block["label"]["text"]
    content = next((v for k, v in entry.items() if k != "type"), None)
    if content in (None, "", []):
        if not block.get("optional", False):
            raise CannotSubmitError(f"{label}: please complete this required field")
        return
    if isinstance(content, str):
        _check_text(label, element, content)


def _check_text(label: str, element: Json, content: str) -> None:
    if len(content) > int(element.get("max_length") or 3000):
        raise CannotSubmitError(f"{label}: too long")
    if len(content) < int(element.get("min_length") or 0):
        raise CannotSubmitError(f"{label}: too short")
    if element["type"] != "number_input":
        return
    try:
        number = float(content)
    except ValueError:
        raise CannotSubmitError(f"{label}: not a number") from None
    if not element.get("is_decimal_allowed") and not number.is_integer():
        raise CannotSubmitError(f"{label}: not a whole number")
    low = float(element.get("min_value") or "-inf")
    high = float(element.get("max_value") or "inf")
    if not low <= number <= high:
        raise CannotSubmitError(f"{label}: out of range")
