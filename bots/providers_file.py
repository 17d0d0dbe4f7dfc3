"""Reads a providers file with the keys that it names, and applies it to the database."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bots.cli_confirm import belongings, confirm
from bots.errors import OperatorError
from config.errors import ConfigInvalid, Problem
from config.providers_file import FileProvider, parse_providers_file
from engine.store.catalog import Catalog
from engine.store.catalog_entries import Rejection, Source
from engine.store.catalog_file import FileChange, FileEntry, Verb, apply_file


def read_providers_file(name: str, environ: Mapping[str, str]) -> tuple[FileEntry, ...]:
    """The file's providers, with their keys. Raises ConfigInvalid with every problem."""
    problems: list[Problem] = []
    path = Path(name)
    text = _read(path, name, "the providers file", problems)
    if text is None:
        raise ConfigInvalid(problems)
    entries = [
        FileEntry(
            fields={**provider.fields, "api_key": _key_of(provider, path, environ, problems)},
            models=[model.fields for model in provider.models],
        )
        for provider in parse_providers_file(name, text)
    ]
    if problems:
        raise ConfigInvalid(problems)
    return tuple(entries)


async def apply_providers(
    catalog: Catalog,
    entries: Sequence[FileEntry],
    name: str,
    *,
    dry_run: bool = False,
    may_be_empty: bool = False,
) -> tuple[FileChange, ...]:
    """Make the database what the file says; what was changed. Raises OperatorError.

    An empty file would remove everything that a file has brought, so it must be allowed to.
    """
    if not entries and not may_be_empty:
        stored = [each for each in await catalog.list_providers() if each.source is Source.FILE]
        if stored:
            names = ", ".join(each.spec.name for each in stored)
            what = f"{name} has no provider any more, but the database has {names} from it"
            mend = (
                f"mend the file, or run `threadwright providers apply {name} --yes` to remove them"
            )
            raise OperatorError(what, mend=mend)
    outcome = await apply_file(catalog, entries, dry_run=dry_run)
    if isinstance(outcome, Rejection):
        raise OperatorError(f"{name}: {outcome.sentence}", mend="nothing of the file was applied")
    return outcome


async def confirm_removals(catalog: Catalog, changes: Sequence[FileChange], *, yes: bool) -> None:
    """Ask before what has left the file is removed, if anything has."""
    gone = [change.reference for change in changes if change.verb is Verb.REMOVE]
    if gone:
        what = await belongings(catalog, gone)
        confirm(f"what has left the file ({', '.join(gone)}; {what} of these providers)", yes=yes)


def _key_of(
    provider: FileProvider, file: Path, environ: Mapping[str, str], problems: list[Problem]
) -> str | None:
    """The key, or None with a problem, or None where there is to be none."""
    if provider.api_key is not None:
        return provider.api_key.reveal()
    if provider.api_key_env is not None:
        if key := environ.get(provider.api_key_env, "").strip():
            return key
        what = f"the environment variable {provider.api_key_env}, which holds its key, is not set"
        problems.append(Problem(where=provider.key_where, what=what, mend="set it"))
    if provider.api_key_file is not None:
        # Beside the providers file, unless it is an absolute path.
        key_file = file.parent / provider.api_key_file
        return _read(key_file, provider.key_where, f"the file {key_file} with its key", problems)
    return None


def _read(path: Path, where: str, what: str, problems: list[Problem]) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    problems.append(
        Problem(
            where=where, what=f"{what} cannot be read: {reason}", mend="mend the path or its rights"
        )
    )
    return None
