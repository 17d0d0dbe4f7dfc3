"""What is done about pages that are streamed, in place of posting and editing them (pure)."""

from dataclasses import dataclass

from adapters.contract import Growth
from adapters.delivery.delivery_plan import Operation
from adapters.delivery.reply_items import ItemKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Post a page that grows."""

    key: ItemKey
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grow:
    """Let a page grow, not before `due_at`. `is_final`: the reader is waiting for it."""

    key: ItemKey
    page: int
    message_id: str
    growth: Growth
    due_at: float
    is_final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Let a page grow for the last time. `is_whole`: it then shows what it should."""

    key: ItemKey
    page: int
    message_id: str
    growth: Growth
    is_whole: bool

    def without_end(self, now: float) -> Grow | None:
        """The growth alone, for as long as streams may not be closed; None where there is none."""
        if self.growth == Growth():
            return None
        return Grow(
            key=self.key,
            page=self.page,
            message_id=self.message_id,
            growth=self.growth,
            due_at=now,
            is_final=True,
        )


StreamOperation = Start | Grow | Finish
AnyOperation = Operation | StreamOperation
