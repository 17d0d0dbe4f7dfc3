"""Settings come from one TOML file and the environment, and every mistake is named at once."""

from pathlib import Path

import pytest

from config.errors import ConfigInvalid
from config.load import load_settings
from config.secret import Secret
from config.settings import BusyBehavior, ModelProvider, ModelWire, Role


def problems_of(environ: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(environ)
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "threadwright.toml"


def test_nothing_set_gives_a_working_demo_configuration() -> None:
    loaded = load_settings({"HOME": "/home/ada"})
    settings = loaded.settings
    assert settings.server.host == "127.0.0.1"
    assert settings.server.port == 8080
    assert settings.database.url is None
    assert settings.model.provider is ModelProvider.DEMO
    assert settings.state_dir == "/home/ada/.local/state/threadwright"
    assert settings.roles == (Role.API, Role.WORKER)
    assert loaded.origins == {}


def test_environment_wins_over_the_file_and_the_command_line_over_both(toml: Path) -> None:
    toml.write_text("[server]\nport = 1111\nhost = 'file'\n[worker]\nchats_max = 7\n")
    loaded = load_settings(
        {"THREADWRIGHT_CONFIG": str(toml), "THREADWRIGHT_PORT": "2222", "THREADWRIGHT_HOST": "env"},
        overrides={"server.port": "3333"},
    )
    server = loaded.settings.server
    assert (server.host, server.port, loaded.settings.worker.chats_max) == ("env", 3333, 7)
    assert loaded.origins == {
        "server.host": "environment THREADWRIGHT_HOST",
        "server.port": "command line",
        "worker.chats_max": f"{toml}:5",
    }


def test_systematic_name_wins_over_the_ecosystem_name() -> None:
    environ = {"DATABASE_URL": "postgresql://a/b", "THREADWRIGHT_DATABASE_URL": "postgresql://c/d"}
    url = load_settings(environ).settings.database.url
    assert url is not None
    assert url.reveal() == "postgresql://c/d"


def test_unknown_key_names_file_line_and_nearest_name(toml: Path) -> None:
    toml.write_text("# Wren\n[worker]\npoll_seconds = 2\nleese_seconds = 30\n")
    assert problems_of({"THREADWRIGHT_CONFIG": str(toml)}) == [
        f"{toml}:4: unknown key worker.leese_seconds; did you mean worker.lease_seconds?"
    ]


def test_unknown_section_names_its_line_and_the_nearest_one(toml: Path) -> None:
    toml.write_text("state_dir = '/x'\n\n[slak]\nbot_token = 'xoxb-1'\n")
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": str(toml)})
    assert problem == f"{toml}:3: unknown key slak; did you mean slack?"


def test_unknown_environment_name_names_the_nearest_one() -> None:
    assert problems_of({"THREADWRIGHT_WORKER_LEASE": "30"}) == [
        "environment: unknown setting THREADWRIGHT_WORKER_LEASE; "
        "did you mean THREADWRIGHT_WORKER_LEASE_SECONDS?"
    ]


def test_foreign_environment_names_are_left_alone() -> None:
    load_settings(
        {"WORKER_LEASE": "x", "THREADWRIGHTISH": "y", "THREADWRIGHT_REQUIRE_BROWSER": "1"}
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[server]\nport = '80'",
            "server.port cannot be '80'; accepted is a whole number from 0 to 65535",
        ),
        (
            "[server]\nport = 70000",
            "server.port cannot be 70000; accepted is a whole number from 0 to",
        ),
        ("[server]\nport = true", "server.port cannot be True"),
        ("[server]\nport = 80.5", "server.port cannot be 80.5"),
        (
            "[worker]\nlease_seconds = nan",
            "worker.lease_seconds cannot be nan; accepted is a number from",
        ),
        (
            "[slack]\nstop_words = 'stop'",
            "slack.stop_words cannot be 'stop'; accepted is a list of texts",
        ),
        ("[slack]\nbusy_behavior = 'wait'", "accepted is one of queue, interrupt"),
        ("[model]\nbase_url = 'ftp://x'", "an address that starts with http:// or https://"),
        ("roles = ['api', 'cook']", "accepted is a list of any of api, worker, slack"),
        ("[server]\nhost = ''", "server.host cannot be ''; accepted is text that is not empty"),
    ],
)
def test_value_that_does_not_fit_names_place_and_what_is_accepted(
    toml: Path, line: str, expected: str
) -> None:
    toml.write_text(line + "\n")
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": str(toml)})
    number = line.count("\n") + 1
    assert problem.startswith(f"{toml}:{number}: ")
    assert expected in problem


