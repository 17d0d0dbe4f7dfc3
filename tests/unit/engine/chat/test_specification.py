"""The specification's generated parts."""

from pathlib import Path

import pytest

from engine.chat import specification

MARKED = "\n".join(
    f"before\n<!-- generated: {name} -->\nstale\n<!-- end of {name} -->\nafter"
    for name in ("table", "diagram")
)


def test_only_what_is_between_the_marks_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(MARKED, encoding="utf-8")
    monkeypatch.setattr(specification, "README", readme)
    specification.main()
    text = readme.read_text(encoding="utf-8")
    assert "stale" not in text
    assert text.count("before") == text.count("after") == 2
    assert "| Interrupt | · | · | · | · | I0 | I1 | · | · | W0 | R0 R1 |" in text
    assert "    R --> I: SendMessage<br/>PromoteQueuedMessage<br/>Interrupt\n" in text


def test_missing_mark_is_named() -> None:
    with pytest.raises(ValueError, match="end of table"):
        specification.render(MARKED.replace("end of table", "end"))
