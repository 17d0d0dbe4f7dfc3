"""Owns the tree of a text that grows: what cannot change any more is parsed once. Pure but for its memory.

Blocks before the last one never change when text is appended, so only the last top-level block, or the
last item of a top-level list, is parsed again. Whatever was asked before, the answer is that of parsing
the whole text: the memory saves work and decides nothing.
"""

from collections.abc import Sequence

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import Leaf


class GrowingTree:
    """The leaves of one text. `first_number` renumbers an ordered list that begins it."""

    __slots__ = ("_first_number", "_last", "_leaves", "_lines", "_number", "_settled", "_sure")

    def __init__(self, first_number: int | None = None) -> None:
        self._first_number = first_number
        self._start_anew()

    def _start_anew(self) -> None:
        self._leaves: list[Leaf] = []
        self._last = ""
        self._settled = 0
        self._sure = ""
        self._lines = 0
        self._number = self._first_number

    @property
    def settled(self) -> int:
        """How many of the leaves last given stay what they are while the text grows."""
        return self._settled

    def leaves_of(self, source: str) -> Sequence[Leaf]:
        """The leaves of a text, cheaply if it begins like the last one. Valid until the next call."""
        if source == self._last:
            return self._leaves
        if not source.startswith(self._sure):
            self._start_anew()
        self._last = source
        del self._leaves[self._settled :]
        self._leaves += parse_blocks(
            source[len(self._sure) :],
            first_number=self._number,
            first_line=self._lines,
            first_leaf=self._settled,
        )
        self._settle(source)
        return self._leaves

    def _settle(self, source: str) -> None:
        # What begins in an unfinished line, or with a table's unfinished second line, may turn out to
        # go on with the block before it.
        end = source.rfind("\n", 0, max(source.rfind("\n"), 0)) + 1
        last_line = self._lines + source.count("\n", len(self._sure), end) - 1
        root = None
        for leaf in reversed(self._leaves):
            root = leaf.root
            if root.line <= last_line or root.leaf <= self._settled:
                break
        if root is None or root.leaf <= self._settled:
            return
        start = len(self._sure)
        for _ in range(root.line - self._lines):
            start = source.index("\n", start) + 1
        self._sure = source[:start]
        self._lines, self._number, self._settled = root.line, root.number, root.leaf
