"""What may be a file of a chat: its size, its name, its type. Pure; the bytes decide, not the claim.

A type that is claimed must be the one that the bytes show. Names never hold a path, a line break or
a turn of direction.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from unicodedata import category

from msgspec import Struct

from engine.chat.content import FilePart
from engine.chat.ids import FileId

FILE_BYTES_MAX: Final = 10 * 1024 * 1024
CHAT_FILES_MAX: Final = 50
NAME_BYTES_MAX: Final = 255
BINARY: Final = "application/octet-stream"
"""The type of bytes of which nothing is known."""

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_KNOWN_TYPES: Final = IMAGE_TYPES | {"application/pdf"}
_ALIASES: Final = {"image/jpg": "image/jpeg", "application/x-pdf": "application/pdf"}
_CLAIMS_NOTHING: Final = frozenset(
    # The last one is what curl calls every body.
    {"", BINARY, "binary/octet-stream", "application/x-www-form-urlencoded"}
)
_TEXT_TYPES: Final = frozenset(
    {
        "application/json", "application/jsonl", "application/x-ndjson", "application/xml",
        "application/yaml", "application/x-yaml", "application/toml", "application/csv",
        "application/javascript", "application/x-javascript", "application/typescript",
        "application/sql", "application/x-sh", "application/x-python", "application/graphql",
    }
)  # fmt: skip
_TYPE_OF_SUFFIX: Final = {
    "csv": "text/csv", "md": "text/markdown", "markdown": "text/markdown", "html": "text/html",
    "htm": "text/html", "json": "application/json", "yaml": "application/yaml",
    "yml": "application/yaml", "xml": "application/xml",
}  # fmt: skip
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\f"))
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
_TURNS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_NAMELESS: Final = "file"


class FileInfo(Struct, frozen=True, kw_only=True):
    """A stored file without its bytes. `size` in bytes."""

    id: FileId
    name: str
    media_type: str
    size: int
    created_at: datetime

    @property
    def part(self) -> FilePart:
        """The file as messages hold it."""
        return FilePart(name=self.name, media_type=self.media_type, size=self.size, file_id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A stored file with its bytes, or the first of them."""

    info: FileInfo
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """Bytes that somebody wants to be stored, and what they say of them.

    `media_type` is a claim, empty for none. `of_any_type`: a tool's output, which may be anything;
    from people only what models and people can read is taken.
    """

    name: str
    data: bytes
    media_type: str = ""
    of_any_type: bool = False


class FileRefusalReason(StrEnum):
    """Why a file is not stored. Stable: adapters match on it."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    TYPE_MISMATCH = "type_mismatch"
    TYPE_NOT_ALLOWED = "type_not_allowed"
    TOO_MANY = "too_many"
    STORE_FULL = "store_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRefusal:
    """The file was not stored. `detail` is a sentence that says why, and how to mend it."""

    reason: FileRefusalReason
    detail: str


def check_file(file: NewFile, *, bytes_max: int = FILE_BYTES_MAX) -> NewFile | FileRefusal:
    """The file under a safe name and its true type, or why it is not taken."""
    if not file.data:
        return _refuse(FileRefusalReason.EMPTY, "The file is empty.")
    if len(file.data) > bytes_max:
        sentence = f"The file has {len(file.data)} bytes; at most {bytes_max} are taken."
        return _refuse(FileRefusalReason.TOO_LARGE, sentence)
    media_type = _true_type(file)
    if isinstance(media_type, FileRefusal):
        return media_type
    return NewFile(
        name=safe_name(file.name),
        data=file.data,
        media_type=media_type,
        of_any_type=file.of_any_type,
    )


def is_text(media_type: str) -> bool:
    """Whether a file of this type is words."""
    return (
        media_type.startswith("text/")
        or media_type in _TEXT_TYPES
        or media_type.endswith(("+json", "+xml", "+yaml"))
    )


def safe_name(name: str) -> str:
    """The last part of a path, in one line, without signs that nobody sees; 255 bytes at most.

    A name that is too long keeps its suffix.
    """
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    seen = "".join(sign for sign in last if _shows(sign))
    clean = " ".join(seen.split()).strip(". ")
    if len(clean.encode()) > NAME_BYTES_MAX:
        stem, dot, suffix = clean.rpartition(".")
        if not stem or len(suffix.encode()) > 20:
            stem, dot, suffix = clean, "", ""
        room = NAME_BYTES_MAX - len((dot + suffix).encode())
        clean = stem.encode()[:room].decode(errors="ignore").rstrip(". ") + dot + suffix
    return clean or _NAMELESS


def sniff(data: bytes) -> str | None:
    """The type that the first bytes show; None when they show none that is known."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def holds_text(data: bytes) -> bool:
    """Whether the bytes are words in UTF-8: without control bytes but tabs and ends of lines."""
    if len(data.translate(None, _CONTROLS)) < len(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shows(sign: str) -> bool:
    return sign not in _TURNS and category(sign) not in ("Cc", "Cs")


def _true_type(file: NewFile) -> str | FileRefusal:
    claim = file.media_type.partition(";")[0].strip().lower()
    claim = _ALIASES.get(claim, claim)
    shown = sniff(file.data)
    if claim in _CLAIMS_NOTHING:
        return _unclaimed_type(file, shown)
    if not _TYPE.fullmatch(claim):
        sentence = f"{file.media_type[:80]!r} is no media type; it must look like text/plain."
        return _refuse(FileRefusalReason.TYPE_NOT_ALLOWED, sentence)
    if claim == shown or (shown is None and is_text(claim) and holds_text(file.data)):
        return claim
    if shown is not None or claim in _KNOWN_TYPES or is_text(claim):
        found = shown or ("text" if holds_text(file.data) else "neither text nor a known type")
        sentence = f"The file is called {claim}, but its bytes are {found}."
        if is_text(claim):
            sentence += " Text must be UTF-8 without control characters."
        return _refuse(FileRefusalReason.TYPE_MISMATCH, sentence)
    return claim if file.of_any_type else _not_allowed(claim)


def _unclaimed_type(file: NewFile, shown: str | None) -> str | FileRefusal:
    if shown is not None:
        return shown
    if holds_text(file.data):
        suffix = file.name.rpartition(".")[2].lower()
        return _TYPE_OF_SUFFIX.get(suffix, "text/plain")
    return BINARY if file.of_any_type else _not_allowed("bytes of an unknown type")


def _not_allowed(what: str) -> FileRefusal:
    sentence = f"Files of this kind are not taken: {what}. Send png, jpeg, gif, webp, pdf or text."
    return _refuse(FileRefusalReason.TYPE_NOT_ALLOWED, sentence)


def _refuse(reason: FileRefusalReason, detail: str) -> FileRefusal:
    return FileRefusal(reason=reason, detail=detail)
