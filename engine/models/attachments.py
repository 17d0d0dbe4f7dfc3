"""What a model is given of a file that came with a message. Pure; every wire format asks here.

A model that reads a kind of file itself gets the file. Text is put into the message where the
provider would drop the file. What is gone or cannot be read is named, so that the model can say so.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.chat.content import FilePart
from engine.chat.ids import FileId

INLINE_CHARACTERS_MAX: Final = 128 * 1024
"""Of one text file (engine reference 2.4)."""

_TEXT_TYPES: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/sql",
        "application/csv",
        "application/x-sh",
    }
)


class FileKind(StrEnum):
    """The kinds of files that a model may read itself."""

    IMAGE = "image"
    PDF = "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileData:
    """The bytes of a stored file."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """Words in the message: the text of a file, or why there is none."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """The file itself, for a model that reads its kind."""

    kind: FileKind
    name: str
    media_type: str
    data: bytes


Given = GivenText | GivenFile


def given_of(part: FilePart, files: Mapping[FileId, FileData], accepts: Set[str]) -> Given:
    """What the model gets of a file of a message."""
    if part.file_id is None:
        return GivenText(text=f"[file: {part.name} ({part.media_type})]")
    file = files.get(part.file_id)
    if file is None:
        return GivenText(text=f"[missing-attachment] {part.name} is not available any more.")
    kind = kind_of(file.media_type)
    if kind is not None and kind.value in accepts:
        return GivenFile(kind=kind, name=part.name, media_type=file.media_type, data=file.data)
    text = _text_of(file)
    if text is None:
        return GivenText(text=f"[file: {part.name} ({part.media_type}); this model cannot read it]")
    return GivenText(text=f"[file: {part.name}]\n{text}\n[end of {part.name}]")


def kind_of(media_type: str) -> FileKind | None:
    """The kind of file that models may read themselves."""
    if media_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        return FileKind.IMAGE
    return FileKind.PDF if media_type == "application/pdf" else None


def is_text(media_type: str) -> bool:
    """Whether a file of this type can be put into a message as words."""
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


def _text_of(file: FileData) -> str | None:
    if not is_text(file.media_type):
        return None
    text = file.data[: INLINE_CHARACTERS_MAX * 4].decode("utf-8", "replace")
    if len(text) <= INLINE_CHARACTERS_MAX:
        return text
    return f"{text[:INLINE_CHARACTERS_MAX]}\n[... the rest is cut ...]"