def test_all_problems_are_reported_together(toml: Path) -> None:
    toml.write_text("[server]\nprot = 1\nport = 'x'\n")
    environ = {"THREADWRIGHT_CONFIG": str(toml), "THREADWRIGHT_LOG_LEVEL": "loud"}
    assert len(problems_of(environ)) == 3


def test_environment_text_is_converted_to_the_declared_type() -> None:
    settings = load_settings(
        {
            "THREADWRIGHT_WORKER_LEASE_SECONDS": "45.5",
            "THREADWRIGHT_SLACK_STOP_WORDS": "halt, enough ",
            "THREADWRIGHT_SLACK_BUSY_BEHAVIOR": "interrupt",
            "THREADWRIGHT_ROLES": "api,worker",
        }
    ).settings
    assert settings.worker.lease_seconds == 45.5
    assert settings.slack.stop_words == ("halt", "enough")
    assert settings.slack.busy_behavior is BusyBehavior.INTERRUPT
    assert settings.roles == (Role.API, Role.WORKER)


def test_empty_variable_counts_as_not_set() -> None:
    assert load_settings({"OPENAI_API_KEY": "", "THREADWRIGHT_PORT": ""}).origins == {}


def test_secret_comes_from_a_file_without_its_newline(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("xoxb-from-file\n")
    slack = {"SLACK_BOT_TOKEN_FILE": str(file), "SLACK_APP_TOKEN": "xapp-1"}
    loaded = load_settings(slack)
    assert loaded.settings.slack.bot_token == Secret("xoxb-from-file")
    assert loaded.origins["slack.bot_token"] == f"file {file} (SLACK_BOT_TOKEN_FILE)"
    assert Role.SLACK in loaded.settings.roles


def test_model_key_from_a_file_chooses_the_provider(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-1")
    model = load_settings({"OPENAI_API_KEY_FILE": str(file)}).settings.model
    assert (model.provider, model.api_key) == (ModelProvider.OPENAI, Secret("sk-1"))


def test_secret_and_its_file_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t")
    environ = {"DISCORD_TOKEN": "a", "DISCORD_TOKEN_FILE": str(file)}
    assert "set only one of the two" in problems_of(environ)[0]


def test_missing_secret_file_says_which_variable_named_it() -> None:
    (problem,) = problems_of({"DISCORD_TOKEN_FILE": "/nowhere/token"})
    assert problem.startswith(
        "/nowhere/token: cannot be read (named by DISCORD_TOKEN_FILE): No such"
    )


def test_missing_config_file_says_which_variable_named_it() -> None:
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": "/nowhere/x.toml"})
    assert problem.startswith(
        "/nowhere/x.toml: cannot be read (named by THREADWRIGHT_CONFIG or --config): No such"
    )


def test_broken_toml_names_its_line(toml: Path) -> None:
    toml.write_text("[server]\nport = = 1\n")
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": str(toml)})
    assert "is not TOML" in problem
    assert "line 2" in problem


def test_no_problem_shows_a_secret(toml: Path) -> None:
    toml.write_text("[slack]\nbot_token = 123456789\nsigning_secret = ['hush-hush']\n")
    found = problems_of(
        {"THREADWRIGHT_CONFIG": str(toml), "DATABASE_URL": "mysql://u:hush-hush@h/d"}
    )
    assert len(found) >= 3
    assert "hush" not in "\n".join(found)
    assert "123456789" not in "\n".join(found)


@pytest.mark.parametrize(
    ("environ", "provider", "key"),
    [
        ({"OPENAI_API_KEY": "o"}, ModelProvider.OPENAI, "o"),
        ({"ANTHROPIC_API_KEY": "a"}, ModelProvider.ANTHROPIC, "a"),
        ({"ANTHROPIC_BASE_URL": "http://h"}, ModelProvider.ANTHROPIC, None),
        (
            {
                "OPENAI_API_KEY": "o",
                "ANTHROPIC_API_KEY": "a",
                "THREADWRIGHT_MODEL_PROVIDER": "anthropic",
            },
            ModelProvider.ANTHROPIC,
            "a",
        ),
        ({"ANTHROPIC_API_KEY": "a", "THREADWRIGHT_MODEL_API_KEY": "m"}, ModelProvider.OPENAI, "m"),
        (
            {"ANTHROPIC_API_KEY": "a", "THREADWRIGHT_MODEL_PROVIDER": "demo"},
            ModelProvider.DEMO,
            None,
        ),
        ({"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}, ModelProvider.OPENAI, "o"),
        ({"OPENAI_API_KEY": "o", "THREADWRIGHT_MODEL_PROVIDER": "demo"}, ModelProvider.DEMO, None),
        ({"THREADWRIGHT_MODEL_API_KEY": "m"}, ModelProvider.OPENAI, "m"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, ModelProvider.OPENAI, None),
    ],
)
def test_provider_follows_the_key_that_is_set(
    environ: dict[str, str], provider: ModelProvider, key: str | None
) -> None:
    model = load_settings(environ).settings.model
    assert model.provider is provider
    assert (model.api_key.reveal() if model.api_key else None) == key
    assert model.name


def test_anthropic_has_its_own_usual_model_and_address() -> None:
    model = load_settings({"ANTHROPIC_API_KEY": "a"}).settings.model
    assert model.base_url == "https://api.anthropic.com"
    assert (model.name or "").startswith("claude-")
    openai = {"THREADWRIGHT_MODEL_PROVIDER": "anthropic", "OPENAI_BASE_URL": "http://127.0.0.1:1"}
    assert load_settings(openai).settings.model.base_url == "https://api.anthropic.com"


def test_openai_may_be_asked_through_responses() -> None:
    environ = {"OPENAI_API_KEY": "o", "THREADWRIGHT_MODEL_WIRE": "responses"}
    assert load_settings(environ).settings.model.wire is ModelWire.RESPONSES


def test_key_of_one_provider_is_never_sent_to_the_other() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "ANTHROPIC_API_KEY": "a"}
    model = load_settings(environ).settings.model
    assert model.base_url == "http://127.0.0.1:1/v1"
    assert model.api_key is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (
            {"THREADWRIGHT_WORKER_HEARTBEAT_SECONDS": "20"},
            "worker.heartbeat_seconds: must be at most",
        ),
        (
            {"THREADWRIGHT_DATABASE_POOL_MIN": "50"},
            "database.pool_min: is more than database.pool_max",
        ),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, "slack.bot_token: is missing"),
        ({"THREADWRIGHT_ROLES": "discord"}, "roles: discord is not available in this version"),
        ({"THREADWRIGHT_ROLES": "api,webhook"}, "roles: webhook is not available in this version"),
        (
            {"ANTHROPIC_API_KEY": "a", "THREADWRIGHT_MODEL_WIRE": "responses"},
            "model.wire: responses goes with the provider openai, not with anthropic",
        ),
        (
            {"THREADWRIGHT_SECRET_KEY": "too short"},
            "secret_key: is shorter than 16 characters, so it can be guessed",
        ),
        (
            {"THREADWRIGHT_SECRET_KEY_PREVIOUS": "too short"},
            "secret_key_previous: is shorter than 16 characters",
        ),
    ],
)
def test_contradictions_between_settings_are_problems(
    environ: dict[str, str], expected: str
) -> None:
    (problem,) = problems_of(environ)
    assert expected in problem


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[model]\nbase_url = 'ftp://u:pwhush@h/?key=hush'", "model.base_url"),
        ("[server]\npublic_url = 'ftp://u:pwhush@h/?key=hush'", "server.public_url"),
        ("[database]\nurl = 'postgresql://u:pw#hush@h/db'", "database.url"),
        ("[redis]\nurl = 'redis://[hush'", "redis.url"),
    ],
)
def test_address_that_is_refused_is_not_quoted(toml: Path, line: str, name: str) -> None:
    toml.write_text(line + "\n")
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": str(toml)})
    assert f"{name} cannot be the value given" in problem
    assert "hush" not in problem


