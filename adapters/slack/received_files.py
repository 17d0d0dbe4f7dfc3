"""Brings the files of a message from Slack into the store. Those that cannot be had are named, and it is said why."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.errors import Denied, RateLimited, Unavailable
from adapters.slack.block_text import escaped
from adapters.slack.desk import Desk
from adapters.slack.file_download import Downloaded
from adapters.slack.shared_files import (
    Missing,
    SharedFile,
    is_login_page,
    shared_file,
    why_missing,
)
from engine.chat.content import Author, FilePart
from engine.chat.files import CHAT_FILES_MAX, FileRefusal, NewFile, safe_name
from engine.chat.ids import ChatId

logger = logging.getLogger(__name__)

TRIES_MAX = 3
"""Of an event, while Slack does not send a file; then the message goes on without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """The files as parts, in their order. `missed`: a sentence for each that is only named."""

    parts: tuple[FilePart, ...] = ()
    missed: tuple[str, ...] = ()


class ReceivedFiles:
    """Fetches files for one event, which was tried `attempt` times with this one."""

    def __init__(self, desk: Desk, *, attempt: int) -> None:
        self._desk = desk
        self._attempt = attempt

    async def bring_in(
        self,
        files: Sequence[SharedFile],
        author: Author,
        *,
        chat_id: ChatId | None = None,
        kept: Sequence[FilePart] = (),
    ) -> Received:
        """Store the files, but for those that the chat `kept` from before.

        Raises SurfaceError while it is worth asking Slack again.
        """
        if not files:
            return Received()
        old = list(kept)
        room = CHAT_FILES_MAX if chat_id is None else CHAT_FILES_MAX - await self._count(chat_id)
        most = min(self._desk.house.settings.files_max, room)
        parts: list[FilePart] = []
        missed: list[str] = []
        for file in files:
            known = next((part for part in old if part.name in (file.name, _safe(file))), None)
            if known is not None:
                old.remove(known)
                parts.append(known)
            elif most <= 0:
                parts.append(file.part)
                missed.append(f"{_shown(file)}: there were more files than I take")
            else:
                most -= 1
                taken = await self._take(file, author)
                parts.append(taken if isinstance(taken, FilePart) else file.part)
                if isinstance(taken, str):
                    missed.append(f"{_shown(file)}: {taken}")
        return Received(parts=tuple(parts), missed=tuple(missed))

    async def _count(self, chat_id: ChatId) -> int:
        return len(await self._desk.engine.list_files(chat_id))

    async def _take(self, file: SharedFile, author: Author) -> FilePart | str:
        """The stored file, or why there is none."""
        bytes_max = self._desk.engine.file_bytes_max
        async with self._desk.house.downloads:
            try:
                file, found = await self._fetch(file, bytes_max)
            except (RateLimited, Unavailable):
                if self._attempt < TRIES_MAX:
                    raise
                found = Missing.UNREACHABLE
            if isinstance(found, Missing):
                extra = {"action": "slack_file_missed", "reason": found.value}
                logger.info("file not taken", extra=extra)
                return why_missing(found, bytes_max=bytes_max)
            new = NewFile(name=file.name, data=found.data, media_type=file.media_type)
            stored = await self._desk.engine.store_file(new, by=author)
        if isinstance(stored, FileRefusal):
            extra = {"action": "slack_file_refused", "reason": stored.reason.value}
            logger.info("file not taken", extra=extra)
            return stored.detail[:1].lower() + stored.detail[1:].rstrip(".")
        return stored.part

    async def _fetch(
        self, file: SharedFile, bytes_max: int
    ) -> tuple[SharedFile, Downloaded | Missing]:
        client = self._desk.client
        if file.id and file.missing is None and (file.is_unseen or not file.url):
            try:
                file = shared_file(await client.file(file.id))
            except Denied as error:
                logger.info("no file", extra={"action": "slack_file_missed", "code": error.code})
                return file, Missing.GONE
        if file.missing is not None:
            return file, file.missing
        if (file.size or 0) > bytes_max:
            return file, Missing.TOO_LARGE
        found = await client.download(file.url, bytes_max=bytes_max)
        if isinstance(found, Downloaded) and is_login_page(file, found.media_type, found.data):
            return file, Missing.LOGIN_PAGE
        return file, found


def missed_for_model(missed: Sequence[str]) -> str:
    """What the model is told of files that could not be had; empty where all were."""
    return "\n".join(f"(The file {sentence}.)" for sentence in missed)


def missed_for_people(missed: Sequence[str]) -> str:
    """What whoever sent them is told."""
    if len(missed) == 1:
        return f"I could not take a file. {escaped(missed[0])}."
    listed = "\n".join(f"• {escaped(sentence)}." for sentence in missed)
    return f"I could not take {len(missed)} files.\n{listed}"


def _safe(file: SharedFile) -> str:
    return safe_name(file.name)


def _shown(file: SharedFile) -> str:
    return " ".join(file.name.split())[:200]
