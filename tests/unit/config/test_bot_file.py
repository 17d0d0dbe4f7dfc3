"""A bot's file is checked as strictly as the settings."""

import pytest

from config.bot_file import parse_bot_file
from config.errors import ConfigInvalid


def test_bot_file_gives_name_model_and_tools() -> None:
    bot = parse_bot_file(
        "wren/bot.toml", 'name = "Wren"\n[model]\nname = "m"\n[tools]\nallow = ["a__*"]'
    )
    assert (bot.name, bot.model.name, bot.tools.allow) == ("Wren", "m", ("a__*",))
    assert bot.persona == "persona.md"


def test_unknown_key_of_a_bot_names_line_and_nearest() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_bot_file("wren/bot.toml", 'name = "Wren"\n[tools]\nalloww = ["*"]')
    assert (
        str(caught.value) == "wren/bot.toml:3: unknown key tools.alloww; did you mean tools.allow?"
    )
