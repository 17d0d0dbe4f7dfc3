"""Raw values with their origin: from a TOML text to typed values, mistakes collected (pure)."""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.address import ESCAPING_HINT
from config.convert import ValueInvalid, accepted, convert
from config.errors import Problem
from config.schema import NO_TABLES, SettingSpec, Tables
from config.toml_lines import line_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A value as it was found, and where."""

    value: object
    origin: str
    from_text: bool


def table_names(text: str, path: str) -> tuple[str, ...]:
    """Return the names of the tables under a path; none where the text is no TOML, or has none."""
    try:
        tree: object = tomllib.loads(text.removeprefix("\ufeff"))
    except (RecursionError, ValueError):
        return ()
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    found = tree if isinstance(tree, dict) else {}
    return tuple(name for name, value in found.items() if isinstance(value, dict))


def raws_of_toml(
    name: str,
    text: str,
    specs: Mapping[str, SettingSpec],
    problems: list[Problem],
    *,
    named: Tables = NO_TABLES,
) -> dict[str, Raw]:
    """Return the raw values of a TOML text by path; unknown keys and bad syntax are problems.

    `named`: the named tables in it, whose settings are among the specs.
    """
    try:
        tree = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        problems.append(Problem(where=name, what="is nested too deeply", mend="flatten it"))
        return {}
    except ValueError as error:
        # Also numbers that are too long to be read, which the parser does not call its own error.
        problems.append(Problem(where=name, what=f"is not TOML: {error}", mend="mend that line"))
        return {}
    raws: dict[str, Raw] = {}
    sections = {spec.section for spec in specs.values() if spec.section} | set(named)
    for path, value in _leaves(tree, sections):
        where = f"{name}:{line_of(text, path) or 1}"
        if path in specs:
            raws[path] = Raw(value=value, origin=where, from_text=False)
        elif path in sections:
            header = f"{path}.NAME" if path in named else path
            mend = f"write [{header}] and its keys below it"
            problems.append(Problem(where=where, what=f"{path} must be a table", mend=mend))
        else:
            problems.append(unknown_name("key", path, where, [*specs, *sections]))
    return raws


def converted(
    raws: Mapping[str, Raw], specs: Mapping[str, SettingSpec], problems: list[Problem]
) -> Iterator[tuple[str, object]]:
    """Yield (path, typed value); a value that does not fit is a problem, and never shown if it may be secret."""
    for path, raw in raws.items():
        spec = specs[path]
        try:
            yield path, convert(spec, raw.value, from_text=raw.from_text)
        except ValueInvalid:
            hidden = spec.is_secret or spec.limits.schemes
            given = "the value given" if hidden else repr(raw.value)
            hint = f"; {ESCAPING_HINT}" if spec.is_secret and spec.limits.schemes else ""
            problems.append(
                Problem(
                    where=raw.origin,
                    what=f"{path} cannot be {given}",
                    mend=f"accepted is {accepted(spec)}{hint}",
                )
            )


def unknown_name(noun: str, name: str, where: str, known: Iterable[str]) -> Problem:
    """Return the problem of a name nobody knows, with the nearest one that is known."""
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    mend = f"did you mean {nearest[0]}?" if nearest else "config/README.md lists every setting"
    return Problem(where=where, what=f"unknown {noun} {name}", mend=mend)


def _leaves(
    tree: Mapping[str, object], sections: set[str], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        path = f"{prefix}.{key}" if prefix else key
        if path in sections and isinstance(value, dict):
            yield from _leaves(value, sections, path)
        else:
            yield path, value
