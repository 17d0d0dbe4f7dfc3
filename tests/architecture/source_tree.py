"""The repository as the architecture tests read it: files, modules, syntax trees."""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("bots", "engine", "adapters", "config")
NOT_OURS = frozenset(
    {
        ".git",
        ".venv",
        "var",
        "dist",
        "htmlcov",
        "__pycache__",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".import_linter_cache",
    }
)


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below the folders (all rooms when none is given)."""
    return sorted(
        path
        for folder in folders or ROOMS
        for path in (ROOT / folder).rglob("*.py")
        if not NOT_OURS & set(path.parts)
    )


def repository_files(folder: Path = ROOT) -> Iterator[Path]:
    """Yield every file that may be committed."""
    for path in folder.iterdir():
        if path.name in NOT_OURS:
            continue
        if path.is_dir():
            yield from repository_files(path)
        elif path.is_file():
            yield path


def shown(path: Path) -> str:
    """Return the path as it is named in a failure."""
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    """Return the import name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def contract(contract_id: str) -> dict[str, Any]:
    """Return one import contract as pyproject.toml states it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    found: dict[str, Any] = next(each for each in contracts if each["id"] == contract_id)
    return found
