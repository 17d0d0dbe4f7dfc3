"""Permissions to call a platform, shared by all who call it: what a budget promises."""

from collections.abc import Sequence
from typing import Protocol

from engine.budgets.bucket import Gate


class Budget(Protocol):
    """Counts calls against gates. Never raises and never blocks for long, whatever happens to it."""

    async def take(
        self, gates: Sequence[Gate], *, keep_share: float = 0.0, waiting: int = 1
    ) -> tuple[float, ...]:
        """Pass all gates or none. The seconds that each makes the call wait; all 0: it has passed.

        `keep_share`: how much of each gate is left to calls that may not wait. `waiting`: how many calls
        wait here, so that a replica where many wait comes to its turn more often.
        """
        ...

    async def pause(self, key: str, seconds: float) -> None:
        """Let nothing pass the gate for so long. A shorter pause never ends a longer one."""
        ...
