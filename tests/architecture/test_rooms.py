"""What the house looks like: sizes, names, first lines, and where the environment is read."""

import ast
import re

import pytest

from tests.architecture.source_tree import python_files, shown, tree_of

LINES_MAX = 400
NAMES_THAT_SAY_NOTHING = re.compile(
    r"_?(utils?|helpers?|common|misc|base|core|services?|handlers?|managers?)"
)
# The command line hands the environment to `config.load`; nobody else looks at it.
READS_ENVIRONMENT = {"bots/cli.py"}


def test_no_file_is_longer_than_a_room() -> None:
    sizes = {
        shown(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in (*python_files(), *python_files("tests"))
    }
    assert {path: size for path, size in sizes.items() if size > LINES_MAX} == {}


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    nameless = [
        shown(path)
        for path in (*python_files(), *python_files("tests"))
        if NAMES_THAT_SAY_NOTHING.fullmatch(path.stem)
        or NAMES_THAT_SAY_NOTHING.fullmatch(path.parent.name)
    ]
    assert nameless == []


@pytest.mark.parametrize(
    ("name", "says_nothing"),
    [("utils", True), ("_helpers", True), ("manager", True), ("runner_manager", False)],
)
def test_rule_of_names_bites(name: str, *, says_nothing: bool) -> None:
    assert bool(NAMES_THAT_SAY_NOTHING.fullmatch(name)) is says_nothing


def test_every_module_says_what_it_owns() -> None:
    silent = [
        shown(path)
        for path in python_files()
        if tree_of(path).body and not ast.get_docstring(tree_of(path))
    ]
    assert silent == []


def test_environment_is_read_in_one_place() -> None:
    readers = {
        shown(path)
        for path in python_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id)
        in {"environ", "getenv", "environb"}
        and _is_of_os(node)
    }
    assert readers <= READS_ENVIRONMENT


def _is_of_os(node: ast.Attribute | ast.Name) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "getenv"
    return isinstance(node.value, ast.Name) and node.value.id == "os"


def test_tests_wait_for_conditions_not_for_time() -> None:
    sleeping = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("tests")
        if not {"fakes", "benchmarks", "soak"} & set(path.parts)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and _sleeps_long(node)
    ]
    assert sleeping == []


def _sleeps_long(call: ast.Call) -> bool:
    """Tell whether it is a sleep for a stated time longer than a polling pause."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "sleep" or not call.args or not isinstance(call.args[0], ast.Constant):
        return False
    seconds = call.args[0].value
    return isinstance(seconds, int | float) and 0.1 < seconds < 60
