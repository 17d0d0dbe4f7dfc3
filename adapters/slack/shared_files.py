"""The files that a message shares, as Slack tells of them, and what to say of those that cannot be had (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from adapters.slack.inbound_text import shared_attachments
from adapters.slack.wire import Json, objects_at, text_at
from engine.chat.content import FilePart
from engine.chat.files import BINARY

_GONE_MODES = ("tombstone", "hidden_by_limit")
_NO_ACCESS = ("access_denied", "file_not_found")
_UNSEEN = "check_file_info"
_HTML_STARTS = (b"<!doctype html", b"<html")
_HTML = "text/html"
_MEGABYTE = 1024 * 1024


class Missing(StrEnum):
    """Why the bytes of a file are not had."""

    GONE = "gone"
    EXTERNAL = "external"
    FOREIGN = "foreign"
    LOGIN_PAGE = "login_page"
    TOO_LARGE = "too_large"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """One file of a message. `url`: where its bytes are. `size` in bytes, None where Slack did not say.

    `is_unseen`: Slack told only its id; `missing`: it can be known already that it cannot be had.
    """

    id: str
    name: str
    media_type: str = BINARY
    size: int | None = None
    url: str = ""
    is_unseen: bool = False
    missing: Missing | None = None

    @property
    def part(self) -> FilePart:
        """The file by name alone."""
        return FilePart(name=self.name, media_type=self.media_type, size=self.size)


def files_of(event: Json) -> tuple[SharedFile, ...]:
    """The files of a message and of what it forwards, each once, in order."""
    told = objects_at(event, "files")
    for attachment in shared_attachments(event):
        told += objects_at(attachment, "files")
    found = (shared_file(file) for file in told)
    return tuple({file.id or file.name: file for file in found if file.name}.values())


def shared_file(file: Json) -> SharedFile:
    """One file as an event or files.info tells it. What has neither name nor id has no name here."""
    size = file.get("size")
    return SharedFile(
        id=text_at(file, "id"),
        name=text_at(file, "name") or text_at(file, "title") or text_at(file, "id"),
        media_type=text_at(file, "mimetype") or BINARY,
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        url=text_at(file, "url_private_download") or text_at(file, "url_private"),
        is_unseen=text_at(file, "file_access") == _UNSEEN,
        missing=_missing(file),
    )


def is_login_page(file: SharedFile, received_type: str, data: bytes) -> bool:
    """Whether the bytes are a page to sign in at: Slack sends it with 200 in the place of the file."""
    declared = file.media_type.partition(";")[0].strip().lower()
    received = received_type.partition(";")[0].strip().lower()
    if declared == _HTML:
        return file.size is not None and file.size != len(data) and received == _HTML
    looks_so = data[:64].lstrip().lower().startswith(_HTML_STARTS)
    return received == _HTML or (looks_so and not declared.startswith("text/"))


def why_missing(missing: Missing, *, bytes_max: int) -> str:
    """The sentence that people and the model are told."""
    match missing:
        case Missing.GONE:
            return "it was deleted, or Slack does not show it any more"
        case Missing.EXTERNAL:
            return "it is kept outside Slack"
        case Missing.FOREIGN:
            return "it is not on a server of Slack's"
        case Missing.LOGIN_PAGE:
            return (
                "Slack showed a page to sign in at instead (the app may lack the scope files:read)"
            )
        case Missing.TOO_LARGE:
            return f"it is larger than {_size(bytes_max)}"
        case Missing.UNREACHABLE:
            return "Slack did not send it in time"


def _size(size: int) -> str:
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.3g} MB"
    return f"{size} bytes"


def _missing(file: Json) -> Missing | None:
    mode, access = text_at(file, "mode"), text_at(file, "file_access")
    if mode in _GONE_MODES or access in _NO_ACCESS:
        return Missing.GONE
    if file.get("is_external") is True or mode == "external":
        return Missing.EXTERNAL
    return None
