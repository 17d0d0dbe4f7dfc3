"""What the commands on providers, models and keys share: the catalogue, and secrets that are no arguments."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from bots.cli_store import with_store
from bots.errors import OperatorError
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.catalog import Catalog
    from engine.store.catalog_entries import Rejection
    from engine.store.vault import Vault

KEY_BYTES_MAX = 65_536
Made = TypeVar("Made")
Command = TypeVar("Command", bound=Callable[..., None])


async def with_catalog(
    settings: Settings, work: Callable[["Catalog", "Vault"], Awaitable[None]]
) -> None:
    """Do the work on the catalogue of the configured database, or of the embedded one."""
    from bots.secret_key import with_secret_key
    from engine.store.catalog import Catalog
    from engine.store.vault import Vault

    settings = with_secret_key(settings)
    vault = Vault(settings.secret_key, settings.secret_key_previous)
    await with_store(settings, lambda pool: work(Catalog(pool, vault), vault))


def made(outcome: "Made | Rejection", mend: str = "see `threadwright providers list`") -> Made:
    """What came of a change. Raises OperatorError for a rejection."""
    from engine.store.catalog_entries import Rejection, RejectionReason

    if not isinstance(outcome, Rejection):
        return outcome
    if outcome.reason is RejectionReason.SECRET_KEY_MISSING:
        what, _, mend = outcome.sentence.partition("; ")
        raise OperatorError(what, mend=mend)
    if outcome.reason is RejectionReason.INVALID:
        mend = "mend that and run it again; --help tells what there is"
    raise OperatorError(outcome.sentence, mend=mend)


def key_options(command: Command) -> Command:
    """Where a key comes from. Never from the command line itself, which every process can read."""
    for option in (
        click.option("--key-env", metavar="NAME", help="Take the key from this variable."),
        click.option("--key-file", metavar="FILE", help="Take the key from this file."),
    ):
        command = option(command)
    return command


def read_key(environ: Mapping[str, str], key_env: str | None, key_file: str | None) -> str:
    """The key: from the variable or the file that is named, else asked for, or from standard input."""
    if key_env and key_file:
        raise click.UsageError("Give only one of --key-env and --key-file.")
    if key_env:
        key = environ.get(key_env, "")
        source = f"the variable {key_env}"
    elif key_file:
        key = _from_file(key_file)
        source = key_file
    elif sys.stdin.isatty():
        key = click.prompt("Key", hide_input=True, err=True)
        source = "the answer"
    else:
        key = sys.stdin.read(KEY_BYTES_MAX)
        source = "standard input"
    if not key.strip():
        raise OperatorError(f"{source} holds no key", mend="see --key-env and --key-file")
    return key.strip()


def _from_file(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8") as file:
            return file.read(KEY_BYTES_MAX)
    except OSError as error:
        raise OperatorError(
            f"{name}: {error.strerror}", mend="mend the path or its rights"
        ) from error
    except UnicodeDecodeError as error:
        raise OperatorError(f"{name} is not UTF-8 text", mend="see --key-file") from error
