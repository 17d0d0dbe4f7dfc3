"""The named queries of sql/*.sql. Each is written once, says why, and is PREPAREd by a test.

A query begins with `-- name: what(parameters) :kind` and a line of why. Kinds: `:one` gives a row or
None, `:many` rows, `:exec` the number of rows that it changed. What several queries of a file share
stands under `-- part: name` and is used as `{{name}}`, in other files as `{{file.name}}`.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_HEADER = re.compile(r"^-- name: (?P<name>\w+)\((?P<parameters>[^)]*)\) :(?P<kind>one|many|exec)$")

_FOREIGN = re.compile(r"\{\{(?P<file>\w+)\.(?P<name>\w+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statement with `$n` parameters. `name` is `file.query`."""

    name: str
    parameters: tuple[str, ...]
    kind: str
    why: str
    sql: str


@cache
def query(name: str) -> Query:
    """The query `file.query`. KeyError when there is none."""
    return load_file(name.partition(".")[0])[name]


@cache
def load_file(room: str) -> dict[str, Query]:
    """All queries of sql/{room}.sql by name."""
    return {found.name: found for found in _parse(room)}


def all_queries() -> list[Query]:
    """Every query of every file, in file order."""
    folder = files("engine.store") / "sql"
    rooms = sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir())
    return [found for room in rooms for found in load_file(room).values()]


def _parse(room: str) -> list[Query]:
    parts = _parts_of(room)
    blocks = [_with_parts(block, parts) for block in _blocks_of(room)]
    return [_parse_block(room, block) for block in blocks if block.startswith("-- name: ")]


@cache
def _parts_of(room: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for block in _blocks_of(room):
        if block.startswith("-- part: "):
            header, _, sql = block.partition("\n")
            parts[header.removeprefix("-- part: ")] = _with_parts(sql.strip(), parts)
    return parts


def _blocks_of(room: str) -> list[str]:
    text = (files("engine.store") / "sql" / f"{room}.sql").read_text(encoding="utf-8")
    return re.split(r"(?m)^(?=-- (?:name|part): )", text)


def _with_parts(sql: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        sql = sql.replace(f"{{{{{name}}}}}", part)
    return _FOREIGN.sub(lambda match: _parts_of(match["file"])[match["name"]], sql)


def _parse_block(room: str, block: str) -> Query:
    header, why, *lines = block.splitlines()
    match = _HEADER.match(header)
    if match is None or not why.startswith("-- "):
        raise ValueError(f"sql/{room}.sql: {header!r} is not a query's header with a line of why")
    parameters = tuple(part.strip() for part in match["parameters"].split(",") if part.strip())
    return Query(
        name=f"{room}.{match['name']}",
        parameters=parameters,
        kind=match["kind"],
        why=why.removeprefix("-- "),
        sql="\n".join(lines).strip().rstrip(";"),
    )
