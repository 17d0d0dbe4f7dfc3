"""Which survivors somebody has looked at, and why they may live.

A paragraph of survivors.txt is a reason (`# ...`) and the patterns it covers, one a line. A pattern
is what the report prints, with `*` for any text; it holds no number, so that it outlives edits.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """The patterns of survivors.txt."""

    patterns: tuple[str, ...]

    def knows(self, survivor: str) -> bool:
        """Tell whether a survivor was reviewed."""
        return any(_matches(pattern, survivor) for pattern in self.patterns)

    def stale(self, survivors: Sequence[str], modules: Sequence[str]) -> list[str]:
        """Return the patterns of those modules that no survivor needs."""
        return [
            pattern
            for pattern in self.patterns
            if any(pattern.startswith(f"{module}.") for module in modules)
            and not any(_matches(pattern, survivor) for survivor in survivors)
        ]


def read_reviewed(path: Path) -> Reviewed:
    """Read the list. Raises ValueError for patterns without a reason."""
    patterns: list[str] = []
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        named = [line for line in lines if not line.startswith("#")]
        if named and not lines[0].startswith("#"):
            raise ValueError(f"{path.name}: {named[0]!r} needs a reason above it (# ...)")
        patterns += named
    return Reviewed(patterns=tuple(patterns))


def _matches(pattern: str, survivor: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), survivor) is not None
