"""Files as the API speaks of them (pure but for one look-up): names, refusals, parts of messages."""

from collections.abc import Mapping
from dataclasses import replace
from email.message import Message
from typing import Any, Final, TypeVar
from uuid import UUID

from adapters.http.errors import Problem, ProblemCode, Validation, not_found
from adapters.http.fields import Mistakes
from adapters.http.queries import Pairs
from engine.api import Engine
from engine.chat.commands import CreateChat, EditMessage, EditQueuedMessage, SendMessage
from engine.chat.content import FilePart
from engine.chat.files import FileInfo, FileRefusal, FileRefusalReason
from engine.chat.ids import FileId

Speaking = TypeVar("Speaking", CreateChat, SendMessage, EditMessage, EditQueuedMessage)
_CODES: Final[Mapping[FileRefusalReason, ProblemCode]] = {
    FileRefusalReason.EMPTY: ProblemCode.INVALID_FIELDS,
    FileRefusalReason.TOO_LARGE: ProblemCode.BODY_TOO_LARGE,
    FileRefusalReason.TYPE_MISMATCH: ProblemCode.INVALID_FIELDS,
    FileRefusalReason.TYPE_NOT_ALLOWED: ProblemCode.UNSUPPORTED_MEDIA_TYPE,
    FileRefusalReason.TOO_MANY: ProblemCode.INVALID_FIELDS,
    FileRefusalReason.STORE_FULL: ProblemCode.STORAGE_FULL,
}
_FIELDS: Final = {
    FileRefusalReason.EMPTY: "body",
    FileRefusalReason.TYPE_MISMATCH: "Content-Type",
}


def problem_of_file(refusal: FileRefusal) -> Problem:
    """The problem that tells a client why its file was not stored."""
    field = _FIELDS.get(refusal.reason)
    return Problem(
        _CODES[refusal.reason],
        "The file was not stored.",
        detail=refusal.detail,
        validations=(Validation(field=field, detail=refusal.detail),) if field else (),
    )


def name_of_upload(pairs: Pairs, disposition: str | None) -> str:
    """What an upload is to be called: by the query, else by its Content-Disposition."""
    mistakes = Mistakes()
    for key, _ in pairs:
        if key != "name":
            mistakes.add_unknown(key[:80], key, ("name",))
    names = [value for key, value in pairs if key == "name"]
    if len(names) > 1:
        mistakes.add("name", "is given more than once")
    mistakes.raise_if_any()
    return names[0] if names else _name_in(disposition or "")


def file_id_of(path: Mapping[str, str]) -> FileId:
    """The file that a path names."""
    try:
        return FileId(UUID(path["file_id"]))
    except ValueError:
        raise not_found("file") from None


def shown(info: FileInfo) -> dict[str, Any]:
    """A file without its bytes."""
    return {
        "id": str(info.id),
        "name": info.name,
        "media_type": info.media_type,
        "size": info.size,
        "created_at": info.created_at.isoformat(),
    }


async def with_stored_files(engine: Engine, command: Speaking) -> Speaking:
    """The command with its files as they are stored. Those that are not there are left to be refused."""
    ids = {
        part.file_id
        for part in command.content
        if isinstance(part, FilePart) and part.file_id is not None
    }
    if not ids:
        return command
    known = {file_id: info.part for file_id, info in (await engine.find_files(ids)).items()}
    content = tuple(
        known.get(part.file_id, part)
        if isinstance(part, FilePart) and part.file_id is not None
        else part
        for part in command.content
    )
    return replace(command, content=content)


def _name_in(disposition: str) -> str:
    header = Message()
    try:
        header["Content-Disposition"] = disposition
        return header.get_filename() or ""
    except (ValueError, LookupError, TypeError):
        # A name that cannot be read is no name; the file is stored all the same.
        return ""
