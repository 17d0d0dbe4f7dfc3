"""What became of the mutants of one file, read from what mutmut leaves behind."""

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutmut.stats import status_by_exit_code

UNTESTED = {"no tests", "not checked", "skipped", "check was interrupted by user"}
LINE_MAX, CONTEXT = 140, 45


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdict:
    """The counts of one file, and a line for each mutant that nothing noticed."""

    file: str
    total: int
    timeouts: int
    survivors: tuple[str, ...]
    untested: tuple[str, ...]

    @property
    def killed(self) -> int:
        """Mutants that a test or the type checker noticed."""
        return self.total - self.timeouts - len(self.survivors) - len(self.untested)

    @property
    def module(self) -> str:
        """The dotted name, which every line of the file starts with."""
        return self.file.removesuffix(".py").replace("/", ".")


def read_verdict(mutants: Path, file: str) -> FileVerdict:
    """Read the verdict about one file. A file without functions has no mutants."""
    meta = mutants / f"{file}.meta"
    exits = json.loads(meta.read_bytes())["exit_code_by_key"] if meta.exists() else {}
    statuses = {name: status_by_exit_code[code] for name, code in exits.items()}
    alive = {
        name: status
        for name, status in statuses.items()
        if status == "survived" or status in UNTESTED
    }
    lines = _lines(mutants / file, tuple(alive))
    return FileVerdict(
        file=file,
        total=len(statuses),
        timeouts=sum(status == "timeout" for status in statuses.values()),
        survivors=tuple(sorted(lines[n] for n, status in alive.items() if status == "survived")),
        untested=tuple(sorted(lines[n] for n, status in alive.items() if status in UNTESTED)),
    )


def _lines(mutated: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Return for each mutant `module.function: before -> after`."""
    if not names:
        return {}
    tree = ast.parse(mutated.read_text(encoding="utf-8"))
    functions = {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {name: _line(name, functions) for name in names}


def _line(name: str, functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]) -> str:
    module, _, mutant = name.rpartition(".")
    stem, _, _ = mutant.rpartition("__mutmut_")
    before = _statements(functions[f"{stem}__mutmut_orig"])
    after = _statements(functions[mutant])
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = _joined(before[start : len(before) - end]), _joined(after[start : len(after) - end])
    return f"{module}.{_readable(stem)}: {' -> '.join(_around_the_change(old, new))}"


def _statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the lines of the signature and the body, without decorators and the name."""
    body = "\n".join(ast.unparse(statement) for statement in function.body)
    return [ast.unparse(function.args), *body.splitlines()]


def _around_the_change(old: str, new: str) -> tuple[str, str]:
    """Cut what two long lines have in common, but for some words around the change."""
    if max(len(old), len(new)) <= LINE_MAX:
        return old, new
    start = max(0, _common(old, new) - CONTEXT)
    end = max(0, _common(old[start:][::-1], new[start:][::-1]) - CONTEXT)
    return old[start : len(old) - end][:LINE_MAX], new[start : len(new) - end][:LINE_MAX]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the first elements two sequences share."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _readable(stem: str) -> str:
    """Undo mutmut's mangling: `x_function` and `xǁClassǁmethod`."""
    if "ǁ" in stem:
        return ".".join(part for part in stem.split("ǁ")[1:] if part)
    return re.sub("^x_", "", stem)


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)
