"""Pure files take what they need as arguments.

A file is pure when an import contract lists it or when its docstring says "(pure)" or "Pure."; what
it says of itself is held against it. Import-linter sees the imports of those that are listed, and
no calls; here both are seen.
"""

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.architecture.source_tree import contract, module_of, python_files, shown, tree_of

IMPURE_BUILTINS = {"open", "print", "input", "breakpoint", "exec", "eval", "id"}
# Method or function name -> the objects it is impure on; an empty set means on any.
IMPURE_CALLS: dict[str, set[str]] = {
    "now": {"datetime"},
    "utcnow": {"datetime"},
    "today": {"date", "datetime"},
    "uuid1": set(),
    "uuid4": set(),
    "uuid6": set(),
    "uuid7": set(),
    "token_hex": set(),
    "token_urlsafe": set(),
    "token_bytes": set(),
    "read_text": set(),
    "read_bytes": set(),
    "write_text": set(),
    "write_bytes": set(),
    "getLogger": set(),
}
IMPURE_MODULES = {
    *contract("pure-core")["forbidden_modules"],
    *contract("pure-edges")["forbidden_modules"],
    "secrets",
    "subprocess",
    "threading",
    "urllib.request",
}
# Run by `make docs` alone, never by the program.
WRITES_DOCUMENTS = {"engine/chat/specification.py"}
SAYS_PURE = re.compile(r"\(pure\)|^Pure[:.,]|\. Pure[:.,]", re.MULTILINE)


def is_impure_module(name: str) -> bool:
    return name in IMPURE_MODULES or name.split(".", maxsplit=1)[0] in IMPURE_MODULES


def is_listed(module: str) -> bool:
    packages = contract("pure-core")["source_modules"]
    files = contract("pure-edges")["source_modules"]
    return any(module == name or module.startswith(name + ".") for name in packages) or any(
        fnmatchcase(module, pattern) for pattern in files
    )


def impurities(tree: ast.AST) -> list[str]:
    """Return what a pure file may not do, each as line and reason."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [
                f"{node.lineno}: import {alias.name}"
                for alias in node.names
                if is_impure_module(alias.name)
            ]
        elif isinstance(node, ast.ImportFrom) and is_impure_module(node.module or ""):
            found.append(f"{node.lineno}: from {node.module}")
        elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            found.append(f"{node.lineno}: waits")
        elif isinstance(node, ast.Call) and (name := impure_call(node)):
            found.append(f"{node.lineno}: {name}()")
    return found


def impure_call(call: ast.Call) -> str | None:
    """Return the name of an impure call, else None."""
    if isinstance(call.func, ast.Name):
        name = call.func.id
        return name if name in IMPURE_BUILTINS or IMPURE_CALLS.get(name) == set() else None
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in IMPURE_CALLS:
        return None
    owners = IMPURE_CALLS[call.func.attr]
    owner = call.func.value
    owner_name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return call.func.attr if not owners or owner_name in owners else None


def pure_files() -> list[Path]:
    return [
        path
        for path in python_files()
        if shown(path) not in WRITES_DOCUMENTS
        and (is_listed(module_of(path)) or SAYS_PURE.search(ast.get_docstring(tree_of(path)) or ""))
    ]


def test_pure_files_read_no_clock_draw_no_lots_and_do_no_io() -> None:
    found = {shown(path): impurities(tree_of(path)) for path in pure_files()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_configuration_and_chat_are_among_the_pure() -> None:
    modules = {module_of(path) for path in pure_files()}
    assert {"config.settings", "config.raw", "engine.chat.snapshot"} <= modules


@pytest.mark.parametrize(
    "code",
    [
        "from datetime import datetime\nx = datetime.now()",
        "import datetime\nx = datetime.datetime.now(datetime.UTC)",
        "import uuid\nx = uuid.uuid4()",
        "from uuid import uuid4\nx = uuid4()",
        "import secrets",
        "from random import choice",
        "x = open('y')",
        "async def f(): await g()",
        "from pathlib import Path\nx = Path('y').read_text()",
    ],
)
def test_rule_of_purity_bites(code: str) -> None:
    assert impurities(ast.parse(code))


def test_rule_of_purity_lets_values_pass() -> None:
    code = (
        "from datetime import datetime, timedelta\ndef f(now: datetime): return now + timedelta(1)"
    )
    assert impurities(ast.parse(code)) == []
