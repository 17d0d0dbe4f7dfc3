"""What an operator is told when a command cannot do its work.

OperatorError   what is wrong, and how to mend it; printed as one line, exit code 1
"""


class OperatorError(Exception):
    """A command cannot go on, and a person can mend it. Shown without a traceback."""

    def __init__(self, what: str, *, mend: str) -> None:
        super().__init__(f"{what}; {mend}")
        self.what = what
        self.mend = mend
