"""The JSON schemas of usage, limits and groups, by name (pure)."""

from collections.abc import Mapping
from typing import Any, Final

from engine.chat.decision import LimitScope
from engine.chat.spending import LimitSource, Period
from engine.chat.usage import COLUMNS, UsageBy

Schema = Mapping[str, Any]
SCOPES: Final = ("user", "group", "channel")
_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_AMOUNT: Final = {
    "type": "integer",
    "minimum": 0,
    "description": "In millionths of the currency of the prices.",
}
_TIME: Final = {"type": "string", "format": "date-time"}
_PERIOD: Final = {"enum": [period.value for period in Period]}
_BY: Final = {"enum": [by.value for by in UsageBy]}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _answer(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _body(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_ACCOUNT: Final = _answer(spent_micros=_AMOUNT, limit_micros=_nullable(_AMOUNT))
_LIMIT: Final = _answer(scope={"enum": list(SCOPES)}, subject=_TEXT, limit_micros=_AMOUNT)

LIMIT_FACTS: Final[Mapping[str, Schema]] = {
    "scope": {
        "enum": [scope.value for scope in LimitScope],
        "description": "With usage_limit: whose limit is used up.",
    },
    "spent_micros": _AMOUNT,
    "limit_micros": _AMOUNT,
    "resets_at": _TIME,
}
"""What a problem tells of a limit beside its code."""

SPENDING_SCHEMAS: Final[Mapping[str, Schema]] = {
    "Usage": _answer(
        by=_BY,
        since=_nullable(_TIME),
        until=_nullable(_TIME),
        rows=_array(
            _answer(
                key=_nullable(_TEXT),
                **{
                    column: _nullable(_AMOUNT) if column == "cost_micros" else _NUMBER
                    for column in COLUMNS
                },
            )
        ),
        total_cost_micros=_nullable(_AMOUNT),
        is_cut={"type": "boolean"},
    ),
    "Limits": _answer(
        enabled={"type": "boolean"},
        period=_PERIOD,
        default_limit_micros=_nullable(_AMOUNT),
        organization_limit_micros=_nullable(_AMOUNT),
        limits=_array(_LIMIT),
    ),
    "LimitPolicy": _body(
        ("default_limit_micros", "organization_limit_micros"),
        enabled={"type": "boolean", "default": True},
        period={**_PERIOD, "default": Period.MONTH.value},
        default_limit_micros=_nullable(_AMOUNT),
        organization_limit_micros=_nullable(_AMOUNT),
    ),
    "NewLimit": _body(("limit_micros",), limit_micros=_AMOUNT),
    "LimitStatus": _answer(
        enabled={"type": "boolean"},
        period=_PERIOD,
        period_start=_TIME,
        resets_at=_TIME,
        source={"enum": [source.value for source in LimitSource]},
        person=_nullable(_ACCOUNT),
        channel=_nullable(_ACCOUNT),
        organization=_nullable(_ACCOUNT),
    ),
    "Groups": _answer(
        groups=_array(_answer(name=_TEXT, members=_array(_TEXT), limit_micros=_nullable(_AMOUNT)))
    ),
}
SPENDING_PATH_PARAMETERS: Final[Mapping[str, Any]] = {
    "scope": {"enum": list(SCOPES)},
    "subject": {
        "type": "string",
        "description": "An identity, a group's name, or a channel as platform:installation:channel.",
    },
    "group": {"type": "string", "description": "A group's name."},
    "identity": {"type": "string", "description": "Who, as platform:installation:id."},
}
"""What stands in paths beside numbers."""
