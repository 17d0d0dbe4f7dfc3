"""Bots are folders; what is wrong with them is said all at once."""

from pathlib import Path

import pytest

from bots.brains import tools_of
from bots.catalog import DEFAULT_BOT, load_bots
from config.errors import ConfigInvalid
from engine.chat.answerers import Answerers


def make_bot(
    folder: Path, name: str, *, toml: str = "", persona: str | None = "You are Wren."
) -> None:
    (folder / name).mkdir()
    (folder / name / "bot.toml").write_text(toml or f'name = "{name}"\n')
    if persona is not None:
        (folder / name / "persona.md").write_text(persona)


def test_shipped_assistant_loads() -> None:
    bot = load_bots()[DEFAULT_BOT]
    assert bot.file.name == "Threadwright"
    assert "assistant" in bot.persona


def test_each_folder_is_a_bot(tmp_path: Path) -> None:
    make_bot(tmp_path, "wren")
    make_bot(tmp_path, "owl", persona="You are Owl.\n")
    (tmp_path / "notes").mkdir()
    bots = load_bots(str(tmp_path))
    assert list(bots) == ["owl", "wren"]
    assert bots["owl"].persona == "You are Owl."


def test_mistakes_of_all_bots_are_reported_together(tmp_path: Path) -> None:
    make_bot(tmp_path, "wren", toml="namee = 'Wren'\n")
    make_bot(tmp_path, "owl", persona=None)
    make_bot(tmp_path, "auk", persona=" \n")
    make_bot(tmp_path, "tit", toml="persona = '../wren/persona.md'\n")
    with pytest.raises(ConfigInvalid) as caught:
        load_bots(str(tmp_path))
    text = str(caught.value)
    assert "bot.toml:1: unknown key namee; did you mean name?" in text
    assert "owl/persona.md: cannot be read: No such file" in text
    assert "auk/persona.md: is empty" in text
    assert "tit/bot.toml: persona leads elsewhere" in text


def test_folder_without_bots_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="holds no bot"):
        load_bots(str(tmp_path))


def test_a_rule_for_nobody_is_a_mistake_with_its_place(tmp_path: Path) -> None:
    make_bot(tmp_path, "wren", toml='[tools]\nanswerers = ["U1"]\n')
    with pytest.raises(ConfigInvalid) as caught:
        load_bots(str(tmp_path))
    assert "wren/bot.toml: tools.answerers" in str(caught.value)
    assert "must be an identity" in str(caught.value)


@pytest.mark.parametrize(
    ("toml", "rule"),
    [("", None), ('[tools]\nanswerers = ["asker"]\n', Answerers(asker=True))],
)
def test_a_bot_says_who_may_answer_what_it_asks(
    tmp_path: Path, toml: str, rule: Answerers | None
) -> None:
    """D8: anyone, unless the bot's file says so."""
    make_bot(tmp_path, "wren", toml=toml)
    _, (ask,) = tools_of(load_bots(str(tmp_path))["wren"])
    assert (ask.name, ask.answerers) == ("ask_people", rule)
