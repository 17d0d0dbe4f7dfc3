"""The JSON schemas of feedback, by name (pure)."""

from collections.abc import Mapping
from typing import Any, Final

from engine.chat.feedback import FeedbackBy

NEWEST: Final = 100
BYS: Final = tuple(by.value for by in FeedbackBy)
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_COUNT: Final = {"type": "integer", "minimum": 0}


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


FEEDBACK_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Feedback": _object(
        by={"enum": list(BYS)},
        since=_nullable(_TIME),
        until=_nullable(_TIME),
        rows={"type": "array", "items": _object(key=_nullable(_TEXT), good=_COUNT, bad=_COUNT)},
        newest={
            "type": "array",
            "maxItems": NEWEST,
            "items": _object(
                chat_id={"type": "string", "format": "uuid"},
                message_id={"type": "integer"},
                identity=_TEXT,
                name=_TEXT,
                is_good={"type": "boolean"},
                comment=_TEXT,
                bot=_TEXT,
                model=_nullable(_TEXT),
                channel=_nullable(_TEXT),
                rated_at=_TIME,
            ),
        },
    )
}
