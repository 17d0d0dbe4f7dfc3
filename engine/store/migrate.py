"""Brings a database to the schema that this program needs. Any number of replicas may try at once.

Migrations are migrations/NNNN_what.sql, applied in order, each in a transaction of its own under an
advisory lock; schema_migrations records name and checksum. Migrations that only a newer release knows
are left alone: this release runs on its schema too, see the rule in 0001.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from engine.store.errors import MigrationFailed, StoreUnavailable
from engine.store.faults import FAULTS, translate_fault
from engine.store.pool import Pool

_LOCK_KEY = 0x7468_7265_6164
"""Any number that no other program takes in the same database."""
_CREATE_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema. `checksum` is the SHA-256 of its text, line ends normalised."""

    name: str
    sql: str
    checksum: str


def all_migrations() -> tuple[Migration, ...]:
    """The migrations that this program knows, in order."""
    folder = files("engine.store") / "migrations"
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return tuple(
        migration_of(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in entries
    )


def migration_of(name: str, sql: str) -> Migration:
    """The migration with this text."""
    text = sql.replace("\r\n", "\n")
    return Migration(name=name, sql=text, checksum=hashlib.sha256(text.encode()).hexdigest())


async def pending(pool: Pool) -> tuple[str, ...]:
    """The names of migrations that the database lacks. Changes nothing.

    Raises MigrationFailed when one that it has was edited since.
    """
    async with pool.session() as connection:
        exists = await connection.fetchval("SELECT to_regclass('schema_migrations')")
        applied = await _applied(connection) if exists else {}
    return tuple(migration.name for migration in _missing(all_migrations(), applied))


async def migrate(pool: Pool, migrations: tuple[Migration, ...] | None = None) -> tuple[str, ...]:
    """Apply what is missing; the names of what this call applied.

    Raises MigrationFailed; what came before the failed migration stays applied.
    """
    done: list[str] = []
    async with pool.session() as connection:
        known = all_migrations() if migrations is None else migrations
        while (name := await _apply_next(connection, known)) is not None:
            done.append(name)
    return tuple(done)


async def _apply_next(connection: Any, known: tuple[Migration, ...]) -> str | None:
    """Apply the first missing migration, alone. None: nothing is missing."""
    name = "schema_migrations"
    try:
        async with connection.transaction():
            # No limit: whoever waits here waits for another replica that does the work.
            await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})", timeout=3600.0)
            await connection.execute(_CREATE_LEDGER)
            missing = _missing(known, await _applied(connection))
            if not missing:
                return None
            name = missing[0].name
            await connection.execute(missing[0].sql, timeout=3600.0)
            await connection.execute(
                "INSERT INTO schema_migrations (name, checksum) VALUES ($1, $2)",
                name,
                missing[0].checksum,
            )
    except FAULTS as fault:
        error = translate_fault(fault)
        if isinstance(error, StoreUnavailable):
            raise error from fault
        raise MigrationFailed(name, reason=str(fault)) from fault
    return name


async def _applied(connection: Any) -> dict[str, str]:
    rows = await connection.fetch("SELECT name, checksum FROM schema_migrations")
    return {row["name"]: row["checksum"] for row in rows}


def _missing(known: tuple[Migration, ...], applied: dict[str, str]) -> tuple[Migration, ...]:
    for migration in known:
        if applied.get(migration.name, migration.checksum) != migration.checksum:
            raise MigrationFailed(
                migration.name,
                reason="it was edited after it had been applied; add a new migration instead",
            )
    return tuple(migration for migration in known if migration.name not in applied)