def test_refused_address_says_how_to_write_a_password() -> None:
    (problem,) = problems_of({"DATABASE_URL": "postgresql://u:pw#x@h/db"})
    assert "%23" in problem


def notices_of(environ: dict[str, str]) -> list[str]:
    return [str(notice) for notice in load_settings(environ).notices]


def test_key_that_is_not_used_because_there_is_another_one_is_a_notice() -> None:
    both = {"ANTHROPIC_API_KEY": "hush", "OPENAI_API_KEY": "hush"}
    (notice,) = notices_of(both)
    assert notice.startswith("environment ANTHROPIC_API_KEY: has no effect")
    assert "THREADWRIGHT_MODEL_PROVIDER" in notice
    assert "hush" not in notice
    assert notices_of({"ANTHROPIC_API_KEY": "a"}) == []
    assert notices_of({**both, "THREADWRIGHT_MODEL_PROVIDER": "openai"}) == []
    assert notices_of({"ANTHROPIC_API_KEY": "a", "THREADWRIGHT_MODEL_PROVIDER": "demo"}) == []


def test_misspelt_ecosystem_name_is_a_notice() -> None:
    assert notices_of(
        {"SLACK_BOT_TOKN": "hush", "OPENAI_API_KEI": "hush", "PATH": "/bin", "DATABASE": "x"}
    ) == [
        "environment OPENAI_API_KEI: has no effect, because no setting is called that; "
        "did you mean OPENAI_API_KEY?",
        "environment SLACK_BOT_TOKN: has no effect, because no setting is called that; "
        "did you mean SLACK_BOT_TOKEN?",
    ]


