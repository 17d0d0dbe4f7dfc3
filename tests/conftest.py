"""Servers that tests share: Postgres with a database per test, and Valkey, emptied per test.

Both start when a test of the process first asks for them and end with it, whatever happens. Under xdist
every worker has its own, so nothing is shared between processes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import settings

from engine.store.migrate import migrate
from engine.store.pool import Pool, open_pool
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer

# Invariant: what a property says of the code does not depend on who else uses the machine.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server with its migrated template. Tests that stop it take `postgres` instead."""
    server = PostgresServer()
    try:
        server.start()
        server.make_template(_migrate_template)
        yield server
    finally:
        server.close()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """The server, which the test may stop and restart."""
    yield postgres_server
    postgres_server.ensure_running()


@pytest.fixture
def database_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a migrated database of the test's own."""
    name = postgres.create_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture
def empty_database_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a database without any table."""
    name = postgres.create_database(migrated=False)
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    """The store's pool on the test's database."""
    opened = await open_pool(database_url, connections_max=16)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """The server. Tests that stop it take `redis` instead."""
    server = RedisServer()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def redis(redis_server: RedisServer) -> RedisServer:
    """The server, empty, which the test may stop and restart."""
    redis_server.flush()
    return redis_server


@pytest.fixture
def redis_url(redis: RedisServer) -> str:
    """The URL of the empty Valkey."""
    return redis.url


def _migrate_template(url: str) -> None:
    async def fill() -> None:
        template = await open_pool(url, connections_max=1)
        await migrate(template)
        await template.close()

    with asyncio.Runner() as runner:
        runner.run(fill())
