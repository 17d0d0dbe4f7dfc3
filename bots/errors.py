"""What an operator is told when a command cannot do its work.

OperatorError   what is wrong, and how to mend it; printed as one line, exit code 1

`as_operator_error` finds it in what came out of a command: faults that a person can mend become one
line, everything else is a bug and keeps its traceback.
"""

import errno

from engine.store.errors import DatabaseUnavailable, MigrationFailed

_LISTENING = {errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES}


class OperatorError(Exception):
    """A command cannot go on, and a person can mend it. Shown without a traceback."""

    def __init__(self, what: str, *, mend: str) -> None:
        super().__init__(f"{what.rstrip('. ')}; {mend}")
        self.what = what
        self.mend = mend


def as_operator_error(fault: BaseException) -> OperatorError | None:
    """Return what to tell the operator, or None for a fault that nobody but us can mend.

    A group of faults counts as its first one when a person can mend all of them.
    """
    if isinstance(fault, OperatorError):
        return fault
    if isinstance(fault, BaseExceptionGroup):
        found = [as_operator_error(each) for each in fault.exceptions]
        return None if None in found else found[0]
    told = _told(fault)
    return OperatorError(told[0], mend=told[1]) if told else None


def _told(fault: BaseException) -> tuple[str, str] | None:
    """Return what is wrong and how to mend it."""
    match fault:
        case DatabaseUnavailable():
            return str(fault).removesuffix(fault.hint).rstrip(". "), fault.hint
        case MigrationFailed():
            return str(fault), "the schema is as it was before; mend that and run it again"
        case OSError(errno=int(number)) if number in _LISTENING:
            mend = "stop what holds it, or choose another address with --host and --port"
            return fault.strerror or str(fault), mend
        case _:
            return None
