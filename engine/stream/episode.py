"""The parts of one episode, for any number of readers at any pace, within a fixed size. Pure.

Theory of operation. Adjacent deltas of one kind form a run: one text that grows. Readers hold a
position, a run and an offset into its text, and take all that is new as joined parts. So a part is
stored once however many read it, appending costs the same with many readers as with none, and a
slow reader gets fewer and longer parts instead of a backlog. Above the cap the oldest runs go; a
reader that had not got that far is told.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from engine.chat.changes import Episode
from engine.stream.events import (
    LivePart,
    PartEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)

EPISODE_SIZE_MAX = 1 << 20
"""Characters of text and JSON kept of one episode, with PART_OVERHEAD for each run."""
RUN_SIZE_MAX = 16 * 1024
"""A longer text goes on in a new run: bounds what joining copies and what an overflow drops."""
PART_OVERHEAD = 64
"""What a run counts beyond its text, near what it takes in memory."""


class Position(NamedTuple):
    """How far a reader has got: runs read in full, and what it took of the next one.

    `taken` is 0 for nothing, otherwise 1 + characters, so that an empty beginning is read once.
    """

    run: int
    taken: int


START = Position(0, 0)


class Reading(NamedTuple):
    """What was new. `lost`: parts before these were dropped before this reader took them."""

    events: list[PartEvent]
    position: Position
    lost: bool


class _Run:
    """Joined deltas of one kind, or one complete part (then `key` is None)."""

    __slots__ = ("first", "key", "pending", "seq", "size", "text")

    def __init__(self, key: object, first: LivePart, text: str, seq: int, size: int) -> None:
        self.key = key
        self.first = first
        self.text = text
        self.pending: list[str] = []
        self.seq = seq
        self.size = size


class EpisodeBuffer:
    """All parts of one episode up to `size_max`; beyond it the newest of them."""

    __slots__ = (
        "_first_run", "_last", "_runs", "_size", "_size_max", "episode", "last_seq", "lost_seq",
    )  # fmt: skip

    def __init__(self, episode: Episode, *, size_max: int = EPISODE_SIZE_MAX) -> None:
        self.episode = episode
        self.last_seq = 0
        # Invariant: the parts above this number are all here.
        self.lost_seq = 0
        self._size_max = size_max
        self._size = 0
        self._runs: list[_Run] = []
        self._first_run = 0
        self._last: _Run | None = None

    def append(self, parts: Iterable[LivePart]) -> None:
        """Keep the parts, numbered on from the last one."""
        for part in parts:
            self.put(self.last_seq + 1, part)

    def put(self, seq: int, part: LivePart) -> None:
        """Keep a part under its number, which must be above all before it."""
        self.last_seq = seq
        key: object
        if isinstance(part, TextDelta | ReasoningDelta):
            key, text = type(part), part.text
        elif isinstance(part, ToolCallDelta):
            key, text = part.tool_call_id, part.args_delta
        else:
            self._add(_Run(None, part, "", seq, _size_of(part)))
            return
        run = self._last
        if run is None or run.key != key or run.size > RUN_SIZE_MAX:
            self._add(_Run(key, part, text, seq, len(text) + PART_OVERHEAD))
            return
        run.pending.append(text)
        run.seq = seq
        size = len(text)
        run.size += size
        self._size += size
        if self._size > self._size_max:
            self._drop_oldest()

    def lose_until(self, seq: int) -> None:
        """Note that parts up to `seq` are gone for good, so that no reader takes a gap for text."""
        # One more than there are, so that a reader at the very beginning has lost something too.
        self._first_run += len(self._runs) + 1
        self._runs.clear()
        self._last = None
        self._size = 0
        self.last_seq = self.lost_seq = seq

    def read(self, position: Position) -> Reading:
        """All that is new since `position`, adjacent deltas joined, and the position after it."""
        index, taken = position.run - self._first_run, position.taken
        lost = index < 0
        if lost:
            index = taken = 0
        events: list[PartEvent] = []
        for run in self._runs[index:]:
            part = _part_after(run, taken)
            if part is not None:
                events.append(PartEvent(episode=self.episode, seq=run.seq, part=part))
            taken = 0
        return Reading(events, self._end(), lost)

    def _end(self) -> Position:
        """The position of a reader that has just taken everything."""
        run, count = self._last, self._first_run + len(self._runs)
        if run is None or run.key is None:
            return Position(count, 0)
        return Position(count - 1, 1 + len(run.text))

    def _add(self, run: _Run) -> None:
        self._runs.append(run)
        self._last = run
        self._size += run.size
        if self._size > self._size_max:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Make room for a while, so that a full buffer does not drop at every part."""
        room, count = self._size_max * 7 // 8, 0
        while self._size > room and count < len(self._runs) - 1:
            self._size -= self._runs[count].size
            self.lost_seq = self._runs[count].seq
            count += 1
        del self._runs[:count]
        self._first_run += count


def _part_after(run: _Run, taken: int) -> LivePart | None:
    """What the run has beyond what was taken; None where that is nothing."""
    if run.key is None:
        return run.first
    if run.pending:
        run.text += "".join(run.pending)
        run.pending.clear()
    text = run.text[taken - 1 :] if taken else run.text
    if taken and not text:
        return None
    first = run.first
    if isinstance(first, ToolCallDelta):
        return ToolCallDelta(
            tool_call_id=first.tool_call_id, tool_name=first.tool_name, args_delta=text
        )
    return TextDelta(text=text) if isinstance(first, TextDelta) else ReasoningDelta(text=text)


def _size_of(part: LivePart) -> int:
    try:
        return PART_OVERHEAD + len(msgspec.json.encode(part))
    except UnicodeEncodeError:
        # A lone surrogate, which tools do return. Its size is all that is asked for here.
        return PART_OVERHEAD + len(repr(part))
