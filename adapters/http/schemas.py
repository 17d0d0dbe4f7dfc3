"""The JSON schemas of the API's bodies, by name (pure)."""

from collections.abc import Mapping
from typing import Any, Final

from adapters.http.auth import TokenRole
from adapters.http.errors import ProblemCode
from adapters.http.feedback_schemas import FEEDBACK_SCHEMAS
from adapters.http.provider_schemas import PROVIDER_SCHEMAS
from adapters.http.spending_schemas import LIMIT_FACTS, SPENDING_SCHEMAS
from engine.chat.commands import BusyBehavior
from engine.chat.content import Finish, Role
from engine.chat.decision import Effect, RefusalReason
from engine.chat.snapshot import Executor
from engine.chat.view import ShownStatus
from engine.chat.writes import ActionState

Schema = Mapping[str, Any]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return schema


def _answer(**properties: Schema) -> Schema:
    """An object of ours: every property is always there, and more may come."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(values: type[Any]) -> Schema:
    return {"type": "string", "enum": [value.value for value in values]}


_TEXT: Final = {"type": "string"}
_ID: Final = {"type": "integer"}
_TIME: Final = {"type": "string", "format": "date-time"}
_FLAG: Final = {"type": "boolean"}
_LABELS: Final = {"type": "object", "additionalProperties": _TEXT}
_TEXT_PART: Final = _object(("type", "text"), type={"const": "text"}, text=_TEXT)
_FILE_PART: Final = _object(
    ("type", "name", "media_type"),
    type={"const": "file"},
    name=_TEXT,
    media_type=_TEXT,
    size={"type": "integer", "minimum": 0},
)
_STORED_FILE_PART: Final = {
    "type": "object",
    "description": "A stored file; whatever else is said of it does not count.",
    "properties": {"type": {"const": "file"}, "file_id": {"type": "string", "format": "uuid"}},
    "required": ["type", "file_id"],
}
_CONTENT: Final = {
    "description": "Text, or parts.",
    "anyOf": [_TEXT, _array({"anyOf": [_TEXT_PART, _STORED_FILE_PART, _FILE_PART]})],
}
_PART: Final = {
    "type": "object",
    "description": "A part, told by its type: text, reasoning, file, tool-call or tool-result. "
    "A file that is stored has a file_id.",
    "properties": {"type": _TEXT},
    "required": ["type"],
}
_TOOL: Final = {
    "type": "object",
    "description": "A tool that people or the client answer. Schemas may be spelled inputSchema too.",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"},
        "description": _TEXT,
        "input_schema": {"type": "object"},
        "output_schema": {"type": "object"},
        "executor": {"enum": [Executor.CLIENT.value, Executor.PEOPLE.value]},
        "timeout_seconds": {"type": "number", "exclusiveMinimum": 0},
        "on_timeout": {"enum": ["continue", "error"]},
        "answerers": {
            "description": "Who of the people may answer: anyone (the default), asker, or a list of "
            "asker, identities, group:NAME and usergroup:PLATFORM:INSTALLATION:ID.",
            "oneOf": [{"type": "string"}, _array(_TEXT)],
        },
    },
    "required": ["name"],
}
_ERROR: Final = {
    "type": "object",
    "properties": {"kind": _TEXT, "message": _TEXT, "detail": _TEXT, "retryable": _FLAG},
    "required": ["kind", "message"],
}
_CODES: Final = [*(code.value for code in ProblemCode), *(reason.value for reason in RefusalReason)]

SCHEMAS: Final[Mapping[str, Schema]] = {
    "Problem": {
        "type": "object",
        "description": f"Why a request was not carried out. Codes so far: {', '.join(_CODES)}.",
        "properties": {
            "code": _TEXT,
            "message": _TEXT,
            "detail": _TEXT,
            "validations": _array(_object(("field", "detail"), field=_TEXT, detail=_TEXT)),
            **LIMIT_FACTS,
        },
        "required": ["code", "message"],
    },
    "Author": _answer(identity=_TEXT, name=_TEXT),
    "NewChat": _object(
        ("content",),
        content=_CONTENT,
        bot=_TEXT,
        title=_nullable(_TEXT),
        model=_nullable(_TEXT),
        system_prompt=_nullable(_TEXT),
        labels=_LABELS,
        dynamic_tools=_array(_TOOL),
    ),
    "ChatChange": _object(
        title=_nullable(_TEXT),
        labels=_LABELS,
        pinned=_FLAG,
        pin_order={"type": "integer", "minimum": 0},
        model=_nullable(_TEXT),
        records_calls=_FLAG,
    ),
    "ReadMark": _object(message_id=_nullable({"type": "integer", "minimum": 0})),
    "NewMessage": _object(
        ("content",), content=_CONTENT, busy_behavior={**_one_of(BusyBehavior), "default": "queue"}
    ),
    "MessageEdit": _object(
        ("content",), content=_CONTENT, rerun={"type": "boolean", "default": True}
    ),
    "QueuedEdit": _object(("content",), content=_CONTENT),
    "ToolResults": _object(
        ("results",),
        results=_array(
            _object(("tool_call_id", "result"), tool_call_id=_TEXT, result={}, is_error=_FLAG)
        ),
        message_id=_nullable({"type": "integer", "minimum": 0}),
    ),
    "ActionAnswer": {
        "description": "One of: an option's index, a form's values, any result.",
        "oneOf": [
            _object(("option",), option={"type": "integer", "minimum": 0}, is_error=_FLAG),
            _object(("values",), values={"type": "object"}, is_error=_FLAG),
            _object(("result",), result={}, is_error=_FLAG),
        ],
    },
    "NewToken": _object(("name",), name=_TEXT, role={**_one_of(TokenRole), "default": "client"}),
    "MadeToken": _answer(id=_ID, name=_TEXT, role=_one_of(TokenRole), token=_TEXT),
    "Token": _answer(
        id=_ID,
        name=_TEXT,
        role=_one_of(TokenRole),
        created_at=_TIME,
        last_used_at=_nullable(_TIME),
        revoked_at=_nullable(_TIME),
    ),
    "Tokens": _answer(tokens=_array(_ref("Token"))),
    "Chat": _answer(
        id={"type": "string", "format": "uuid"},
        bot=_TEXT,
        title=_nullable(_TEXT),
        model=_nullable(_TEXT),
        status=_one_of(ShownStatus),
        archived=_FLAG,
        labels=_LABELS,
        pin_order=_ID,
        has_unread=_FLAG,
        channel=_nullable(_TEXT),
        records_calls=_FLAG,
        owner=_nullable(_ref("Author")),
        queue_length=_ID,
        actions_deadline_at=_nullable(_TIME),
        last_error=_nullable(_ERROR),
        retry=_nullable({"type": "object"}),
        snapshot_version=_ID,
        created_at=_TIME,
        updated_at=_TIME,
    ),
    "FoundChat": {
        "allOf": [
            _ref("Chat"),
            _answer(
                snippet=_nullable(
                    {
                        **_array(_answer(text=_TEXT, is_match=_FLAG)),
                        "description": "Plain text in pieces: the passage for which it was found.",
                    }
                )
            ),
        ]
    },
    "ChatPage": _answer(chats=_array(_ref("FoundChat")), next_cursor=_nullable(_TEXT)),
    "Recording": _answer(
        id=_ID,
        kind=_TEXT,
        model=_TEXT,
        status=_TEXT,
        request={},
        response={},
        error=_nullable(_ERROR),
        started_at=_TIME,
        finished_at=_nullable(_TIME),
    ),
    "Recordings": _answer(
        recordings=_array(
            _answer(
                id=_ID,
                kind=_TEXT,
                model=_TEXT,
                status=_TEXT,
                error=_nullable(_ERROR),
                started_at=_TIME,
                finished_at=_nullable(_TIME),
            )
        ),
        has_more=_FLAG,
    ),
    "Message": _answer(
        id=_ID,
        role=_one_of(Role),
        content=_array(_PART),
        author=_nullable(_ref("Author")),
        model=_nullable(_TEXT),
        finish=_nullable(_one_of(Finish)),
        usage=_nullable({"type": "object"}),
        cost_micros=_nullable(_ID),
        runtime_ms=_nullable(_ID),
        created_at=_TIME,
    ),
    "File": _answer(
        id={"type": "string", "format": "uuid"},
        name=_TEXT,
        media_type=_TEXT,
        size=_ID,
        created_at=_TIME,
    ),
    "Files": _answer(files=_array(_ref("File"))),
    "MessagePage": _answer(messages=_array(_ref("Message")), has_more=_FLAG),
    "QueuedMessage": _answer(
        id=_ID, content=_array(_PART), author=_nullable(_ref("Author")), created_at=_TIME
    ),
    "Queue": _answer(queued_messages=_array(_ref("QueuedMessage"))),
    "Action": _answer(
        id=_ID,
        tool_call_id=_TEXT,
        tool_name=_TEXT,
        executor=_one_of(Executor),
        args=_TEXT,
        form=_nullable({"type": "object"}),
        answerers=_nullable(_answer(asker=_FLAG, people=_array(_TEXT), groups=_array(_TEXT))),
        asker=_nullable(_ref("Author")),
        state=_one_of(ActionState),
        answer={},
        answered_by=_nullable(_ref("Author")),
        deadline_at=_nullable(_TIME),
        created_at=_TIME,
        closed_at=_nullable(_TIME),
    ),
    "Actions": _answer(actions=_array(_ref("Action"))),
    "Applied": _answer(
        effect=_one_of(Effect),
        message_ids=_array(_ID),
        queued_id=_nullable(_ID),
        status=_one_of(ShownStatus),
        archived=_FLAG,
        snapshot_version=_ID,
    ),
    **FEEDBACK_SCHEMAS,
    **SPENDING_SCHEMAS,
    **PROVIDER_SCHEMAS,
    "StreamEvent": {
        "type": "object",
        "description": "What happened, told by its type: status, part, message, queue, actions, "
        "error, retry, preview_reset (drop the parts shown so far) or history_reset (drop all "
        "messages after after_id, and everything else; the full state follows).",
        "properties": {"type": _TEXT},
        "required": ["type"],
    },
}
