"""A form's fields as the inputs of a modal (pure). What they bring back is read in buttons.py."""

import re
from typing import Any

from adapters.slack import limits
from adapters.slack.buttons import VALUE_ID, field_id
from adapters.slack.plain_labels import plain_object
from engine.chat.form import Field, FieldKind, Form, Option

_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_FIELDS_MAX = limits.VIEW_BLOCKS_MAX - 1


def input_blocks(form: Form) -> list[dict[str, Any]]:
    """One input block per field, in order."""
    return [_input(index, field) for index, field in enumerate(form.fields[:_FIELDS_MAX])]


def errors_of(form: Form, problems: dict[str, str]) -> dict[str, str]:
    """Problems by field name as Slack wants them: by block id."""
    return {
        field_id(index): problems[field.name]
        for index, field in enumerate(form.fields)
        if field.name in problems
    }


def _input(index: int, field: Field) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "input",
        "block_id": field_id(index),
        "label": plain_object(field.label, limits.INPUT_LABEL_MAX),
        "element": {"action_id": VALUE_ID} | _element(field),
        "optional": not field.required,
    }
    if field.hint:
        block["hint"] = plain_object(field.hint, limits.INPUT_HINT_MAX)
    return block


def _element(field: Field) -> dict[str, Any]:
    match field.kind:
        case FieldKind.TEXT:
            return _text_input(field)
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number_input(field)
        case FieldKind.BOOLEAN:
            return _boolean_input(field)
        case FieldKind.DATE:
            initial = str(field.initial or "")
            shown = {"initial_date": initial} if _DATE.fullmatch(initial) else {}
            return {"type": "datepicker"} | shown
        case FieldKind.USER:
            return {"type": "users_select"}
        case FieldKind.CHOICE | FieldKind.CHOICES:
            return _choice_input(field)


def _text_input(field: Field) -> dict[str, Any]:
    element: dict[str, Any] = {
        "type": "plain_text_input",
        "multiline": True,
        "max_length": limits.INPUT_TEXT_MAX,
    }
    if isinstance(field.initial, str) and field.initial:
        element["initial_value"] = field.initial[: limits.INPUT_TEXT_MAX]
    return element


def _number_input(field: Field) -> dict[str, Any]:
    is_whole = field.kind is FieldKind.INTEGER
    element: dict[str, Any] = {"type": "number_input", "is_decimal_allowed": not is_whole}
    if field.minimum is not None:
        element["min_value"] = f"{field.minimum:.15g}"
    if field.maximum is not None:
        element["max_value"] = f"{field.maximum:.15g}"
    if isinstance(field.initial, int | float) and not isinstance(field.initial, bool):
        element["initial_value"] = f"{field.initial:.15g}"
    return element


def _boolean_input(field: Field) -> dict[str, Any]:
    yes, no = (
        {"text": plain_object(label, limits.OPTION_TEXT_MAX), "value": value}
        for label, value in (("Yes", "true"), ("No", "false"))
    )
    element: dict[str, Any] = {"type": "radio_buttons", "options": [yes, no]}
    if isinstance(field.initial, bool):
        element["initial_option"] = yes if field.initial else no
    return element


def _choice_input(field: Field) -> dict[str, Any]:
    if not field.options:
        return _text_input(field)
    options = [_option(index, option) for index, option in enumerate(field.options)]
    options = options[: limits.OPTIONS_MAX]
    if field.kind is FieldKind.CHOICES:
        element: dict[str, Any] = {"type": "multi_static_select", "options": options}
        chosen = field.initial if isinstance(field.initial, list) else []
        initial = [options[i] for i, o in enumerate(field.options[:100]) if o.value in chosen]
        return element | ({"initial_options": initial} if initial else {})
    element = {"type": "static_select", "options": options}
    for index, option in enumerate(field.options[: limits.OPTIONS_MAX]):
        if field.initial is not None and option.value == field.initial:
            return element | {"initial_option": options[index]}
    return element


def _option(index: int, option: Option) -> dict[str, Any]:
    return {"text": plain_object(option.label, limits.OPTION_TEXT_MAX), "value": str(index)}
