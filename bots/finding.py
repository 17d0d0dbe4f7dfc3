"""What a check of `threadwright doctor` found, and how to mend it."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Status(StrEnum):
    """How bad it is: `warn` works with less, `fail` does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line for the operator. Never contains the value of a secret."""

    check: str
    status: Status
    message: str
    mend: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the finding as it stands in JSON."""
        return asdict(self)


def ok(check: str, message: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(check=check, status=Status.OK, message=message)


def warn(check: str, message: str, *, mend: str) -> Finding:
    """Say that something works, but with less."""
    return Finding(check=check, status=Status.WARN, message=message, mend=mend)


def fail(check: str, message: str, *, mend: str) -> Finding:
    """Say that something does not work."""
    return Finding(check=check, status=Status.FAIL, message=message, mend=mend)
