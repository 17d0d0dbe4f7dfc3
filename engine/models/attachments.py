"""What a model is given of a file that came with a message. Pure; every wire format asks here.

A model that reads a kind of file itself gets the file. Text is put into the message where the
provider would drop the file. What is gone or cannot be read is named, so that the model can say so.
What one request holds is bounded; the newest files come first.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from engine.chat.content import FilePart
from engine.chat.files import FILE_BYTES_MAX, IMAGE_TYPES, is_text
from engine.chat.ids import FileId

INLINE_BYTES_MAX: Final = 128 * 1024
"""Of one text file (engine reference 2.4)."""
HEAD_BYTES: Final = INLINE_BYTES_MAX + 1
"""What is read of a text file: one more, so that it is seen that there is more."""
REQUEST_BYTES_MAX: Final = 20 * 1024 * 1024
"""Of images and PDF files in one request: as base64 within the 32 MB that Anthropic takes."""


class FileKind(StrEnum):
    """The kinds of files that a model may read itself."""

    IMAGE = "image"
    PDF = "pdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileData:
    """The bytes of a stored file, of text at least the first `HEAD_BYTES`.

    `is_left_out`: there are bytes, but this request has no room for them.
    """

    media_type: str
    data: bytes
    is_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """Which files one request needs: whole ones, the heads of texts; and for which it has no room."""

    whole: tuple[FileId, ...] = ()
    heads: tuple[FileId, ...] = ()
    left_out: Mapping[FileId, FileData] = field(default_factory=dict)

    @property
    def needs_reading(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.whole or self.heads)

    def all_files(self, read: Mapping[FileId, FileData]) -> Mapping[FileId, FileData]:
        """What the request is made with: what was read, and what was left out."""
        return {**read, **self.left_out} if self.left_out else read


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


def plan_files(
    newest_first: Iterable[FilePart], accepts: Set[str], *, text_bytes_max: int
) -> FilePlan:
    """Choose what a request holds: only what the model can read, each file once, the newest first."""
    whole: list[FileId] = []
    heads: list[FileId] = []
    left_out: dict[FileId, FileData] = {}
    room = {True: text_bytes_max, False: REQUEST_BYTES_MAX}
    seen: set[FileId] = set()
    for part in newest_first:
        if part.file_id is None or part.file_id in seen or not _is_readable(part, accepts):
            continue
        seen.add(part.file_id)
        as_text = is_text(part.media_type)
        size = FILE_BYTES_MAX if part.size is None else part.size
        size = min(size, INLINE_BYTES_MAX) if as_text else size
        if size > room[as_text]:
            data = FileData(media_type=part.media_type, data=b"", is_left_out=True)
            left_out[part.file_id] = data
            continue
        room[as_text] -= size
        (heads if as_text else whole).append(part.file_id)
    return FilePlan(whole=tuple(whole), heads=tuple(heads), left_out=left_out)


def given_of(part: FilePart, files: Mapping[FileId, FileData], accepts: Set[str]) -> Given:
    """What the model gets of a file of a message."""
    name = " ".join(part.name.split())
    if part.file_id is None:
        return GivenText(text=f"[file: {name} ({part.media_type})]")
    if not _is_readable(part, accepts):
        return GivenText(text=f"[file: {name} ({part.media_type}); this model cannot read it]")
    file = files.get(part.file_id)
    if file is None:
        return GivenText(text=f"[missing-attachment] {name} is not available any more.")
    if file.is_left_out:
        why = "left out, for there are more files than fit into one request"
        return GivenText(text=f"[file: {name} ({part.media_type}); {why}]")
    kind = kind_of(part.media_type)
    if kind is not None:
        return GivenFile(kind=kind, name=name, media_type=part.media_type, data=file.data)
    return GivenText(text=f"[file: {name}]\n{_text_of(file.data)}\n[end of {name}]")


def kind_of(media_type: str) -> FileKind | None:
    """The kind of file that models may read themselves."""
    if media_type in IMAGE_TYPES:
        return FileKind.IMAGE
    return FileKind.PDF if media_type == "application/pdf" else None


def _is_readable(part: FilePart, accepts: Set[str]) -> bool:
    kind = kind_of(part.media_type)
    return is_text(part.media_type) if kind is None else kind.value in accepts


def _text_of(data: bytes) -> str:
    if len(data) <= INLINE_BYTES_MAX:
        return data.decode("utf-8-sig", "replace")
    head = data[:INLINE_BYTES_MAX].decode("utf-8-sig", "ignore")
    return f"{head}\n[... the rest is cut ...]"
