"""Secrets that cannot be printed by accident: every textual form of them is masked."""

from config.address import MASK, masked_address


class Secret:
    """Hold a value that `str`, `repr`, `format` and logs show as a mask. Only `reveal` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself; call it where the value is sent, never where text is built."""
        return self._value

    def masked(self) -> str:
        """Return what may be shown to an operator."""
        return MASK

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.masked()!r})"

    def __str__(self) -> str:
        return self.masked()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        # A pickled or deep-copied secret would be a second, unguarded copy.
        raise TypeError("a secret is not serialised")


class SecretUrl(Secret):
    """Hold an address whose password is masked; host and database stay readable."""

    __slots__ = ()

    def masked(self) -> str:
        """Return the address without user, password and values of its query."""
        return masked_address(self._value)
