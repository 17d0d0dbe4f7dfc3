"""The command line as a person meets it: a process, its output, its exit code."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("THREADWRIGHT_", "OPENAI_", "ANTHROPIC_", "SLACK_", "DISCORD_", "DATABASE_", "REDIS_")


def threadwright(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return subprocess.run(
        (sys.executable, "-m", "bots", *arguments),
        cwd=ROOT,
        env={**inherited, **environ},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


@pytest.fixture
def dead_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_help_lists_every_command_and_where_to_start() -> None:
    done = threadwright("--help")
    assert done.returncode == 0
    for command in ("demo", "serve", "migrate", "doctor", "check-config", "init"):
        assert f"\n  {command} " in done.stdout
    assert "Start here:" in done.stdout


@pytest.mark.parametrize(
    "command", [["demo"], ["serve"], ["migrate"], ["doctor"], ["check-config"], ["init", "slack"]]
)
def test_every_command_has_help(command: list[str]) -> None:
    done = threadwright(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: threadwright {' '.join(command)}")


def test_help_answers_without_loading_the_platforms() -> None:
    code = "import sys, bots.cli; print(sorted({'slack_sdk', 'aiohttp', 'httpx', 'asyncpg'} & set(sys.modules)))"
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_check_config_prints_effective_values_with_secrets_masked(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text("[worker]\nchats_max = 7\n")
    done = threadwright("--config", str(file), "check-config", OPENAI_API_KEY="sk-hush")
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["worker.chats_max"].split() == ["worker.chats_max", "7", f"{file}:2"]
    assert lines["model.api_key"].split()[1:] == ["********", "environment", "OPENAI_API_KEY"]
    assert "hush" not in done.stdout + done.stderr


def test_check_config_as_json() -> None:
    found = json.loads(threadwright("check-config", "--json").stdout)
    assert found["server.port"] == {"value": "8080", "origin": "default"}


def test_every_mistake_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text("[worker]\nleese_seconds = 7\n")
    done = threadwright(
        "check-config",
        THREADWRIGHT_CONFIG=str(file),
        THREADWRIGHT_PORT="no",
        THREADWRIGHT_HOSST="h",
    )
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert (
        f"{file}:2: unknown key worker.leese_seconds; did you mean worker.lease_seconds?"
        in lines[0]
    )
    assert "Traceback" not in done.stderr


def test_check_config_reads_the_bots_too(tmp_path: Path) -> None:
    (tmp_path / "wren").mkdir()
    (tmp_path / "wren" / "bot.toml").write_text("namee = 'Wren'\n")
    done = threadwright("check-config", THREADWRIGHT_BOTS_DIR=str(tmp_path))
    assert done.returncode == 2
    assert "wren/bot.toml:1: unknown key namee; did you mean name?" in done.stderr


def test_unknown_role_says_which_there_are() -> None:
    done = threadwright("serve", "--roles", "api,cook")
    assert done.returncode == 2
    assert "command line: roles cannot be 'api,cook'" in done.stderr
    assert "webhook" in done.stderr


def test_missing_secret_is_said_before_anything_starts() -> None:
    done = threadwright("serve", SLACK_APP_TOKEN="xapp-hush")
    assert done.returncode == 2
    assert "set SLACK_BOT_TOKEN" in done.stderr
    assert "hush" not in done.stderr


def test_a_bot_that_a_slack_app_names_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "threadwright.toml"
    file.write_text(
        "[slack.apps.tugboat]\nbot_token = 'xoxb-hush'\napp_token = 'xapp-hush'\nbot = 'gone'\n"
    )
    done = threadwright("--config", str(file), "check-config")
    assert done.returncode == 2
    assert "slack.apps.tugboat.bot: there is no bot gone; choose one of assistant" in done.stderr
    assert "hush" not in done.stderr


def test_init_slack_prints_a_manifest_five_steps_and_three_variables() -> None:
    done = threadwright("init", "slack", "--name", "Wren")
    manifest, steps = json.JSONDecoder().raw_decode(done.stdout)
    assert manifest["display_information"]["name"] == "Wren"
    rest = done.stdout[steps:]
    assert [f"\n{number}. " in rest for number in range(1, 7)] == [True] * 5 + [False]
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"):
        assert name in rest


def test_init_slack_manifest_alone_is_json() -> None:
    done = threadwright("init", "slack", "--manifest-only", "--features", "channels,files")
    assert "files:read" in json.loads(done.stdout)["oauth_config"]["scopes"]["bot"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--features", "channelz", "choose from agent, channels"),
        ("--name", "W" * 40, "1 to 35 characters"),
        ("--public-url", "http://h", "https://"),
    ],
)
def test_init_slack_refuses_what_slack_would_refuse(option: str, value: str, said: str) -> None:
    done = threadwright("init", "slack", option, value)
    assert done.returncode == 2
    assert said in done.stderr


def test_doctor_is_content_with_nothing_configured(tmp_path: Path, dead_port: int) -> None:
    done = threadwright(
        "doctor", THREADWRIGHT_STATE_DIR=str(tmp_path), THREADWRIGHT_PORT=str(dead_port)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_doctor_says_how_to_mend_a_dead_database_and_a_dead_redis(dead_port: int) -> None:
    done = threadwright(
        "doctor",
        DATABASE_URL=f"postgresql://wren:hush@127.0.0.1:{dead_port}/chats",
        REDIS_URL=f"redis://:hush@127.0.0.1:{dead_port}/0",
        THREADWRIGHT_PORT="0",
    )
    assert done.returncode == 1
    assert f"no database at postgresql://[redacted]@127.0.0.1:{dead_port}/chats: " in done.stdout
    assert "-> Check that the server runs and that DATABASE_URL is right." in done.stdout
    assert f"redis://[redacted]@127.0.0.1:{dead_port}/0 cannot be used" in done.stdout
    assert "-> start it, or mend REDIS_URL" in done.stdout
    assert "hush" not in done.stdout + done.stderr


def test_doctor_reports_a_broken_configuration_as_findings() -> None:
    done = threadwright("doctor", "--json", THREADWRIGHT_HOSST="h")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["ok"] is False
    failed = [finding for finding in found["findings"] if finding["status"] == "fail"]
    assert failed[0]["mend"] == "did you mean THREADWRIGHT_HOST?"


def test_doctor_finds_a_port_in_use() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        done = threadwright("doctor", THREADWRIGHT_PORT=str(holder.getsockname()[1]))
    assert done.returncode == 1
    assert "cannot be listened on: " in done.stdout
    assert "--port" in done.stdout


@pytest.mark.parametrize("command", ["check-config", "doctor"])
@pytest.mark.parametrize("mark", ["#", "/", "?", "a=", "@", "1/", "[", ":"])
def test_no_mark_in_a_password_gets_it_printed(command: str, mark: str) -> None:
    done = threadwright(
        command,
        DATABASE_URL=f"postgresql://u:pw{mark}hush@127.0.0.1:1/d?passwd=hush&Pwd=hush",
        REDIS_URL=f"redis://u:pw{mark}hush@127.0.0.1:1/0?password=hush",
        OPENAI_BASE_URL=f"http://u:pw{mark}hush@127.0.0.1:1/v1?password=hush",
        THREADWRIGHT_PORT="0",
    )
    assert "hush" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "bug" not in done.stdout


@pytest.mark.parametrize("command", ["check-config", "doctor"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ANTHROPIC_API_KEY", "set THREADWRIGHT_MODEL_PROVIDER"),
        ("SLACK_BOT_TOKN", "did you mean SLACK_BOT_TOKEN?"),
    ],
)
def test_variable_without_effect_is_pointed_at(
    command: str, name: str, said: str, dead_port: int
) -> None:
    openai = {"OPENAI_BASE_URL": f"http://127.0.0.1:{dead_port}/v1"}
    done = threadwright(command, **{name: "hush", "THREADWRIGHT_PORT": "0", **openai})
    assert done.returncode == (0 if command == "check-config" else 1)
    assert f"environment {name}: has no effect" in done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert "hush" not in done.stdout + done.stderr


def test_check_config_as_json_stays_json_with_notices() -> None:
    done = threadwright("check-config", "--json", SLACK_BOT_TOKN="hush")
    assert json.loads(done.stdout)["model.provider"]["value"] == "demo"


def test_doctor_advises_nothing_that_has_no_effect() -> None:
    done = threadwright("doctor", THREADWRIGHT_PORT="0", DISCORD_TOKEN="hush")
    assert "discord" in done.stdout
    assert "is not used yet" in done.stdout


def test_doctor_warns_of_a_short_admin_token() -> None:
    done = threadwright("doctor", THREADWRIGHT_PORT="0", THREADWRIGHT_ADMIN_TOKEN="hush")
    assert "shorter than 16 characters" in done.stdout
    done = threadwright("doctor", THREADWRIGHT_PORT="0", THREADWRIGHT_ADMIN_TOKEN="h" * 16)
    assert "shorter than 16 characters" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["migrate"], {"DATABASE_URL": "postgresql://u:[x@h/db"}),
        (["serve"], {"REDIS_URL": "redis://[x"}),
        (["serve"], {"DATABASE_URL": "postgresql:///d", "REDIS_URL": "redis://:pw#x@h"}),
        (["serve", "--host", "nohost.invalid"], {}),
        (["demo", "--host", "a..b"], {}),
        (["demo", "--host", "nohost.invalid"], {}),
        (["token", "revoke", "9" * 23], {}),
        (["token", "revoke", "0"], {}),
    ],
)
def test_what_cannot_be_used_is_one_clear_line(
    arguments: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    done = threadwright(*arguments, THREADWRIGHT_STATE_DIR=str(tmp_path / "state"), **environ)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith(("Usage:", "Try "))]
    assert len([line for line in said if line]) == 1
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("host", ["nohost.invalid", "a..b"])
def test_doctor_finds_a_host_that_is_unknown(host: str) -> None:
    done = threadwright("doctor", THREADWRIGHT_HOST=host, THREADWRIGHT_PORT="0")
    assert done.returncode == 1
    assert "cannot be listened on: " in done.stdout
    assert "bug" not in done.stdout


@pytest.mark.parametrize(
    "name",
    ["", "  ", "n" * 201, "a\nb", "a\x1b[31m", "a\u202eb", "a\u2066b", "a\u200fb", "a\u2028b"],
)
def test_token_name_that_would_mislead_is_refused(name: str, tmp_path: Path) -> None:
    done = threadwright("token", "create", name, THREADWRIGHT_STATE_DIR=str(tmp_path / "state"))
    assert done.returncode == 2
    assert "NAME" in done.stderr
    assert "\x1b" not in done.stderr
    assert not (tmp_path / "state").exists()


def test_demo_leaves_the_database_of_the_environment_alone(dead_port: int, tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        done = threadwright(
            "demo",
            "--port",
            str(holder.getsockname()[1]),
            DATABASE_URL=f"postgresql://u:hush@127.0.0.1:{dead_port}/d",
            REDIS_URL=f"redis://:hush@127.0.0.1:{dead_port}/0",
            THREADWRIGHT_STATE_DIR=str(tmp_path / "state"),
        )
    assert "DATABASE_URL and environment REDIS_URL are ignored" in done.stderr
    assert "no database at" not in done.stderr
    assert "use" in done.stderr.splitlines()[-1]
    assert "hush" not in done.stderr


def test_token_in_place_of_the_name_of_its_file_is_not_printed() -> None:
    for command in ("check-config", "doctor"):
        done = threadwright(command, SLACK_BOT_TOKEN_FILE="xoxb-1-hush")
        assert "hush" not in done.stdout + done.stderr
        assert "SLACK_BOT_TOKEN_FILE" in done.stdout + done.stderr


def test_second_signal_ends_the_demo_at_once_and_without_a_traceback(tmp_path: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with subprocess.Popen(
        (sys.executable, "-m", "bots", "demo", "--port", "0"),
        cwd=ROOT,
        env={**inherited, "THREADWRIGHT_STATE_DIR": str(tmp_path / "state")},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Ctrl-C stops it" in line:
                break
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert "Traceback" not in rest
    # Two signals that arrive together may be seen as a first one whose work was done already.
    assert process.returncode in {0, 130}
