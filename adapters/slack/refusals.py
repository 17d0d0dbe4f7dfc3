"""What a person is told of a message that was not taken (pure). Most refusals need no words: they show."""

from collections.abc import Mapping
from typing import Final

from engine.chat.decision import LimitReached, LimitScope, Refusal, RefusalReason
from engine.chat.spending import amount, reset_time

QUEUE_FULL: Final = (
    "I am still busy and already have many messages waiting. Please try again later."
)
_WHOSE: Final[Mapping[LimitScope, str]] = {
    LimitScope.USER: "You have",
    LimitScope.CHANNEL: "This channel has",
    LimitScope.ORGANIZATION: "Your organization has",
}


def told_of(refusal: Refusal) -> str | None:
    """What to say. None: nothing."""
    if refusal.limit is not None:
        return _limit_told(refusal.limit)
    return QUEUE_FULL if refusal.reason is RefusalReason.QUEUE_FULL else None


def _limit_told(limit: LimitReached) -> str:
    spent = f"{amount(limit.spent_micros)} of {amount(limit.limit_micros)}"
    return (
        f"I am sorry, I cannot answer this now. {_WHOSE[limit.scope]} used up what may be spent: "
        f"{spent}. Please write again after {reset_time(limit)}."
    )
