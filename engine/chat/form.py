"""The form that people are shown for a tool call: what is asked, how, and what an answer becomes.

Neutral of platforms: adapters render it as buttons, a select menu or a modal, and bring answers back
as an option's index or as raw field values.
"""

from collections.abc import Mapping
from enum import StrEnum
from sys import float_info
from typing import Any

from msgspec import Struct

BUTTONS_MAX = 5
"""Options shown as a button each; more become a select menu. One row of buttons on every platform."""
OPTIONS_MAX = 100
"""Options of a select menu, the least that a platform takes (Slack, Discord has 25 a menu)."""
QUESTION_MAX = 2000
"""Characters of a question. What follows is cut: a question is not a document."""


class FormKind(StrEnum):
    """How the question is put."""

    BUTTONS = "buttons"
    SELECT = "select"
    MODAL = "modal"


class FieldKind(StrEnum):
    """What a field of a modal takes."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    CHOICE = "choice"
    CHOICES = "choices"
    USER = "user"


class Option(Struct, frozen=True, kw_only=True):
    """One thing to choose: what is shown, and the JSON value that it stands for."""

    label: str
    value: Any


class Field(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One input of a modal."""

    name: str
    label: str
    kind: FieldKind
    required: bool = False
    hint: str = ""
    options: tuple[Option, ...] = ()
    initial: Any = None
    minimum: float | None = None
    maximum: float | None = None


class Form(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question. `options` for buttons and select, each with the whole result as its value."""

    question: str
    kind: FormKind
    options: tuple[Option, ...] = ()
    fields: tuple[Field, ...] = ()


DONE_OR_DECLINE = (
    Option(label="Done", value={"done": True}),
    Option(label="Decline", value={"done": False}),
)
"""What is offered when a tool says nothing of its result."""


def derive_form(
    *, tool_name: str, description: str, args: Mapping[str, Any], output_schema: Mapping[str, Any]
) -> Form:
    """The form for a call: from the options in its arguments, else from the tool's output schema."""
    question = _question(tool_name, description, args)
    if options := _options_of_args(args):
        return _choice(question, options)
    return _form_of_schema(question, output_schema, args)


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
            result[field.name] = _value(field, raw)
        except ValueError as error:
            problems[field.name] = str(error)
    return result, problems


def _question(tool_name: str, description: str, args: Mapping[str, Any]) -> str:
    for key in ("question", "prompt", "message", "title"):
        if isinstance(args.get(key), str) and args[key].strip():
            return str(args[key])[:QUESTION_MAX]
    return (description or tool_name)[:QUESTION_MAX]


def _options_of_args(args: Mapping[str, Any]) -> tuple[Option, ...]:
    raw = args.get("options") or args.get("choices")
    if not isinstance(raw, list):
        return ()
    options = []
    for item in raw[:OPTIONS_MAX]:
        value = item.get("value", item.get("label")) if isinstance(item, dict) else item
        label = item.get("label", value) if isinstance(item, dict) else item
        if value is not None and str(label).strip():
            options.append(Option(label=str(label), value={"answer": value}))
    return tuple(options)


def _choice(question: str, options: tuple[Option, ...]) -> Form:
    kind = FormKind.BUTTONS if len(options) <= BUTTONS_MAX else FormKind.SELECT
    return Form(question=question, kind=kind, options=options)


def _form_of_schema(question: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> Form:
    properties = schema.get("properties")
    if not schema or (schema.get("type") == "object" and not properties):
        return _choice(question, DONE_OR_DECLINE)
    if options := _options_of_schema(schema, properties):
        return _choice(question, options)
    return _modal(question, schema, args)


def _options_of_schema(schema: Mapping[str, Any], properties: Any) -> tuple[Option, ...]:
    """The options when the whole result is one choice: the schema itself, or its one property."""
    if not isinstance(properties, dict):
        return tuple(Option(label=text, value=value) for text, value in _choices_of(schema))
    if len(properties) != 1:
        return ()
    ((name, only),) = properties.items()
    return tuple(Option(label=text, value={name: value}) for text, value in _choices_of(only))


def _choices_of(schema: Any) -> list[tuple[str, Any]]:
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        return [(str(value), value) for value in schema["enum"][:OPTIONS_MAX]]
    if schema.get("type") == "boolean":
        return [("Yes", True), ("No", False)]
    return []


def _modal(question: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> Form:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {"answer": dict(schema)}
    required = schema.get("required")
    required = required if isinstance(required, list | tuple) else ()
    fields = tuple(
        _field(name, prop if isinstance(prop, dict) else {}, required=name in required, args=args)
        for name, prop in properties.items()
    )
    return Form(question=question, kind=FormKind.MODAL, fields=fields)


def _field(name: str, prop: Mapping[str, Any], *, required: bool, args: Mapping[str, Any]) -> Field:
    items = prop.get("items")
    many = prop.get("type") == "array" and isinstance(items, dict)
    choices = _choices_of(items if many else prop)
    return Field(
        name=name,
        label=str(prop.get("title") or name.replace("_", " ").capitalize()),
        kind=_field_kind(prop, many=many, choices=bool(choices)),
        required=required,
        hint=str(prop.get("description") or ""),
        options=tuple(Option(label=label, value=value) for label, value in choices),
        initial=args.get(name, prop.get("default")),
        minimum=_limit(prop.get("minimum")),
        maximum=_limit(prop.get("maximum")),
    )


def _limit(value: Any) -> float | None:
    """The limit, unless the schema's author put something else there."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        return None
    return float(value)


def _field_kind(prop: Mapping[str, Any], *, many: bool, choices: bool) -> FieldKind:
    if many and choices:
        return FieldKind.CHOICES
    if prop.get("type") == "boolean":
        return FieldKind.BOOLEAN
    if choices:
        return FieldKind.CHOICE
    if prop.get("type") in ("number", "integer"):
        return FieldKind(prop["type"])
    by_format = {"date": FieldKind.DATE, "user": FieldKind.USER}
    return by_format.get(str(prop.get("format")), FieldKind.TEXT)


def _value(field: Field, raw: Any) -> Any:
    match field.kind:
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number(field, str(raw).strip())
        case FieldKind.BOOLEAN:
            return str(raw).lower() in ("true", "yes", "1", "on")
        case FieldKind.CHOICE:
            return _chosen(field, raw)
        case FieldKind.CHOICES:
            return [_chosen(field, item) for item in (raw if isinstance(raw, list) else [raw])]
        case FieldKind.DATE | FieldKind.USER | FieldKind.TEXT:
            return str(raw)


def _number(field: Field, text: str) -> int | float:
    try:
        number = int(text) if field.kind is FieldKind.INTEGER else float(text)
    except ValueError:
        kind = "a whole number" if field.kind is FieldKind.INTEGER else "a number"
        raise ValueError(f"This must be {kind}.") from None
    if not _is_finite(number):
        raise ValueError("This must be a number.")
    if field.minimum is not None and number < field.minimum:
        raise ValueError(f"This must be at least {field.minimum:g}.")
    if field.maximum is not None and number > field.maximum:
        raise ValueError(f"This must be at most {field.maximum:g}.")
    return number


def _chosen(field: Field, raw: Any) -> Any:
    for option in field.options:
        if raw in (option.value, option.label):
            return option.value
    raise ValueError("Please choose one of the options.")


def _is_finite(number: float) -> bool:
    """Whether a float can hold it; JSON has integers of any length."""
    return -float_info.max <= number <= float_info.max
