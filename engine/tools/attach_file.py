"""The tool by which a model gives people a file: a table, a report, a picture that it has made."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from engine.chat.files import FILE_BYTES_MAX, FileRefusal, NewFile
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext, ToolOutput

_ENCODINGS: Final = ("text", "base64")

ATTACH_FILE_DEFINITION: Final = ToolDefinition(
    name="attach_file",
    description=(
        "Give the people in this chat a file with this content. Use it for what is meant to be "
        "kept or opened elsewhere, not for what is read here. Encode bytes as base64."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The file's name, for example report.csv."},
            "content": {"type": "string", "description": "The whole content."},
            "encoding": {
                "type": "string",
                "enum": list(_ENCODINGS),
                "description": "How content is written; text when left out.",
            },
            "media_type": {
                "type": "string",
                "description": "For example text/csv. Found out from the content when left out.",
            },
        },
        "required": ["name", "content"],
    },
    read_only=False,
)


async def _run(args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
    if context.keep_file is None:
        _refuse("Files cannot be stored here.")
    file = NewFile(
        name=_text(args, "name", required=True),
        data=_data_of(args),
        media_type=_text(args, "media_type"),
        of_any_type=True,
    )
    kept = await context.keep_file(file)
    if isinstance(kept, FileRefusal):
        _refuse(kept.detail)
    result = {
        "ok": True,
        "file_id": str(kept.id),
        "name": kept.name,
        "media_type": kept.media_type,
        "size": kept.size,
    }
    return ToolOutput(result=result, files=(kept.part,))


ATTACH_FILE: Final = LocalTool(definition=ATTACH_FILE_DEFINITION, run=_run)


def _data_of(args: Mapping[str, Any]) -> bytes:
    content = args.get("content")
    if not isinstance(content, str):
        _refuse("content must be the whole content of the file, as text.")
    encoding = args.get("encoding") or "text"
    if encoding not in _ENCODINGS:
        _refuse('encoding must be "text" or "base64".')
    if encoding == "text":
        return content.encode(errors="replace")
    if len(content) > FILE_BYTES_MAX * 3 // 2 + 1024 * 1024:
        _refuse("content is longer than any file that is taken.")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError('content is not base64; send text with encoding "text".') from None


def _text(args: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    value = args.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        _refuse(f"{name} must be text" + (", and is required." if required else "."))
    return value


def _refuse(sentence: str) -> NoReturn:
    raise ValueError(sentence)
