"""The configuration's version is read rarely, and every change of the configuration raises it."""

import asyncio

import pytest

from engine.store.configuration import ConfigurationVersion
from engine.store.pool import Pool
from tests.store.story import sql

CHANGES = (
    "INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'harbour')",
    "INSERT INTO spend_policies (organization_id) SELECT id FROM organizations",
    "INSERT INTO spend_limits SELECT id, 'user', 'test:T1:ada', 5 FROM organizations",
    "INSERT INTO model_providers (name, wire, base_url) VALUES ('p', 'anthropic', 'https://p')",
)


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


async def test_version_is_read_once_in_two_seconds_however_many_ask(pool: Pool) -> None:
    clock = Clock()
    version = ConfigurationVersion(pool, clock=clock)
    before = pool.statement_count
    answers = await asyncio.gather(*(version.current() for _ in range(10)))
    assert set(answers) == {answers[0]}
    clock.seconds += 1.9
    await version.current()
    assert pool.statement_count - before == 1
    clock.seconds += 0.2
    await version.current()
    assert pool.statement_count - before == 2


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.split()[2])
async def test_every_change_raises_the_version(pool: Pool, change: str) -> None:
    version = ConfigurationVersion(pool)
    before = await version.current()
    await sql(pool, change)
    assert await version.current() == before, "it is not read again so soon"
    version.forget()
    assert await version.current() > before


async def test_what_is_forgotten_while_it_is_read_is_read_again(pool: Pool) -> None:
    version = ConfigurationVersion(pool)
    reading = asyncio.create_task(version.current())
    await asyncio.sleep(0)
    version.forget()
    await reading
    before = pool.statement_count
    await version.current()
    assert pool.statement_count - before == 1
