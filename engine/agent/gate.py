"""Where a run may be stopped, and why it was. Between gates a run is never torn: commits finish.

A run passes through a gate whenever it waits for something that may take long (the model, a tool, a
retry). Stopping reaches it there at once; a stop that arrives elsewhere waits for the next gate.
"""

import asyncio
from enum import StrEnum
from types import TracebackType
from typing import Self


class StopReason(StrEnum):
    """Why a run is stopped. A later one in this order overrules an earlier one.

    `release` lets tools that are already running finish first, `release_at_once` does not.
    """

    INTERRUPT = "interrupt"
    RELEASE = "release"
    RELEASE_AT_ONCE = "release_at_once"
    ABANDON = "abandon"


_RANK = {reason: rank for rank, reason in enumerate(StopReason)}


class Stopped(Exception):
    """The run was stopped at a gate; what it had in hand is still there."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Gate:
    """One run's gate. Used as a context manager around what may be stopped."""

    __slots__ = ("_is_cancelled", "_reason", "_spared", "_task")

    def __init__(self) -> None:
        self._reason: StopReason | None = None
        self._spared: StopReason | None = None
        # Invariant: set exactly while the run is inside the gate and may be cancelled.
        self._task: asyncio.Task[object] | None = None
        self._is_cancelled = False

    @property
    def reason(self) -> StopReason | None:
        """Why the run is being stopped, if it is."""
        return self._reason

    def stop(self, reason: StopReason) -> None:
        """Stop the run: at once inside the gate, else when it next comes to it."""
        if self._reason is None or _RANK[reason] > _RANK[self._reason]:
            self._reason = reason
        if self._task is not None and not self._is_cancelled and reason is not self._spared:
            self._is_cancelled = True
            self._task.cancel()

    def reset(self) -> None:
        """Forget an interrupt that has been dealt with. A stop of the whole run stays."""
        if self._reason is StopReason.INTERRUPT:
            self._reason = None

    def check(self) -> None:
        """Raise Stopped when the run has been stopped already."""
        if self._reason is not None:
            raise Stopped(self._reason)

    def sparing(self, reason: StopReason) -> Self:
        """The gate, for once deaf to this reason until the run has left it."""
        self._spared = reason
        return self

    def __enter__(self) -> Self:
        """Go in. Raises Stopped when the run has been stopped already."""
        if self._reason is not None and self._reason is not self._spared:
            self._spared = None
            raise Stopped(self._reason)
        self._task = asyncio.current_task()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Go out. Our own cancellation becomes Stopped; anybody else's passes through."""
        task, self._task, self._spared = self._task, None, None
        if task is None or not self._is_cancelled:
            return
        self._is_cancelled = False
        alone = task.uncancel() == 0
        ours = alone and kind is not None and issubclass(kind, asyncio.CancelledError)
        if ours and self._reason is not None:
            raise Stopped(self._reason) from None
