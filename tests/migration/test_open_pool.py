"""Connecting: patience with a database that is starting, clear words about one that never comes."""

import asyncio

import pytest

from engine.store.errors import DatabaseUnavailable
from engine.store.pool import open_pool
from tests.fakes.postgres import PostgresServer


async def test_database_that_is_starting_is_waited_for(
    postgres: PostgresServer, database_url: str
) -> None:
    postgres.stop()
    told: list[str] = []
    waiting = asyncio.Event()

    def on_wait(reason: str) -> None:
        told.append(reason)
        waiting.set()

    opening = asyncio.ensure_future(open_pool(database_url, on_wait=on_wait))
    await waiting.wait()
    postgres.start()

    pool = await opening
    await pool.close()
    assert told
    assert told[0]


async def test_database_that_never_comes_is_named_without_its_password() -> None:
    url = "postgresql://ada:secret@127.0.0.1:1/harbour"

    with pytest.raises(DatabaseUnavailable) as unavailable:
        await open_pool(url, wait_seconds=0.3)

    assert "secret" not in str(unavailable.value)
    assert unavailable.value.url == "postgresql://********@127.0.0.1:1/harbour"
    assert "DATABASE_URL" in unavailable.value.hint


async def test_missing_database_is_not_waited_for(postgres: PostgresServer) -> None:
    with pytest.raises(DatabaseUnavailable, match="does not exist") as unavailable:
        await open_pool(postgres.url("nowhere"), wait_seconds=3600)

    assert "Create the database" in unavailable.value.hint


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense", "postgresql://:bad port/x"])
async def test_url_that_is_none_is_said_so(url: str) -> None:
    with pytest.raises(DatabaseUnavailable):
        await open_pool(url, wait_seconds=0.3)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:canary@h:1/d",
        "postgresql://u:canary%40@h/d?sslmode=require",
        "postgresql:///d?user=u&password=canary",
        "postgresql://u:a@canary@h/d",
        "postgresql://h/d?Pwd=canary",
        "postgresql://u:canary#x@h/d",
    ],
)
def test_password_is_never_shown(url: str) -> None:
    error = DatabaseUnavailable(url, reason="gone", hint="wait")
    assert "canary" not in f"{error} {error.url} {error!r}"
