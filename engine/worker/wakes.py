"""When a worker looks for the chats that it was woken for. Pure: time and chance are passed in.

Theory of operation. A wake reaches every worker of every replica, and one of them is enough. The
replica whose own commit woke the chat looks at once; the others look a random moment later, by when
they have mostly heard that the chat was taken, and forget it. A look takes whatever is runnable, so
one look answers all that was heard before it began; a chat that neither came by it nor was taken by
somebody else is looked for again, as a command may have held its row. None of this decides anything:
whatever is lost, late or doubled costs a look, and what no look finds is left to the poll.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.chat.ids import ChatId
from engine.stream.relay import Wake

ELSEWHERE_SECONDS = (0.005, 0.025)
"""How long a replica leaves a chat to the one that woke it: about what an acquisition and its hint
take, and short of what a person would notice."""
AGAIN_SECONDS = (0.02, 0.2)
"""When to look again for a chat that was not to be had: a command held its row for a moment, and
then nobody would come before the poll."""
TAKEN_MAX = 4096
"""Chats of which it is remembered that they were taken, for wakes that come later than that."""

Chance = Callable[[float, float], float]
"""A number between two others, as `random.uniform`."""


@dataclass(slots=True)
class _Woken:
    """A chat to look for. `heard`: how many things had been heard when it was; `looks`: in vain."""

    version: int
    due_at: float
    heard: int
    looks: int = 0


class Wakes:
    """The wakes of one worker. `now` is the loop's time, in seconds."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._woken: dict[ChatId, _Woken] = {}
        # Invariant: at most TAKEN_MAX, the one that was taken last at the end.
        self._taken: dict[ChatId, int] = {}
        self._heard = 0
        self._asked: int | None = None
        # Invariant: never later than the next look is due; earlier where a chat was forgotten.
        self._next_at = math.inf

    @property
    def next_at(self) -> float:
        """When to ask `is_due` next, unless something is heard before; infinite: not at all."""
        return self._next_at

    def hear(self, wake: Wake, now: float) -> None:
        """Take note of a chat that needs a worker, or no longer does."""
        change = wake.change
        if change.taken:
            self._forget(change.chat_id, change.snapshot_version)
        elif self._taken.get(change.chat_id, 0) <= change.snapshot_version:
            wait = self._chance(*ELSEWHERE_SECONDS) if wake.is_from_elsewhere else 0.0
            self._look_for(change.chat_id, change.snapshot_version, now + wait)

    def ask(self, now: float) -> None:
        """Look now, whoever was heard of: there is room where there was none."""
        self._heard += 1
        self._asked = self._heard
        self._next_at = min(self._next_at, now)

    def is_due(self, now: float) -> bool:
        """Whether to look now."""
        if self._next_at > now:
            return False
        self._find_next(now)
        return self._next_at <= now

    def begin_look(self) -> int:
        """Note that a look begins. What is heard from here on is not answered by it."""
        return self._heard

    def end_look(self, begun: int, now: float) -> None:
        """Note that the look that began there has ended, and acquired what was to be had."""
        if self._asked is not None and self._asked <= begun:
            self._asked = None
        for chat_id, woken in tuple(self._woken.items()):
            if woken.heard > begun:
                continue
            if woken.looks == len(AGAIN_SECONDS):
                del self._woken[chat_id]
            else:
                woken.due_at = now + AGAIN_SECONDS[woken.looks]
                woken.looks += 1
        self._find_next(now)

    def _look_for(self, chat_id: ChatId, version: int, due_at: float) -> None:
        self._heard += 1
        known = self._woken.get(chat_id)
        if known is not None:
            version, due_at = max(known.version, version), min(known.due_at, due_at)
        self._woken[chat_id] = _Woken(version=version, due_at=due_at, heard=self._heard)
        self._next_at = min(self._next_at, due_at)

    def _forget(self, chat_id: ChatId, version: int) -> None:
        woken = self._woken.get(chat_id)
        if woken is not None and woken.version < version:
            del self._woken[chat_id]
        self._taken[chat_id] = max(self._taken.pop(chat_id, 0), version)
        if len(self._taken) > TAKEN_MAX:
            del self._taken[next(iter(self._taken))]

    def _find_next(self, now: float) -> None:
        due = min((woken.due_at for woken in self._woken.values()), default=math.inf)
        self._next_at = due if self._asked is None else min(due, now)
