"""What people chose or filled in, as the result of the call, and what is wrong with it (pure)."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from sys import float_info
from typing import Any, Final

from engine.chat.form import Field, FieldKind, Form

MATCHED_MAX: Final = 200
"""Characters of a text that is held against a pattern. A longer one is left to the tool."""
_PATTERN_MAX: Final = 300
_REPEATS_MAX: Final = 2
_REPEAT: Final = re.compile(r"[*+]|\{\d*,\d*\}")
_DEEP: Final = re.compile(r"\)[*+?{]|\(\?|\\[1-9]")
"""Repeated groups, look-arounds and references back: what a pattern may take for ever with."""


def answer_of_option(form: Form, index: int) -> Any:
    """The result that an option stands for. IndexError when the form has no such option."""
    if index < 0:
        raise IndexError(index)
    return form.options[index].value


def answer_of_fields(
    form: Form, values: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The result of a filled-in modal, and the problems by field name (empty when it is valid)."""
    result: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in form.fields:
        raw = values.get(field.name)
        if raw is None or raw in ("", [], ()):
            if field.required:
                problems[field.name] = "Please fill this in."
            continue
        try:
            result[field.name] = _READERS[field.kind](field, raw)
        except ValueError as error:
            problems[field.name] = str(error)
    return result, problems


def _number(field: Field, raw: Any) -> int | float:
    text = str(raw).strip()
    try:
        number = int(text) if field.kind is FieldKind.INTEGER else float(text)
    except ValueError:
        kind = "a whole number" if field.kind is FieldKind.INTEGER else "a number"
        raise ValueError(f"This must be {kind}.") from None
    # A float must hold it; JSON has integers of any length.
    if not -float_info.max <= number <= float_info.max:
        raise ValueError("This must be a number.")
    if field.minimum is not None and number < field.minimum:
        raise ValueError(f"This must be at least {field.minimum:g}.")
    if field.maximum is not None and number > field.maximum:
        raise ValueError(f"This must be at most {field.maximum:g}.")
    return number


def _boolean(_field: Field, raw: Any) -> bool:
    return str(raw).lower() in ("true", "yes", "1", "on")


def _as_text(_field: Field, raw: Any) -> str:
    return str(raw)


def _text(field: Field, raw: Any) -> str:
    text = str(raw)
    if field.fewest is not None and len(text) < field.fewest:
        raise ValueError(f"This must have at least {field.fewest} characters.")
    if field.most is not None and len(text) > field.most:
        raise ValueError(f"This must have at most {field.most} characters.")
    if field.pattern is not None and _misses(field.pattern, text):
        raise ValueError("This is not written as it is expected.")
    return text


def _misses(pattern: str, text: str) -> bool:
    """Whether a text does not match. What could take long, or is no pattern, is left to the tool."""
    is_long = len(text) > MATCHED_MAX or len(pattern) > _PATTERN_MAX
    if is_long or _DEEP.search(pattern) or len(_REPEAT.findall(pattern)) > _REPEATS_MAX:
        return False
    try:
        return re.search(pattern, text) is None
    except re.error:
        return False


def _date(_field: Field, raw: Any) -> str:
    try:
        return date.fromisoformat(str(raw).strip()).isoformat()
    except ValueError:
        raise ValueError("This must be a date, such as 2026-12-24.") from None


def _json(_field: Field, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ValueError('This must be JSON, such as {"name": "value"} or [1, 2].') from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _lines(field: Field, raw: Any) -> list[Any]:
    if isinstance(raw, list | tuple):
        return _several(field, [str(item) for item in raw])
    return _several(field, [line.strip() for line in str(raw).splitlines() if line.strip()])


def _choices(field: Field, raw: Any) -> list[Any]:
    return _several(field, [_chosen(field, item) for item in _listed(raw)])


def _listed(raw: Any) -> list[Any]:
    return list(raw) if isinstance(raw, list | tuple) else [raw]


def _several(field: Field, values: list[Any]) -> list[Any]:
    if field.fewest is not None and len(values) < field.fewest:
        raise ValueError(f"Please give at least {field.fewest}.")
    if field.most is not None and len(values) > field.most:
        raise ValueError(f"Please give at most {field.most}.")
    return values


def _chosen(field: Field, raw: Any) -> Any:
    """The option with this value; where there is none, the one that is called so."""
    for option in field.options:
        if isinstance(raw, bool) == isinstance(option.value, bool) and raw == option.value:
            return option.value
    for option in field.options:
        if raw == option.label:
            return option.value
    raise ValueError("Please choose one of the options.")


_READERS: Final[Mapping[FieldKind, Callable[[Field, Any], Any]]] = {
    FieldKind.TEXT: _text,
    FieldKind.NUMBER: _number,
    FieldKind.INTEGER: _number,
    FieldKind.BOOLEAN: _boolean,
    FieldKind.DATE: _date,
    FieldKind.CHOICE: _chosen,
    FieldKind.CHOICES: _choices,
    FieldKind.USER: _as_text,
    FieldKind.USERS: _lines,
    FieldKind.LINES: _lines,
    FieldKind.JSON: _json,
}
"""What a field of each kind takes; what it does not take raises ValueError in words for people."""
