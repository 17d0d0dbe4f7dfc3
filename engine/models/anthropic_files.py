"""Give Anthropic the files of a history as far as it takes them; the others are named. Pure.

A file that is too large, or is not what its type says, is refused with the whole request and with
every later one, since it stays in the history. Where all together are too much, the newest stay.
"""

import base64
from collections.abc import Sequence
from typing import Any, Final

from engine.chat.content import FilePart
from engine.models.attachments import (
    REQUEST_BYTES_MAX,
    FileKind,
    Given,
    GivenFile,
    GivenText,
    given_of,
)
from engine.models.model import ModelPrompt

IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024 * 3 // 4
"""Of one image; the provider counts its base64, of which it takes 5 MiB."""

FILES_BYTES_MAX: Final = REQUEST_BYTES_MAX
"""Of all files of a request, one that came twice counted twice."""

FILES_MAX: Final = 100

_TOO_MANY: Final = "left out, for there are more files than fit into one request"
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def given_files(prompt: ModelPrompt, groups: Sequence[Sequence[FilePart]]) -> list[list[Given]]:
    """What the model gets of the files of each message, oldest message first."""
    bytes_left, files_left = FILES_BYTES_MAX, FILES_MAX
    given: list[list[Given]] = []
    for group in reversed(groups):
        row: list[Given] = []
        for part in group:
            one = _mended(given_of(part, prompt.files, prompt.accepts))
            if isinstance(one, GivenFile):
                bytes_left -= len(one.data)
                files_left -= 1
                if bytes_left < 0 or files_left < 0:
                    one = _named(one, _TOO_MANY)
            row.append(one)
        given.append(row)
    return given[::-1]


def file_block(file: GivenFile) -> dict[str, Any]:
    """The content block of a file that was given."""
    source = {
        "type": "base64",
        "media_type": file.media_type,
        "data": base64.b64encode(file.data).decode(),
    }
    return {"type": "image" if file.kind is FileKind.IMAGE else "document", "source": source}


def _mended(given: Given) -> Given:
    """The file under the type that its bytes have; by name where the provider would refuse it."""
    if isinstance(given, GivenText):
        return given
    media_type = _type_of(given.data)
    kind = FileKind.PDF if media_type == "application/pdf" else FileKind.IMAGE
    if not media_type or kind is not given.kind:
        return _named(given, "cannot be read")
    if kind is FileKind.IMAGE and len(given.data) > IMAGE_BYTES_MAX:
        return _named(given, "too large for this model")
    return GivenFile(kind=kind, name=given.name, media_type=media_type, data=given.data)


def _type_of(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), "")


def _named(file: GivenFile, why: str) -> GivenText:
    return GivenText(text=f"[file: {file.name} ({file.media_type}); {why}]")
