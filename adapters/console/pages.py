"""Draws the console's pages and the fragments that live pages are updated with."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from adapters.console.sentences import SHORT_STATUSES, SUMMARISING, StatusView
from adapters.console.transcript import EntryView, files_of
from adapters.console.translate import FIELD_PREFIX, written
from engine.api import ListedChat
from engine.chat.actions import RequiredAction
from engine.chat.answerers import who_may
from engine.chat.content import Author, QueuedMessage, text_of
from engine.chat.summaries import SUMMARY_TOOL

STATIC_TYPES: Final[Mapping[str, str]] = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file that pages load. `version` changes with its bytes."""

    body: bytes
    content_type: str
    version: str


class Pages:
    """The templates and the static files, loaded once."""

    def __init__(self) -> None:
        folder = files("adapters.console") / "static"
        self.static = {
            name: _static_file((folder / name).read_bytes(), kind)
            for name, kind in STATIC_TYPES.items()
        }
        self._environment = Environment(
            loader=PackageLoader("adapters.console"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            static=self._address_of,
            short_statuses=SHORT_STATUSES,
            field_prefix=FIELD_PREFIX,
            summary_tool=SUMMARY_TOOL,
            summarising=SUMMARISING,
            who_may=who_may,
        )
        self._environment.filters.update(
            text_of=text_of,
            files_of=files_of,
            safe_html=Markup,
            iso=_iso,
            clock=_clock,
            written=written,
        )

    def page(self, template: str, /, **values: Any) -> str:
        """A whole page."""
        return self._environment.get_template(template).render(**values)

    def entry(self, entry: EntryView, *, chat_id: Any) -> str:
        """One message."""
        return self._fragment("entry", entry=entry, chat_id=chat_id)

    def queue(self, waiting: Sequence[QueuedMessage], *, chat_id: Any, visitor: Author) -> str:
        """What waits."""
        return self._fragment("queue", queue=waiting, chat_id=chat_id, visitor=visitor)

    def actions(self, asked: Sequence[RequiredAction], *, chat_id: Any) -> str:
        """What people are asked."""
        return self._fragment("actions", actions=asked, chat_id=chat_id)

    def status(self, status: StatusView) -> str:
        """What the chat is doing."""
        return self._fragment("status", status=status)

    def reasoning(self, text: str) -> str:
        """Reasoning while it is written."""
        return self._fragment("reasoning", text=text, is_live=True)

    def tool(self, name: str, state: str) -> str:
        """A call while it is made."""
        return self._fragment("live_tool", name=name, state=state)

    def chats(self, chats: Sequence[ListedChat], *, current: Any = None) -> str:
        """The list of chats."""
        return self._fragment("chats", chats=chats, current=current)

    def _fragment(self, macro_name: str, /, **values: Any) -> str:
        macro = getattr(self._environment.get_template("fragments.html").module, macro_name)
        return str(macro(**values))

    def _address_of(self, name: str) -> str:
        return f"/static/{name}?v={self.static[name].version}"


def _static_file(body: bytes, content_type: str) -> StaticFile:
    version = hashlib.sha256(body).hexdigest()[:12]
    return StaticFile(body=body, content_type=content_type, version=version)


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def _clock(time: datetime) -> str:
    return f"{time:%H:%M}"
