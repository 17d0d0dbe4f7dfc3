"""What Slack would never give or take is told before anything starts, with how to mend it."""

from pathlib import Path

import pytest

from config.errors import ConfigInvalid
from config.load import load_settings

GOOD = 'bot_token = "xoxb-1"\napp_token = "xapp-1"\n'


def problems(path: Path, lines: str, tokens: str = GOOD) -> list[str]:
    """What is wrong with a [slack] table of these lines."""
    file = path / "threadwright.toml"
    file.write_text(f"[slack]\n{tokens}{lines}\n")
    try:
        load_settings({"THREADWRIGHT_CONFIG": str(file)})
    except ConfigInvalid as invalid:
        return [str(problem) for problem in invalid.problems]
    return []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('stop_reaction = ":octagonal_sign:"', "without colons"),
        ('retry_reaction = "Again!"', "no name of an emoji"),
        ('admins = ["Ada"]', "member id"),
        ('command = "agent"', "a slash"),
        ('command = "/Ask me"', "a slash"),
        ('install_teams = ["foo", "T1"]', "begin with T or E"),
    ],
)
def test_a_value_that_cannot_work_is_told(tmp_path: Path, line: str, said: str) -> None:
    (problem,) = problems(tmp_path, line)
    assert said in problem
    assert line.split(" ", maxsplit=1)[0] in problem


@pytest.mark.parametrize(
    "line",
    [
        'stop_reaction = "+1::skin-tone-2"',
        'done_reaction = "off"',
        'admins = ["U0AB1", "W1"]',
        'command = "/ask_2"',
        'install_teams = ["T1", "E1"]',
    ],
)
def test_a_value_that_can_work_is_taken(tmp_path: Path, line: str) -> None:
    assert problems(tmp_path, line) == []


def test_tokens_in_each_others_place_are_told_without_being_shown(tmp_path: Path) -> None:
    swapped = 'bot_token = "xapp-hush"\napp_token = "xoxb-hush"\n'
    found = problems(tmp_path, "", swapped)
    assert [line.split(":")[0] for line in found] == ["slack.bot_token", "slack.app_token"]
    assert "hush" not in "".join(found)
