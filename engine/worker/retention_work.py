"""Puts away the chats that nobody goes on with, and removes those that were put away long ago."""

import logging
from dataclasses import dataclass

from engine.chat.commands import Archive
from engine.store.chat_machine import ChatMachine
from engine.store.outcomes import Applied
from engine.store.recordings import Recordings
from engine.store.retention import Retention

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDays:
    """After how many days something happens to a chat or a recording; 0: never."""

    archive: int = 0
    delete: int = 0
    recordings: int = 7


class RetentionWork:
    """Each method does one piece of the work and says how many chats or rows it was."""

    def __init__(
        self,
        machine: ChatMachine,
        retention: Retention,
        recordings: Recordings,
        days: RetentionDays,
    ) -> None:
        self._machine = machine
        self._retention = retention
        self._recordings = recordings
        self._days = days

    async def archive_idle(self) -> int:
        """Put idle chats away, a thousand at most. One that something happens to meanwhile stays."""
        if self._days.archive <= 0:
            return 0
        done = 0
        for idle in await self._retention.idle_chats(self._days.archive):
            command = Archive(unless_changed_since=idle.snapshot_version)
            done += isinstance(await self._machine.submit(idle.chat_id, command), Applied)
        if done:
            extra = {"action": "chats_archived", "chats": done, "days": self._days.archive}
            log.info("Chats that nobody went on with were put away.", extra=extra)
        return done

    async def delete_archived(self) -> int:
        """Remove some chats that were put away long ago."""
        if self._days.delete <= 0:
            return 0
        done = await self._retention.delete_archived(self._days.delete)
        if done:
            extra = {"action": "chats_deleted", "chats": done, "days": self._days.delete}
            log.info("Chats that were put away long ago were removed.", extra=extra)
        return done

    async def purge_recordings(self) -> int:
        """Remove some old recordings."""
        return await self._recordings.purge(self._days.recordings)

    async def end_recordings(self) -> int:
        """Note that recordings whose process died are over."""
        return await self._recordings.give_up_unfinished()
