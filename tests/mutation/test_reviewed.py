"""The list of reviewed survivors: each has a reason, covers what it names, and goes when it is needless."""

from pathlib import Path

import pytest

from tests.mutation.reviewed import read_reviewed

SURVIVOR = "engine.chat.form.derive: kind = 'a [number]' -> kind = None"


def test_every_reviewed_survivor_has_a_reason() -> None:
    assert read_reviewed(Path(__file__).parent / "survivors.txt").patterns


@pytest.mark.parametrize(
    ("pattern", "knows"),
    [
        (SURVIVOR, True),
        ("engine.chat.form.derive: kind = * -> *", True),
        ("engine.chat.form.*", True),
        ("engine.chat.form.derive: kind = 'a n'*", False),
        ("engine.chat.form.derive", False),
    ],
)
def test_a_star_is_any_text_and_other_signs_are_themselves(
    tmp_path: Path, pattern: str, *, knows: bool
) -> None:
    listed = tmp_path / "survivors.txt"
    listed.write_text(f"# Wording.\n{pattern}\n", encoding="utf-8")
    assert read_reviewed(listed).knows(SURVIVOR) is knows


def test_a_pattern_without_a_reason_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "survivors.txt"
    listed.write_text("# Wording.\nengine.a.b: *\n\nengine.a.c: *\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"engine\.a\.c: \*' needs a reason"):
        read_reviewed(listed)


def test_a_pattern_that_nothing_needs_is_stale_where_its_module_was_mutated(tmp_path: Path) -> None:
    listed = tmp_path / "survivors.txt"
    listed.write_text("# Wording.\nengine.a.f: *\nengine.b.f: *\n", encoding="utf-8")
    reviewed = read_reviewed(listed)
    assert reviewed.stale([], ["engine.a"]) == ["engine.a.f: *"]
    assert reviewed.stale(["engine.a.f: x -> y"], ["engine.a", "engine.b"]) == ["engine.b.f: *"]
