"""Asks before something is taken away that cannot be brought back; without a terminal nothing is."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bots.errors import OperatorError

if TYPE_CHECKING:
    from engine.store.catalog import Catalog

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(what: str, *, yes: bool) -> None:
    """Go on if somebody agrees that `what` is removed. Raises Abort, or OperatorError where nobody can."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise OperatorError(f"this would remove {what}, for good", mend="give --yes if it is meant")
    click.confirm(f"Remove {what}, for good?", abort=True, err=True)


async def belongings(catalog: "Catalog", providers: Sequence[str]) -> str:
    """How much goes with providers: their models and people's keys for them."""
    models = [each for each in await catalog.list_models() if each.provider in providers]
    keys = [each for each in await catalog.list_user_keys() if each.provider in providers]
    return f"{_count(len(models), 'model')} and {_count(len(keys), 'key')} of people"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
