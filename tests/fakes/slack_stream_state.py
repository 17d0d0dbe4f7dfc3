"""Owns what fake Slack knows of a message while it is streamed, and for how long it may be; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]

STREAM_SECONDS_MAX = 300.0
"""Seen, not documented: appending does not prolong it."""
STREAM_BYTES_MAX = 10_600
"""Seen, not documented: UTF-8 of all text and task cards of one streamed message."""
STREAM_CALL_CHARS_MAX = 12_000
TASK_FIELD_CHARS_MAX = 256


class StreamState(StrEnum):
    """Only a live stream takes more; a user's stop is told apart from every other end."""

    LIVE = "live"
    STOPPED = "stopped"
    STOPPED_BY_USER = "stopped_by_user"
    TIMED_OUT = "timed_out"


@dataclass(slots=True, kw_only=True)
class LiveStream:
    """One streamed message. Once it was too long it stays so."""

    started_at: float
    display_mode: str = "timeline"
    state: StreamState = StreamState.LIVE
    is_too_long: bool = False
    tasks: dict[str, Json] = field(default_factory=dict)

    def look(self, now: float) -> StreamState:
        """The state at this time: streams die of age, unasked."""
        if self.state is StreamState.LIVE and now - self.started_at >= STREAM_SECONDS_MAX:
            self.state = StreamState.TIMED_OUT
        return self.state

    def merge_task(self, update: Json) -> None:
        """Title and status replace what was there; details and output are added, less leading blanks."""
        task = self.tasks.setdefault(update["id"], {"details": "", "output": ""})
        task["title"], task["status"] = update["title"], update["status"]
        for name in ("details", "output"):
            more = str(update.get(name) or "")
            task[name] += more.lstrip() if task[name] else more

    def task_bytes(self) -> int:
        """What the task cards count of the message's size."""
        return sum(
            len(str(part).encode()) for task in self.tasks.values() for part in task.values()
        )
