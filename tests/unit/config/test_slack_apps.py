"""Several Slack apps in one configuration: each in its table, each strictly read, none mixed up."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bots.cli import cli
from config.display import effective_values
from config.errors import ConfigInvalid
from config.load import Loaded, load_settings
from config.secret import Secret
from config.settings import Role
from config.slack_app_settings import InstallPolicy
from config.slack_apps import slack_apps

TWO = """
[slack]
bot_token = "xoxb-hush-1"
app_token = "xapp-hush-1"
[slack.apps.tugboat]
bot_token = "xoxb-hush-2"
signing_secret = "hush-signing"
bot = "pilot"
"""
TUGBOAT = "[slack.apps.tugboat]\nbot_token = 'x'\napp_token = 'y'\n"
INSTALLED = """
[server]
public_url = "https://wren.example"
[slack]
signing_secret = "hush-signing"
client_id = "11.22"
client_secret = "hush-client"
install_teams = ["T1", "E1"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threadwright.toml"


def load(file: Path, text: str, **environ: str) -> Loaded:
    file.write_text(text)
    return load_settings({"THREADWRIGHT_CONFIG": str(file), **environ})


def problems(file: Path, text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        load(file, text, **environ)
    return [str(problem) for problem in caught.value.problems]


def test_apps_stand_beside_the_one_without_a_name(file: Path) -> None:
    loaded = load(file, TWO)
    apps = slack_apps(loaded.settings.slack)
    assert list(apps) == ["", "tugboat"]
    assert apps[""].bot_token == Secret("xoxb-hush-1")
    assert (apps["tugboat"].bot_token, apps["tugboat"].app_token) == (Secret("xoxb-hush-2"), None)
    assert (apps["tugboat"].bot, apps[""].bot) == ("pilot", None)
    assert Role.SLACK in loaded.settings.roles
    assert loaded.origins["slack.apps.tugboat.bot_token"] == f"{file}:6"


def test_named_apps_alone_are_enough(file: Path) -> None:
    loaded = load(file, "[slack.apps.tugboat]\nbot_token = 'x'\nsigning_secret = 'y'\n")
    assert list(slack_apps(loaded.settings.slack)) == ["tugboat"]
    assert Role.SLACK in loaded.settings.roles


def test_secrets_of_a_named_app_come_from_variables_and_files(file: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("xoxb-from-file\n")
    loaded = load(
        file,
        "[slack.apps.tugboat]\n",
        THREADWRIGHT_SLACK_APPS_TUGBOAT_BOT_TOKEN_FILE=str(secret),
        THREADWRIGHT_SLACK_APPS_TUGBOAT_APP_TOKEN="xapp-2",
        # The usual variables are those of the app without a name.
        SLACK_BOT_TOKEN="xoxb-1",
        SLACK_APP_TOKEN="xapp-1",
        SLACK_SIGNING_SECRET="of-the-first",
    )
    apps = slack_apps(loaded.settings.slack)
    assert apps["tugboat"].bot_token == Secret("xoxb-from-file")
    assert apps["tugboat"].app_token == Secret("xapp-2")
    assert apps[""].bot_token == Secret("xoxb-1")
    assert apps[""].signing_secret == Secret("of-the-first")
    assert apps["tugboat"].signing_secret is None


def test_secrets_of_all_apps_are_masked(file: Path) -> None:
    loaded = load(file, TWO + "client_secret = 'hush-client'\n")
    rows = {path: value for path, value, _ in effective_values(loaded.settings, loaded.origins)}
    assert rows["slack.apps.tugboat.bot_token"] == rows["slack.bot_token"]
    assert rows["slack.apps.tugboat.bot"] == "pilot"
    assert "hush" not in str(rows)
    file.write_text(file.read_text().replace("pilot", "assistant"))
    done = CliRunner().invoke(cli, ["--config", str(file), "check-config", "--json"])
    assert done.exit_code == 0
    assert "hush" not in done.output
    assert "slack.apps.tugboat.signing_secret" in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{TUGBOAT}bot_tokn = 'x'",
            ":4: unknown key slack.apps.tugboat.bot_tokn; did you mean slack.apps.tugboat.bot_token?",
        ),
        (
            f"{TUGBOAT}stop_words = ['x']",
            ":4: unknown key slack.apps.tugboat.stop_words",
        ),
        (
            "[slack]\napps = 3",
            ":2: slack.apps must be a table; write [slack.apps.NAME] and its keys below it",
        ),
        ("[slack.apps]\ntugboat = 3", ":2: unknown key slack.apps.tugboat"),
        (
            f"{TUGBOAT}sockets = 11",
            "accepted is a whole number from 1 to 10",
        ),
        (
            "[slack.apps.Tug-Boat]\nbot_token = 'x'\napp_token = 'y'",
            ":1: 'Tug-Boat' cannot be the name of a table of slack.apps",
        ),
        (
            '[slack.apps."a@b:c"]\nbot_token = "x"\napp_token = "y"',
            ":1: 'a@b:c' cannot be the name of a table of slack.apps",
        ),
        (
            "[slack.apps.tugboat]\nsigning_secret = 'x'",
            "slack.apps.tugboat.bot_token: is missing, but Slack is asked for; set "
            "slack.apps.tugboat.bot_token",
        ),
        (
            "[slack.apps.tugboat]\nbot_token = 'x'",
            "set slack.apps.tugboat.app_token (Socket Mode) or slack.apps.tugboat.signing_secret",
        ),
        (
            "[slack]\nbot_token = 'x'\nsigning_secret = 's'\nclient_id = '1'\nclient_secret = 'y'",
            "slack.client_id: is set together with a bot token",
        ),
    ],
)
def test_mistakes_in_apps_are_named(file: Path, text: str, expected: str) -> None:
    (problem,) = problems(file, text)
    assert expected in problem


