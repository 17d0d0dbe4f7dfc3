"""Migrations: in order, once each, whole or not at all, however many replicas start together."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

import engine.store
from engine.store.errors import MigrationFailed
from engine.store.migrate import all_migrations, migrate, migration_of, pending
from engine.store.pool import Pool, open_pool
from engine.store.schema_listing import list_schema

SCHEMA = Path(engine.store.__path__[0]) / "schema.sql"
NAMES = tuple(migration.name for migration in all_migrations())


@pytest.fixture
async def empty_pool(empty_database_url: str) -> AsyncIterator[Pool]:
    opened = await open_pool(empty_database_url)
    yield opened
    await opened.close()


async def tables(pool: Pool) -> set[str]:
    async with pool.session() as connection:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row["tablename"] for row in rows}


async def test_empty_database_is_brought_to_the_schema_once(empty_pool: Pool) -> None:
    assert await pending(empty_pool) == NAMES
    assert await migrate(empty_pool) == NAMES
    assert await pending(empty_pool) == ()
    assert await migrate(empty_pool) == ()


async def test_looking_for_what_is_pending_changes_nothing(empty_pool: Pool) -> None:
    await pending(empty_pool)

    assert await tables(empty_pool) == set()


async def test_eight_replicas_migrate_together(empty_database_url: str) -> None:
    pools = [await open_pool(empty_database_url, connections_max=1) for _ in range(8)]

    done = await asyncio.gather(*(migrate(pool) for pool in pools))

    assert sorted(name for names in done for name in names) == sorted(NAMES)
    assert await pending(pools[0]) == ()
    for pool in pools:
        await pool.close()


async def test_failed_migration_leaves_what_came_before_and_nothing_of_its_own(
    empty_pool: Pool,
) -> None:
    good = migration_of("0001_good", "CREATE TABLE good (id int);")
    bad = migration_of("0002_bad", "CREATE TABLE bad (id int); SELECT nonsense;")

    with pytest.raises(MigrationFailed, match="nonsense") as failed:
        await migrate(empty_pool, (good, bad))

    assert failed.value.migration == "0002_bad"
    assert await tables(empty_pool) == {"schema_migrations", "good"}
    mended = migration_of("0002_bad", "CREATE TABLE mended (id int);")
    assert await migrate(empty_pool, (good, mended)) == ("0002_bad",)


async def test_edited_migration_is_refused(empty_pool: Pool) -> None:
    good = migration_of("0001_good", "CREATE TABLE good (id int);")
    await migrate(empty_pool, (good,))

    with pytest.raises(MigrationFailed, match="edited after it had been applied"):
        await migrate(empty_pool, (replace(good, checksum="another"),))


async def test_line_ends_do_not_change_a_checksum() -> None:
    assert migration_of("x", "a\r\nb") == migration_of("x", "a\nb")


async def test_schema_of_a_newer_release_is_left_alone(empty_pool: Pool) -> None:
    old = (migration_of("0001_good", "CREATE TABLE good (id int);"),)
    new = (*old, migration_of("0002_more", "ALTER TABLE good ADD COLUMN more int;"))
    await migrate(empty_pool, new)

    assert await migrate(empty_pool, old) == ()


async def test_schema_file_is_what_the_migrations_lead_to(pool: Pool) -> None:
    """Regenerate with: python -m engine.store.schema_listing URL > engine/store/schema.sql"""
    assert SCHEMA.read_text(encoding="utf-8") == await list_schema(pool)
