"""`threadwright slack` and `doctor` on installed apps: no token is shown, and one that goes is given back."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from config.secret import Secret
from engine.store.installations import AppTokens, Installations, NewInstallation
from engine.store.pool import Pool
from engine.store.vault import Vault
from tests.fakes.slack_server import CLIENT_ID, FakeSlack

KEY = "the key of the lighthouse, long enough"


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as fake:
        yield fake


def environ_of(slack: FakeSlack, database_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": database_url,
        "THREADWRIGHT_SECRET_KEY": KEY,
        "THREADWRIGHT_SERVER_PUBLIC_URL": "https://wren.example",
        "THREADWRIGHT_SLACK_API_URL": slack.base_url,
        "THREADWRIGHT_SLACK_INSTALL": "open",
        "SLACK_CLIENT_ID": CLIENT_ID,
        "SLACK_CLIENT_SECRET": "hush-client-secret",
        "SLACK_SIGNING_SECRET": "hush-signing-secret",
    }


async def threadwright(environ: dict[str, str], *words: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bots", *words),
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    return process.returncode or 0, out.decode(), errors.decode()


async def save(pool: Pool, team: str, token: str, **fields: Any) -> Installations:
    stored = Installations(pool, Vault(Secret(KEY)))
    new = NewInstallation(
        platform="slack",
        installation=team,
        app="",
        name=f"Harbour {team}\x1b[2J",
        identity={"team_id": team},
        scopes=(),
        tokens=AppTokens(token=Secret(token)),
        installed_by="slack:T1:UADA",
    )
    await stored.save(replace(new, **fields))
    return stored


async def test_installations_are_listed_without_tokens_and_with_their_trouble(
    slack: FakeSlack, database_url: str, pool: Pool
) -> None:
    rotating = AppTokens(
        token=Secret("xoxe.xoxb-hush"), refresh_token=Secret("xoxe-hush"), lives_seconds=60
    )
    stored = await save(pool, "T1", slack.bot.token)
    await save(pool, "T2", "", tokens=rotating)
    await save(pool, "T3", "xoxb-hush-3")
    troubled = await stored.read("slack", "T2")
    ended = await stored.read("slack", "T3")
    assert troubled is not None
    assert ended is not None
    await stored.put_off(troubled, 60, trouble="invalid_refresh_token")
    await stored.end(ended, "token_revoked")
    code, out, errors = await threadwright(
        environ_of(slack, database_url), "slack", "installations"
    )
    assert code == 0, errors
    header, first, second, third = out.splitlines()
    assert header.split() == ["installation", "name", "app", "standing", "installed", "by", "key"]
    assert first.startswith("T1")
    assert "in order" in first
    assert "must be installed again (invalid_refresh_token)" in second
    assert "(token_revoked)" in third
    assert "hush" not in out + errors
    assert slack.bot.token not in out
    assert "\x1b" not in out


async def test_an_installation_that_is_removed_gives_its_token_back(
    slack: FakeSlack, database_url: str, pool: Pool
) -> None:
    stored = await save(pool, "T1", slack.bot.token)
    environ = environ_of(slack, database_url)
    code, _, errors = await threadwright(environ, "slack", "remove", "T1")
    assert (code, "give --yes if it is meant" in errors) == (1, True)
    assert slack.calls("auth.revoke") == []
    code, out, errors = await threadwright(environ, "slack", "remove", "T1", "--yes")
    assert (code, out.strip(), errors) == (0, "T1 is forgotten.", "")
    (call,) = slack.calls("auth.revoke")
    assert (call.token, call.error) == (slack.bot.token, None)
    assert await stored.read("slack", "T1") is None
    code, _, errors = await threadwright(environ, "slack", "remove", "T1", "--yes")
    assert (code, "nothing is installed as T1" in errors) == (1, True)


async def test_a_token_that_cannot_be_given_back_is_told_and_forgotten_all_the_same(
    slack: FakeSlack, database_url: str, pool: Pool
) -> None:
    stored = await save(pool, "T1", slack.bot.token)
    slack.fail_next("auth.revoke", error="fatal_error")
    environ = environ_of(slack, database_url)
    code, _, errors = await threadwright(environ, "slack", "remove", "T1", "--yes")
    assert (code, "could not be given back to Slack: fatal_error" in errors) == (0, True)
    assert await stored.read("slack", "T1") is None


async def test_doctor_looks_at_what_is_installed(
    slack: FakeSlack, database_url: str, pool: Pool
) -> None:
    environ = environ_of(slack, database_url)

    async def found() -> list[dict[str, str]]:
        _, out, errors = await threadwright(environ, "doctor", "--json")
        assert "hush" not in out + errors
        listed = json.loads(out)["findings"]
        return [f for f in listed if f["check"] in ("slack", "slack installations")]

    app, nobody = await found()
    assert (app["status"], app["message"]) == ("ok", "anybody may install it")
    assert (nobody["status"], nobody["message"]) == ("warn", "nobody has installed an app yet")
    stored = await save(pool, "T1", slack.bot.token)
    _, fine = await found()
    assert (fine["status"], fine["message"]) == ("ok", "1 in order")
    tokens = AppTokens(token=Secret("a"), refresh_token=Secret("b"), lives_seconds=60)
    await save(pool, "T2", "", tokens=tokens)
    troubled = await stored.read("slack", "T2")
    assert troubled is not None
    await stored.put_off(troubled, 60, trouble="invalid_refresh_token")
    await save(pool, "T3@gone", "x", app="gone")
    _, *flaws = await found()
    assert {(each["status"], each["message"]) for each in flaws} == {
        ("fail", "T2: must be installed again (invalid_refresh_token)"),
        ("warn", "T3@gone: no app is called gone"),
    }
    environ["THREADWRIGHT_SECRET_KEY"] = "another key that is long enough as well"
    _, *flaws = await found()
    assert ("fail", "T1: its token cannot be opened") in {
        (each["status"], each["message"]) for each in flaws
    }


async def test_doctor_says_of_which_app_it_speaks(
    slack: FakeSlack, database_url: str, tmp_path: Any
) -> None:
    file = tmp_path / "threadwright.toml"
    file.write_text(
        f"[slack]\nbot_token = '{slack.bot.token}'\napp_token = '{slack.app_token}'\n"
        "[slack.apps.tugboat]\nbot_token = 'xoxb-hush'\nsigning_secret = 'hush-2'\n"
    )
    environ = {
        "PATH": os.environ["PATH"],
        "THREADWRIGHT_CONFIG": str(file),
        "THREADWRIGHT_SLACK_API_URL": slack.base_url,
        "DATABASE_URL": database_url,
    }
    _, out, _ = await threadwright(environ, "doctor", "--json")
    said = [f["message"] for f in json.loads(out)["findings"] if f["check"] == "slack"]
    assert said == ["bot wren in Harbour T1", "tugboat: bot token: invalid_auth"]