def test_two_apps_do_not_share_what_tells_them_apart(file: Path) -> None:
    text = TWO.replace("xoxb-hush-2", "xoxb-hush-1") + "[slack.apps.third]\n"
    text += "bot_token = 'x'\nsigning_secret = 'hush-signing'\n"
    assert problems(file, text) == [
        "slack.apps.tugboat.bot_token: is that of slack.bot_token too; give each app what its own "
        "settings in Slack show",
        "slack.apps.third.signing_secret: is that of slack.apps.tugboat.signing_secret too; give "
        "each app what its own settings in Slack show",
    ]


def test_a_variable_of_an_app_that_has_no_table_is_a_problem(file: Path) -> None:
    (problem,) = problems(file, "", THREADWRIGHT_SLACK_APPS_TUGBOAT_BOT_TOKEN="x")
    assert problem.endswith(
        "it takes a table [slack.apps.NAME] of that name, if an empty one, in the TOML file"
    )


def test_an_app_that_people_install_needs_no_bot_token(file: Path) -> None:
    loaded = load(file, INSTALLED)
    app = slack_apps(loaded.settings.slack)[""]
    assert app.can_be_installed
    assert (app.install, app.install_teams) == (InstallPolicy.LISTED, ("T1", "E1"))
    assert Role.SLACK in loaded.settings.roles


@pytest.mark.parametrize(
    ("before", "after", "environ", "expected"),
    [
        ("client_secret = ", "bot = ", {}, "slack.client_secret: is missing"),
        ('["T1", "E1"]', "[]", {}, "slack.install_teams: is empty, so nobody can install the app"),
        ("signing_secret", "bot", {}, "slack.client_id: is set, but no way to receive events is"),
        ("public_url", "host", {}, "server.public_url: is missing"),
        ("https:", "http:", {}, "server.public_url: does not begin with https://"),
        (
            "",
            "",
            {"DATABASE_URL": "postgresql://h/db"},
            "secret_key: is missing, and seals the tokens of installed Slack apps",
        ),
    ],
)
def test_what_installations_need_is_asked_for(
    file: Path, before: str, after: str, environ: dict[str, str], expected: str
) -> None:
    (problem,) = problems(file, INSTALLED.replace(before, after), **environ)
    assert expected in problem


def test_installations_may_be_tried_on_this_machine(file: Path) -> None:
    text = INSTALLED.replace("https://wren.example", "http://127.0.0.1:8080")
    text = text.replace('install_teams = ["T1", "E1"]', 'install = "open"')
    assert load(file, text).settings.slack.install is InstallPolicy.OPEN
