"""`threadwright doctor` against real parts: Postgres, Valkey, the fake Slack, a models endpoint."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from adapters.slack.manifest import slack_manifest
from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.catalog_entries import Rejection
from engine.store.pool import Pool
from engine.store.vault import Vault
from tests.fakes.slack_server import FakeSlack

ROOT = Path(__file__).resolve().parents[2]
OURS = ("THREADWRIGHT_", "OPENAI_", "ANTHROPIC_", "SLACK_", "DISCORD_", "DATABASE_", "REDIS_")
SECRET_KEY = "the secret key of the harbour, for tests"
Json = dict[str, Any]


class Provider:
    """A model provider that lists its models to whoever has the key."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.url = ""

    async def list_models(self, request: web.Request) -> web.Response:
        is_anthropic = "anthropic-version" in request.headers
        key = request.headers.get("x-api-key" if is_anthropic else "authorization")
        if key != ("sk-harbour" if is_anthropic else "Bearer sk-harbour"):
            return web.json_response({"error": "no"}, status=401)
        return web.json_response({"data": [{"id": "wren-1"}]}, headers=self.headers)


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    fake = Provider()
    app = web.Application()
    app.router.add_get("/v1/models", fake.list_models)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield fake
    await runner.cleanup()


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        running.manifest.update(slack_manifest(name="Wren"))
        yield running


def slack_environ(slack: FakeSlack) -> dict[str, str]:
    return {
        "THREADWRIGHT_SLACK_API_URL": slack.base_url,
        "SLACK_BOT_TOKEN": slack.bot.token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_CONFIG_TOKEN": slack.config_token,
    }


