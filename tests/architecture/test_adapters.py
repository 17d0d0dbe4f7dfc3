"""Platforms have the same shape, so that whoever knows one finds the way in the next."""

from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

NEUTRAL = {"delivery", "__pycache__"}
# A file on the left is of no use, or lacks its pure half, without those on the right.
COMPANIONS = {
    "receiver": {"translate"},
    "render": {"limits", "client"},
    "markup": {"render"},
    "buttons": {"translate", "render"},
}


def platforms() -> list[Path]:
    return sorted(
        path
        for path in (ROOT / "adapters").iterdir()
        if path.is_dir() and path.name not in NEUTRAL and list(path.glob("*.py"))
    )


def lacking(files: set[str]) -> dict[str, set[str]]:
    """Return for each file the companions that are missing."""
    return {
        name: missing
        for name, companions in COMPANIONS.items()
        if name in files and (missing := companions - files)
    }


def names_in(platform: Path) -> set[str]:
    """Return the modules and packages of a platform."""
    return {path.stem for path in platform.glob("*.py")} | {
        path.parent.name for path in platform.glob("*/__init__.py")
    }


@pytest.mark.parametrize("platform", platforms(), ids=lambda path: path.name)
def test_platform_has_the_shape_of_the_others(platform: Path) -> None:
    assert lacking(names_in(platform)) == {}


def test_rule_of_shape_bites() -> None:
    assert lacking({"receiver", "client"}) == {"receiver": {"translate"}}
    assert lacking({"receiver", "translate"}) == {}
