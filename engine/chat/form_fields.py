"""A form from what a tool's definition and a call's arguments say (pure). Whatever they hold gives a form."""

from collections.abc import Mapping
from sys import float_info
from typing import Any, Final

from engine.chat.form import (
    Field,
    FieldKind,
    Form,
    FormKind,
    Option,
    choice_form,
    question_of,
)

DONE_OR_DECLINE = (
    Option(label="Done", value={"done": True}),
    Option(label="Decline", value={"done": False}),
)
"""What is offered when a tool says nothing of its result."""
ONE_LINE_MAX: Final = 150
"""A text that may not be longer than this is written on one line."""
_ONE_LINE_FORMATS: Final = ("email", "uri", "url", "hostname", "uuid", "time", "date-time", "phone")
_COUNT_MAX: Final = 1_000_000
"""More characters or items than any answer has."""
_BY_TYPE: Final[Mapping[str, FieldKind]] = {
    "number": FieldKind.NUMBER,
    "integer": FieldKind.INTEGER,
    "array": FieldKind.JSON,
    "object": FieldKind.JSON,
}
_BY_FORMAT: Final[Mapping[str, FieldKind]] = {"date": FieldKind.DATE, "user": FieldKind.USER}


def derive_form(
    *, tool_name: str, description: str, args: Mapping[str, Any], output_schema: Mapping[str, Any]
) -> Form:
    """The form for a call: from the options in its arguments, else from the tool's output schema."""
    question = question_of(tool_name, description, args)
    if options := _options_of_args(args):
        return choice_form(question, options)
    return _form_of_schema(question, output_schema, args)


def _options_of_args(args: Mapping[str, Any]) -> tuple[Option, ...]:
    raw = args.get("options") or args.get("choices")
    if not isinstance(raw, list):
        return ()
    options = []
    for item in raw:
        value = item.get("value", item.get("label")) if isinstance(item, dict) else item
        label = item.get("label", value) if isinstance(item, dict) else item
        if value is not None and str(label).strip():
            options.append(Option(label=str(label), value={"answer": value}))
    return tuple(options)


def _form_of_schema(question: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> Form:
    properties = schema.get("properties")
    if not schema or (schema.get("type") == "object" and not properties):
        return choice_form(question, DONE_OR_DECLINE)
    if options := _options_of_schema(schema, properties):
        return choice_form(question, options)
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
        return list(zip(_enum_labels(schema), schema["enum"], strict=True))
    if titled := _titled_choices(schema):
        return titled
    if _type_of(schema) == "boolean":
        return [("Yes", True), ("No", False)]
    return []


def _enum_labels(schema: Mapping[str, Any]) -> list[str]:
    """`enumNames` where there is a name for each, as in MCP's elicitation; else the values."""
    values, names = schema["enum"], schema.get("enumNames")
    if isinstance(names, list) and len(names) == len(values):
        return [str(name) for name in names]
    return [str(value) for value in values]


def _titled_choices(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Choices that are written as constants with titles; empty where any alternative is not."""
    for key in ("oneOf", "anyOf"):
        raw = schema.get(key)
        if isinstance(raw, list) and all(isinstance(one, dict) and "const" in one for one in raw):
            return [(str(one.get("title") or one["const"]), one["const"]) for one in raw]
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
    many = _type_of(prop) == "array" and isinstance(items, dict)
    choices = _choices_of(items if many else prop)
    kind = _field_kind(prop, many=many, choices=bool(choices))
    fewest, most = _counts(prop, kind)
    return Field(
        name=name,
        label=str(prop.get("title") or name.replace("_", " ").capitalize()),
        kind=kind,
        required=required,
        hint=str(prop.get("description") or ""),
        options=tuple(Option(label=label, value=value) for label, value in choices),
        initial=args.get(name, prop.get("default")),
        minimum=_limit(prop.get("minimum")),
        maximum=_limit(prop.get("maximum")),
        fewest=fewest,
        most=most,
        pattern=_pattern(prop, kind),
        multiline=_is_multiline(prop, kind, most),
    )


def _field_kind(prop: Mapping[str, Any], *, many: bool, choices: bool) -> FieldKind:
    named = _type_of(prop)
    if named == "boolean":
        return FieldKind.BOOLEAN
    if choices:
        return FieldKind.CHOICES if many else FieldKind.CHOICE
    if many:
        return _kind_of_many(prop["items"])
    if kind := _BY_TYPE.get(named or ""):
        return kind
    return _BY_FORMAT.get(str(prop.get("format")), FieldKind.TEXT)


def _kind_of_many(items: Mapping[str, Any]) -> FieldKind:
    if _type_of(items) not in (None, "string"):
        return FieldKind.JSON
    return FieldKind.USERS if items.get("format") == "user" else FieldKind.LINES


def _counts(prop: Mapping[str, Any], kind: FieldKind) -> tuple[int | None, int | None]:
    match kind:
        case FieldKind.TEXT:
            return _count(prop.get("minLength")), _count(prop.get("maxLength"))
        case FieldKind.CHOICES | FieldKind.USERS | FieldKind.LINES:
            return _count(prop.get("minItems")), _count(prop.get("maxItems"))
        case _:
            return None, None


def _pattern(prop: Mapping[str, Any], kind: FieldKind) -> str | None:
    pattern = prop.get("pattern")
    return pattern if kind is FieldKind.TEXT and isinstance(pattern, str) else None


def _is_multiline(prop: Mapping[str, Any], kind: FieldKind, most: int | None) -> bool:
    if kind in (FieldKind.LINES, FieldKind.JSON):
        return True
    is_short = most is not None and most <= ONE_LINE_MAX
    return kind is FieldKind.TEXT and not is_short and prop.get("format") not in _ONE_LINE_FORMATS


def _type_of(schema: Mapping[str, Any]) -> str | None:
    """The type that is asked for; of several, the first that is not null."""
    named = schema.get("type")
    if isinstance(named, list | tuple):
        named = next((each for each in named if each != "null"), None)
    return named if isinstance(named, str) else None


def _count(value: Any) -> int | None:
    """A number of things, unless the schema's author put something else there."""
    limit = _limit(value)
    is_count = limit is not None and 0 <= limit <= _COUNT_MAX and limit.is_integer()
    return int(limit) if limit is not None and is_count else None


def _limit(value: Any) -> float | None:
    """The limit, unless the schema's author put something else there."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -float_info.max <= value <= float_info.max else None
