"""A pytest plugin for mutation runs: quick tests first, and property tests with few examples.

Most mutants die of the first plain test of their own file, so that the slow tests, which prove
properties and live random lives, are asked only about those that are left.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

EXAMPLES_MAX = 20
STEPS_MAX = 30

# Loaded before the tests are imported, so that their own settings grow from it. The mutated
# functions are called through others and are too slow for the health checks.
settings.register_profile(
    "mutation",
    database=None,
    deadline=None,
    derandomize=True,
    max_examples=EXAMPLES_MAX,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutation")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort plain tests of the mutant's file first, then the plain, then those of properties."""
    mutant = os.environ.get("MUTANT_UNDER_TEST", "").split(".")
    room = mutant[2] if len(mutant) > 2 else ""
    for item in items:
        if _is_property(item):
            _take_few_examples(item)
    items.sort(key=lambda item: _rank(item, room))


def _is_property(item: pytest.Item) -> bool:
    return item.get_closest_marker("hypothesis") is not None


def _rank(item: pytest.Item, room: str) -> tuple[bool, bool]:
    return _is_property(item), not (room and room in Path(item.path).stem)


def _take_few_examples(item: pytest.Item) -> None:
    """Bound a property test's examples, whatever its own settings ask for."""
    case = getattr(item, "cls", None)
    if case is not None and hasattr(case, "settings"):
        case.settings = _few(case.settings)
        return
    test = getattr(item, "obj", None)
    stated = getattr(test, "_hypothesis_internal_use_settings", None)
    if stated is not None:
        test._hypothesis_internal_use_settings = _few(stated)  # type: ignore[union-attr]


def _few(stated: settings) -> settings:
    return settings(
        stated,
        database=None,
        derandomize=True,
        max_examples=min(stated.max_examples, EXAMPLES_MAX),
        stateful_step_count=min(stated.stateful_step_count, STEPS_MAX),
    )
