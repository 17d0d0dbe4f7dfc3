"""What can be wrong with a configuration.

ConfigInvalid        one or more problems, reported together
└── problems         each a `Problem`: what is wrong, where it came from, how to mend it
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in the configuration. Never contains the value of a secret."""

    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.mend}"


class ConfigInvalid(Exception):
    """The configuration cannot be used."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