async def doctor(**environ: str) -> dict[str, list[Json]]:
    """Run it in a process of its own, and return its findings by the name of their check."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bots",
        "doctor",
        "--json",
        cwd=ROOT,
        env={**inherited, "THREADWRIGHT_PORT": "0", **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    found: Json = json.loads(output)
    by_check: dict[str, list[Json]] = {}
    for finding in found["findings"]:
        by_check.setdefault(finding["check"], []).append(finding)
        assert (finding["mend"] is None) == (finding["status"] == "ok"), finding
    failed = any(finding["status"] == "fail" for finding in found["findings"])
    assert process.returncode == (1 if failed else 0)
    return by_check


async def test_everything_in_order_is_said_to_be(
    database_url: str, redis_url: str, slack: FakeSlack, provider: Provider
) -> None:
    found = await doctor(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        OPENAI_BASE_URL=provider.url,
        OPENAI_API_KEY="sk-harbour",
        THREADWRIGHT_MODEL_NAME="wren-1",
        THREADWRIGHT_SECRET_KEY="k" * 32,
        **slack_environ(slack),
    )
    assert "schema current" in found["database"][0]["message"]
    assert found["redis"][0]["message"].startswith("version ")
    assert found["model"][0]["message"] == f"wren-1 at {provider.url}"
    assert found["slack socket"][0]["message"] == "opens; each replica holds 2"
    assert {finding["status"] for findings in found.values() for finding in findings} == {"ok"}


async def test_database_without_the_schema_asks_for_migrate(empty_database_url: str) -> None:
    found = await doctor(DATABASE_URL=empty_database_url)
    assert found["database"][0]["status"] == "warn"
    assert found["database"][0]["mend"] == "run `threadwright migrate`"


async def test_wrong_slack_token_is_said_with_slacks_own_word(slack: FakeSlack) -> None:
    environ = {**slack_environ(slack), "SLACK_BOT_TOKEN": "xoxb-hush"}
    (finding,) = (await doctor(**environ))["slack"]
    assert finding["message"] == "bot token: invalid_auth"
    assert finding["status"] == "fail"


async def test_wrong_app_token_is_found(slack: FakeSlack) -> None:
    environ = {**slack_environ(slack), "SLACK_APP_TOKEN": "xapp-hush"}
    found = await doctor(**environ)
    assert found["slack socket"][0]["status"] == "fail"
    assert "connections:write" in found["slack socket"][0]["mend"]


async def test_settings_that_keep_events_away_are_named_with_where_to_click(
    slack: FakeSlack,
) -> None:
    settings = slack.manifest["settings"]
    settings["socket_mode_enabled"] = False
    settings["event_subscriptions"]["bot_events"].remove("app_mention")
    found = (await doctor(**slack_environ(slack)))["slack app"]
    assert [finding["status"] for finding in found] == ["fail", "fail"]
    events, sockets = found
    assert "not subscribed to app_mention" in events["message"]
    assert "Add Bot User Event" in events["mend"]
    assert "Enable Socket Mode" in sockets["mend"]


async def test_settings_are_not_looked_at_without_a_token_that_may(slack: FakeSlack) -> None:
    environ = slack_environ(slack)
    del environ["SLACK_CONFIG_TOKEN"]
    (finding,) = (await doctor(**environ))["slack app"]
    assert finding["status"] == "warn"
    assert "SLACK_CONFIG_TOKEN" in finding["mend"]
    (finding,) = (await doctor(**environ, SLACK_CONFIG_TOKEN="xoxe.xoxp-hush"))["slack app"]
    assert "not_allowed_token_type" in finding["message"]
    assert "hush" not in str(finding)


async def test_missing_scopes_name_what_people_cannot_do(slack: FakeSlack) -> None:
    slack.bot.scopes -= {"chat:write", "files:read"}
    found = await doctor(**slack_environ(slack))
    messages = {finding["message"]: finding["status"] for finding in found["slack scopes"]}
    assert messages == {
        "missing: chat:write": "fail",
        "no files that people attach: files:read missing": "warn",
    }


async def test_refused_model_key_is_found(provider: Provider) -> None:
    found = await doctor(OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="sk-hush")
    assert found["model"][0]["message"] == f"{provider.url} does not take the key (401)"
    assert "hush" not in str(found)


@pytest.mark.parametrize("version", ["", "/v1"])
async def test_anthropic_is_asked_in_its_own_way(provider: Provider, version: str) -> None:
    found = await doctor(
        ANTHROPIC_BASE_URL=provider.url.removesuffix("/v1") + version,
        ANTHROPIC_API_KEY="sk-harbour",
        THREADWRIGHT_MODEL_NAME="wren-1",
    )
    assert found["model"][0]["status"] == "ok"


async def test_model_that_the_provider_lacks_is_found(provider: Provider) -> None:
    found = await doctor(
        OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="sk-harbour", THREADWRIGHT_MODEL_NAME="owl-2"
    )
    assert found["model"][0]["message"] == f"{provider.url} does not list owl-2"


async def add_provider(pool: Pool, name: str, url: str, key: str, *models: str) -> None:
    catalog = Catalog(pool, Vault(Secret(SECRET_KEY)))
    added = await catalog.create_provider(
        {"name": name, "wire": "chat_completions", "base_url": url, "api_key": key}
    )
    assert not isinstance(added, Rejection)
    for model in models:
        fields = {"name": model, "context_limit": 9000}
        assert not isinstance(await catalog.create_model(name, fields), Rejection)


async def test_enabled_providers_of_the_database_are_asked_for_their_models(
    database_url: str, pool: Pool, provider: Provider
) -> None:
    await add_provider(pool, "harbour", provider.url, "sk-harbour", "wren-1")
    await add_provider(pool, "island", provider.url, "sk-harbour", "wren-1", "owl-2")
    await add_provider(pool, "wrong", provider.url, "sk-hush", "wren-1")
    await add_provider(pool, "away", "http://127.0.0.1:9/v1", "sk-hush", "wren-1")
    await add_provider(pool, "off", "http://127.0.0.1:9/v1", "sk-hush")
    off = await Catalog(pool, None).update_provider("off", {"enabled": False})
    assert not isinstance(off, Rejection)
    catalog = Catalog(pool, Vault(Secret(SECRET_KEY)))
    own = {"user_key_allowed": True, "central_key_fallback": True}
    assert not isinstance(await catalog.update_provider("harbour", own), Rejection)
    assert await catalog.set_user_key("harbour", "slack:T1:U1", "sk-own") is None
    found = await doctor(DATABASE_URL=database_url, THREADWRIGHT_SECRET_KEY=SECRET_KEY)
    assert {finding["message"]: finding["status"] for finding in found["provider"]} == {
        "away: no answer from http://127.0.0.1:9/v1 (ConnectError)": "fail",
        "harbour: wren-1": "ok",
        "island: does not list owl-2": "warn",
        "wrong: does not take the key (401)": "fail",
    }
    assert "hush" not in str(found)
    other = await doctor(DATABASE_URL=database_url, THREADWRIGHT_SECRET_KEY="another " + SECRET_KEY)
    assert "cannot be read" in other["provider"][0]["message"]
    (sealed,) = other["sealed keys"]
    assert sealed["status"] == "fail"
    assert "5 secrets of providers and 1 keys of people cannot be opened" in sealed["message"]
    assert Vault(Secret(SECRET_KEY)).key_id in sealed["message"]
    assert "sealed keys" not in found
    (model,) = found["model"]
    assert model["message"] == "none in the settings; harbour:wren-1 of the database answers"
    assert found["default model"][0]["status"] == "ok"
    assert not isinstance(await catalog.update_provider("harbour", {"enabled": False}), Rejection)
    silent = await doctor(DATABASE_URL=database_url, THREADWRIGHT_SECRET_KEY=SECRET_KEY)
    assert silent["default model"][0]["status"] == "fail"


async def test_providers_file_that_no_start_could_read_is_found(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    for text, told in (
        (None, "cannot be read"),
        ("[providers.a]\nwire='soap'", f"{file}:2"),
        ("[providers.a]\nwire='responses'\napi_key_env='HARBOUR_KEY'", f"{file}:3"),
    ):
        if text is not None:
            file.write_text(text)
        found = await doctor(THREADWRIGHT_PROVIDERS_FILE=str(file))
        (finding,) = found["providers file"]
        assert (finding["status"], told in finding["message"]) == ("fail", True), finding
    found = await doctor(THREADWRIGHT_PROVIDERS_FILE=str(file), HARBOUR_KEY="k")
    assert found["providers file"][0]["status"] == "ok"


async def test_bot_that_asks_for_a_model_that_there_is_not_is_found(
    database_url: str, pool: Pool, provider: Provider, tmp_path: Path
) -> None:
    await add_provider(pool, "harbour", provider.url, "sk-harbour", "wren-1")
    for bot, model in (("owl", "harbour:owl-2"), ("wren", "harbour:wren-1")):
        (tmp_path / bot).mkdir()
        (tmp_path / bot / "bot.toml").write_text(f'[model]\nname = "{model}"\n')
        (tmp_path / bot / "persona.md").write_text("You are a bird.")
    found = await doctor(
        DATABASE_URL=database_url,
        THREADWRIGHT_SECRET_KEY=SECRET_KEY,
        THREADWRIGHT_BOTS_DIR=str(tmp_path),
    )
    (finding,) = found["bot model"]
    assert finding["status"] == "warn"
    assert finding["message"].startswith("owl: There is no model harbour:owl-2.")


async def test_clock_that_is_far_off_is_found(provider: Provider) -> None:
    provider.headers["Date"] = "Tue, 01 Dec 2020 00:00:00 GMT"
    found = await doctor(OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="sk-harbour")
    assert found["clock"][0]["status"] == "fail"
    assert "ahead of" in found["clock"][0]["message"]
