"""Slows guessing down: after a few wrong guesses an address has to wait (pure, given the time)."""

from collections import deque
from typing import Final

FAILURES_MAX: Final = 5
"""Failures of one address within the window."""
FAILURES_OF_ALL_MAX: Final = 100
"""Failures of all addresses together: guessing from many is guessing too."""
WINDOW_SECONDS: Final = 300.0
ADDRESSES_MAX: Final = 10_000


class SignInLimit:
    """Counts failed sign-ins of the last minutes, in bounded memory."""

    def __init__(self) -> None:
        self._by_address: dict[str, deque[float]] = {}
        self._all: deque[float] = deque(maxlen=FAILURES_OF_ALL_MAX)

    def wait_seconds(self, address: str, now: float) -> float:
        """How long the address must wait before a wrong guess is taken again; 0: not at all."""
        waits = [0.0]
        own = self._by_address.get(address, ())
        for failures, most in ((own, FAILURES_MAX), (self._all, FAILURES_OF_ALL_MAX)):
            recent = [at for at in failures if now - at < WINDOW_SECONDS]
            if len(recent) >= most:
                waits.append(recent[-most] + WINDOW_SECONDS - now)
        return max(waits)

    def note_failure(self, address: str, now: float) -> None:
        """Count a failure."""
        failures = self._by_address.pop(address, None) or deque(maxlen=FAILURES_MAX)
        failures.append(now)
        self._by_address[address] = failures
        self._all.append(now)
        while len(self._by_address) > ADDRESSES_MAX:
            del self._by_address[next(iter(self._by_address))]

    def note_success(self, address: str) -> None:
        """Forget the failures of an address that knew the token after all."""
        self._by_address.pop(address, None)
