"""`threadwright providers`, `models`, `keys` and `secrets`: what is set, what is shown, and that no key is."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.pool import Pool
from engine.store.vault import Vault
from tests.acceptance.test_cli import ROOT
from tests.fakes.model_server import FakeModel

KEY = "the secret key of the harbour, for tests"
NEXT_KEY = "the next secret key of the harbour"
PLANTED = "planted-key-0123456789-of-the-harbour"


@dataclass
class Done:
    code: int
    out: str
    err: str


class Cli:
    """Runs commands on one database, and looks for the planted key in all that they print."""

    def __init__(self, database_url: str) -> None:
        self._environ = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": database_url,
            "THREADWRIGHT_SECRET_KEY": KEY,
        }

    async def __call__(self, *words: str, stdin: str = "", **environ: str) -> Done:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bots", *words),
            cwd=ROOT,
            env={**self._environ, **environ},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate(stdin.encode())
        assert process.returncode is not None
        done = Done(process.returncode, out.decode(), err.decode())
        assert PLANTED not in done.out + done.err
        assert "Traceback" not in done.err
        return done

    async def did(self, *words: str, stdin: str = "", **environ: str) -> str:
        done = await self(*words, stdin=stdin, **environ)
        assert done.code == 0, done.err
        return done.out


@pytest.fixture
def cli(database_url: str) -> Cli:
    return Cli(database_url)


async def key_of(pool: Pool, key: str = KEY) -> str | None:
    (secrets,) = (await Catalog(pool, Vault(Secret(key))).read_secrets()).values()
    return secrets.api_key.reveal() if secrets.api_key else None


async def test_provider_and_model_are_added_tried_and_removed(
    cli: Cli, pool: Pool, model: FakeModel
) -> None:
    model.api_key = PLANTED
    await cli.did("providers", "add", "harbour", "--base-url", model.url, stdin=PLANTED + "\n")
    assert await key_of(pool) == PLANTED
    added = await cli.did("models", "add", "harbour", "m:1", "--context-limit", "9000")
    assert "harbour:m:1 is there. It is the default." in added
    model.aside("ready")
    assert "harbour:m:1 answered in" in await cli.did("providers", "test", "harbour")
    listed = await cli.did("providers", "list")
    assert "harbour\tchat_completions" in listed
    assert f"key sealed by {Vault(Secret(KEY)).key_id}" in listed
    assert "harbour:m:1\tdefault\t9000 tokens\tadmin" in await cli.did("models", "list")
    await cli.did("providers", "disable", "harbour")
    refused = await cli("providers", "test", "harbour")
    assert (refused.code, len(model.requests)) == (1, 1)
    assert "has been disabled" in refused.err
    assert ".;" not in refused.err
    await cli.did("providers", "remove", "harbour", "--yes")
    assert await cli.did("models", "list") == ""


async def test_wrong_key_is_told_without_quoting_it(cli: Cli, model: FakeModel) -> None:
    model.api_key = "another"
    await cli.did(
        "providers", "add", "harbour", "--base-url", model.url, "--key-env", "K", K=PLANTED
    )
    await cli.did("models", "add", "harbour", "m", "--context-limit", "9000")
    done = await cli("providers", "test", "harbour")
    assert done.code == 1
    assert "Authentication with harbour failed" in done.err


async def test_key_is_read_from_a_file_and_never_from_the_command_line(
    cli: Cli, pool: Pool, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(PLANTED + "\n")
    await cli.did("providers", "add", "harbour", "--key-file", str(file))
    assert await key_of(pool) == PLANTED
    await cli.did("providers", "set-key", "harbour", stdin="another-key")
    assert await key_of(pool) == "another-key"
    for command in ("add", "set-key"):
        assert "--key " not in await cli.did("providers", command, "--help")
    done = await cli("providers", "set-key", "harbour", stdin=" \n")
    assert (done.code, "standard input holds no key" in done.err) == (1, True)


async def test_what_is_wrong_is_one_line_that_says_how_to_mend_it(cli: Cli) -> None:
    wrong = [
        await cli("providers", "add", "Har bour", "--no-key"),
        await cli("providers", "add", "a", THREADWRIGHT_SECRET_KEY="", stdin=PLANTED),
        await cli("providers", "remove", "nobody"),
        await cli("models", "add", "nobody", "m", "--context-limit", "5000"),
        await cli("models", "set-default", "nobody:m"),
        await cli("keys", "set", "nobody", "slack:T:U", stdin=PLANTED),
        await cli("keys", "remove", "nobody", "slack:T:U"),
    ]
    assert [(done.code, done.err.count("\n")) for done in wrong] == [(1, 1)] * len(wrong)
    assert "set THREADWRIGHT_SECRET_KEY" in wrong[1].err
    assert wrong[0].err.endswith("; mend that and run it again; --help tells what there is\n")


async def test_default_moves_and_people_have_keys(cli: Cli, pool: Pool) -> None:
    await cli.did("providers", "add", "harbour", "--policy", "user")
    await cli.did("models", "add", "harbour", "a", "--context-limit", "9000")
    await cli.did(
        "models",
        "add",
        "harbour",
        "b",
        "--context-limit",
        "9000",
        "--input-price",
        "0.5",
        "--output-price",
        "1",
    )
    await cli.did("models", "set-default", "harbour:b")
    assert "harbour:b\tdefault" in await cli.did("models", "list")
    await cli.did("keys", "set", "harbour", "slack:T1:Uada", stdin=PLANTED)
    assert "harbour\tslack:T1:Uada\tsealed by" in await cli.did("keys", "list")
    rotated = await cli.did(
        "secrets",
        "rotate",
        THREADWRIGHT_SECRET_KEY=NEXT_KEY,
        THREADWRIGHT_SECRET_KEY_PREVIOUS=KEY,
    )
    assert f"1 secrets were sealed anew; the key is {Vault(Secret(NEXT_KEY)).key_id}." in rotated
    (provider,) = await Catalog(pool).list_providers()
    after = Catalog(pool, Vault(Secret(NEXT_KEY)))
    assert await after.read_user_key(provider.id, "slack:T1:Uada") == Secret(PLANTED)
    lost = await cli("secrets", "rotate")
    assert lost.code == 1
    assert str(Vault(Secret(NEXT_KEY)).key_id) in lost.err
    await cli.did("keys", "remove", "harbour", "slack:T1:Uada", "--yes")
    assert await cli.did("keys", "list") == ""


async def test_model_is_disabled_and_enabled_again(cli: Cli) -> None:
    await cli.did("providers", "add", "harbour", "--base-url", "http://127.0.0.1:9", stdin=PLANTED)
    await cli.did("models", "add", "harbour", "m:1", "--context-limit", "9000")
    await cli.did("models", "add", "harbour", "m:2", "--context-limit", "9000")
    assert (
        await cli.did("models", "disable", "harbour:m:1") == "The model harbour:m:1 is disabled.\n"
    )
    listed = (await cli.did("models", "list")).splitlines()
    assert [line.split("\t")[:2] for line in listed] == [
        ["harbour:m:1", "disabled"],
        ["harbour:m:2", "default"],
    ]
    assert await cli.did("models", "enable", "harbour:m:1") == "The model harbour:m:1 is enabled.\n"
    assert "harbour:m:1\tenabled" in await cli.did("models", "list")
    missing = await cli("models", "disable", "harbour:m:3")
    assert missing.code == 1
    assert "there is no model harbour:m:3" in missing.err


async def test_nothing_is_removed_without_being_asked_for(
    cli: Cli, pool: Pool, tmp_path: Path
) -> None:
    await cli.did("providers", "add", "harbour", "--policy", "user")
    for name in ("a", "b"):
        await cli.did("models", "add", "harbour", name, "--context-limit", "9000")
    await cli.did("keys", "set", "harbour", "slack:T1:U1", stdin=PLANTED)
    for words, what in (
        (("providers", "remove", "harbour"), "with 2 models and 1 key of people"),
        (("models", "remove", "harbour:a"), "the model harbour:a"),
        (("keys", "remove", "harbour", "slack:T1:U1"), "the key of slack:T1:U1 for harbour"),
    ):
        refused = await cli(*words)
        assert (refused.code, refused.err.count("\n")) == (1, 1), refused.err
        assert what in refused.err
        assert "--yes" in refused.err
    assert len(await Catalog(pool).list_models()) == 2
    removed = await cli.did("models", "remove", "harbour:a", "--yes")
    assert removed.splitlines()[1] == "The default is harbour:b now."
    file = tmp_path / "providers.toml"
    file.write_text("[providers.quay]\nwire = 'responses'\n")
    await cli.did("providers", "apply", str(file))
    file.write_text("")
    refused = await cli("providers", "apply", str(file))
    assert (refused.code, "(quay; 0 models" in refused.err) == (1, True), refused.err
    started = await cli("serve", "--port", "0", THREADWRIGHT_PROVIDERS_FILE=str(file))
    assert (started.code, "has no provider any more" in started.err) == (1, True), started.err
    assert await cli.did("providers", "apply", str(file), "--yes") == "remove quay\n"


async def test_default_that_cannot_answer_is_told(cli: Cli) -> None:
    for name in ("harbour", "quay"):
        await cli.did("providers", "add", name, "--no-key")
        await cli.did("models", "add", name, "m", "--context-limit", "9000")
    disabled = await cli("providers", "disable", "harbour")
    assert "The default model harbour:m is one of its models" in disabled.err
    listed = await cli.did("models", "list")
    assert "harbour:m\tdefault, cannot answer: the provider harbour is disabled\t" in listed
    assert "quay:m\tenabled\t9000 tokens\tadmin\tno price\n" in listed
    await cli.did("models", "set-default", "quay:m")
    refused = await cli("models", "set-default", "harbour:m")
    assert (refused.code, "provider harbour is disabled" in refused.err) == (1, True)


async def test_a_zero_is_stored_as_zero_or_refused(cli: Cli, pool: Pool) -> None:
    await cli.did("providers", "add", "harbour", "--no-key")
    add = ("models", "add", "harbour", "m", "--context-limit", "9000")
    names = ("input", "output", "cache-read", "cache-write")
    free = [word for name in names for word in (f"--{name}-price", "0")]
    refused = await cli(*add, "--max-output-tokens", "0")
    assert (refused.code, "max_output_tokens must be" in refused.err) == (1, True)
    await cli.did(*add, *free, "--temperature", "0")
    (info,) = await Catalog(pool).list_models()
    spec = info.spec
    assert [spec.input_price, spec.output_price] == [0, 0]
    assert [spec.cache_read_price, spec.cache_write_price, spec.temperature] == [0, 0, 0.0]


async def test_file_is_shown_first_and_then_applied(cli: Cli, pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(
        "[providers.harbour]\nwire = 'responses'\napi_key_env = 'HARBOUR_KEY'\n"
        "[providers.harbour.models.'m.1']\ncontext_limit = 9000\n"
    )
    missing = await cli("providers", "apply", str(file))
    assert (missing.code, f"{file}:3" in missing.err, "HARBOUR_KEY" in missing.err) == (
        2,
        True,
        True,
    )
    shown = await cli.did("providers", "apply", str(file), "--dry-run", HARBOUR_KEY=PLANTED)
    assert shown == "add harbour\nadd harbour:m.1\n"
    assert await cli.did("models", "list") == ""
    assert await cli.did("providers", "apply", str(file), HARBOUR_KEY=PLANTED) == shown
    assert (
        await cli.did("providers", "apply", str(file), HARBOUR_KEY=PLANTED) == "Nothing differs.\n"
    )
    assert await key_of(pool) == PLANTED
    file.write_text("[providers.harbour]\nwire = 'response'\n")
    wrong = await cli("check-config", THREADWRIGHT_PROVIDERS_FILE=str(file))
    assert (wrong.code, f"{file}:2" in wrong.err) == (2, True)
