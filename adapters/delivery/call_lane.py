"""Who may make the next call of one method in one installation, of all that wait for it (pure).

Theory of operation. A lane is where the threads of one process wait for a method. What is urgent goes
first, in the order in which it came; then drafts, those that have waited longest first, so that each has
its turn. Permission is given when it is there, not promised before: whoever has become urgent meanwhile
comes first, and what is then sent is the newest. A channel that must wait holds up nobody else.
Times are seconds of one clock.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

NEVER = float("-inf")


@dataclass(slots=True, kw_only=True, eq=False)
class Wish:
    """One thread's wish for one call. `grant` is called once, when it may be made."""

    channel: str
    is_urgent: bool
    grant: Callable[[], None]


@dataclass(slots=True, kw_only=True, eq=False)
class Lane:
    """The wishes of a lane, oldest first, and until when something stops them."""

    wishes: dict[Wish, None] = field(default_factory=dict)
    _urgent_from: float = NEVER
    _drafts_from: float = NEVER
    _channel_from: dict[str, float] = field(default_factory=dict)

    def first(self, now: float) -> Wish | None:
        """The wish whose turn it is, if the gates let it pass; None while all must wait."""
        return next(iter(self._in_order(now)), None)

    def first_in(self, channel: str, now: float) -> Wish | None:
        """The wish of a channel whose turn it is."""
        return next((wish for wish in self._in_order(now) if wish.channel == channel), None)

    def stopped(self, wish: Wish, waits: tuple[float, float], *, now: float) -> None:
        """Note that the gates made a wish wait: that of the installation, that of its channel."""
        in_installation, in_channel = waits
        if in_installation:
            until = now + in_installation
            self._drafts_from = max(self._drafts_from, until)
            if wish.is_urgent:
                self._urgent_from = max(self._urgent_from, until)
        if in_channel:
            until = now + in_channel
            self._channel_from[wish.channel] = max(
                until, self._channel_from.get(wish.channel, until)
            )

    def next_at(self, now: float) -> float:
        """When it is worth to look again; there is a wish."""
        self._channel_from = {c: at for c, at in self._channel_from.items() if at > now}
        return min(self._possible_at(wish) for wish in self.wishes)

    def _in_order(self, now: float) -> Iterable[Wish]:
        possible = [wish for wish in self.wishes if self._possible_at(wish) <= now]
        yield from (wish for wish in possible if wish.is_urgent)
        yield from (wish for wish in possible if not wish.is_urgent)

    def _possible_at(self, wish: Wish) -> float:
        in_installation = self._urgent_from if wish.is_urgent else self._drafts_from
        return max(in_installation, self._channel_from.get(wish.channel, NEVER))