@pytest.mark.parametrize("text", ["log = 5\n", "[[log]]\nlevel = 'info'\n"])
def test_section_that_is_no_table_is_said_to_be_none(toml: Path, text: str) -> None:
    toml.write_text(text)
    assert problems_of({"THREADWRIGHT_CONFIG": str(toml)}) == [
        f"{toml}:1: log must be a table; write [log] and its keys below it"
    ]


def test_byte_order_mark_is_no_part_of_the_file(toml: Path) -> None:
    toml.write_text("[server]\nport = 81\n", encoding="utf-8-sig")
    assert load_settings({"THREADWRIGHT_CONFIG": str(toml)}).settings.server.port == 81


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "is nested too deeply"),
        ("a = " + "{a=" * 5000 + "1" + "}" * 5000, "is nested too deeply"),
        ("a = " + "1" * 5000, "is not TOML"),
    ],
)
def test_file_that_no_parser_can_read_is_one_problem(toml: Path, text: str, said: str) -> None:
    toml.write_text(text)
    (problem,) = problems_of({"THREADWRIGHT_CONFIG": str(toml)})
    assert said in problem


def test_role_that_is_asked_for_twice_counts_once() -> None:
    settings = load_settings({"THREADWRIGHT_ROLES": "api,worker,api"}).settings
    assert settings.roles == (Role.API, Role.WORKER)
