"""Find the line on which a TOML key stands, because the parser does not keep it (pure)."""

import re
import tomllib
from collections.abc import Iterator

_TABLE = re.compile(r"^\s*\[\[?\s*(?P<name>[^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*(?P<name>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_TRIPLES = ('"""', "'''")


def line_of(text: str, path: str) -> int | None:
    """Return the first line (from 1) that declares `path`, or whatever stands inside it."""
    for number, declared in _declarations(text):
        if declared == path or declared.startswith(path + "."):
            return number
    return None


def _declarations(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted path) of every table header and key outside multi-line strings."""
    table = ""
    open_quote: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if open_quote is not None:
            if line.count(open_quote) % 2:
                open_quote = None
            continue
        open_quote = next((quote for quote in _TRIPLES if line.count(quote) % 2), None)
        if header := _TABLE.match(line):
            table = _bare(header["name"])
            yield number, table
        elif key := _KEY.match(line):
            name = _bare(key["name"])
            yield number, f"{table}.{name}" if table else name


def _bare(name: str) -> str:
    return ".".join(_plain(part.strip()) for part in name.split("."))


def _plain(part: str) -> str:
    if "\\" in part and part.startswith('"'):
        try:
            (part,) = tomllib.loads(f"{part} = 0")
        except ValueError:
            return part
        return part
    return part.strip("\"'")
