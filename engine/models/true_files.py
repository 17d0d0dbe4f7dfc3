"""Send a file only as what its bytes are; the others are named. Pure; every wire format asks here.

A file that is not what its type says is refused with the whole request and with every later one,
since it stays in the history.
"""

from typing import Final

from engine.models.attachments import FileKind, Given, GivenFile, GivenText

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def true_file(given: Given, *, image_bytes_max: int) -> Given:
    """The file under the type that its bytes have; by name where a provider would refuse it."""
    if isinstance(given, GivenText):
        return given
    media_type = _type_of(given.data)
    kind = FileKind.PDF if media_type == "application/pdf" else FileKind.IMAGE
    if not media_type or kind is not given.kind:
        return named(given, "cannot be read")
    if kind is FileKind.IMAGE and len(given.data) > image_bytes_max:
        return named(given, "too large for this model")
    return GivenFile(kind=kind, name=given.name, media_type=media_type, data=given.data)


def named(file: GivenFile, why: str) -> GivenText:
    """The name of a file that is not sent, and why."""
    return GivenText(text=f"[file: {file.name} ({file.media_type}); {why}]")


def _type_of(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), "")
