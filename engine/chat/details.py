"""What people may change of a chat at any time, and where a pinned chat stands (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, UnsetType

PIN_LAST: Final = 2**31 - 1
"""A place behind all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailsChange:
    """A change of what is named; UNSET stays as it is. All of it applies, or nothing.

    `title` None takes the title away, so that the chat may be named anew. `labels` replaces all.
    `pin_order`: the place among the pinned chats from 1 on, cut to what there is; 0 unpins.
    `model` None: the bot's own, from the next run on. `records_calls` holds from the next run on.
    """

    title: str | UnsetType | None = UNSET
    labels: Mapping[str, str] | UnsetType = UNSET
    pin_order: int | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    records_calls: bool | UnsetType = UNSET

    @property
    def pins(self) -> bool:
        """Whether the chat is to have a place among the pinned ones."""
        return self.pin_order is not UNSET and self.pin_order > 0


def rank_between(before: float | None, after: float | None) -> float | None:
    """A rank behind `before` and ahead of `after`; None: there is no number between the two."""
    if before is None:
        return 1.0 if after is None else after - 1.0
    if after is None:
        return before + 1.0
    middle = before + (after - before) / 2
    return middle if before < middle < after else None
