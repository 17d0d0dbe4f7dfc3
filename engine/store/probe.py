"""Look at a database without changing it: does it answer, which version, is its schema current."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import asyncpg

# The newest server feature the queries use; older servers fail in mid-migration, so ask first.
OLDEST_SERVER: Final = 140_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseProbe:
    """What was found. `failure` is set, and nothing else, when the database did not answer.

    `migrations_missing` counts those of this version that the database lacks.
    """

    failure: str | None = None
    version: str = ""
    is_too_old: bool = False
    migrations_missing: int = 0


async def probe_database(url: str, *, timeout_seconds: float = 5.0) -> DatabaseProbe:
    """Return what a connection to `url` shows. Never raises for a database that is not well."""
    try:
        connection = await asyncpg.connect(url, timeout=timeout_seconds)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return DatabaseProbe(failure=_reason(error))
    try:
        number = int(await connection.fetchval("SHOW server_version_num"))
        return DatabaseProbe(
            version=await connection.fetchval("SHOW server_version"),
            is_too_old=number < OLDEST_SERVER,
            migrations_missing=await _migrations_missing(connection),
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return DatabaseProbe(failure=_reason(error))
    finally:
        await connection.close(timeout=timeout_seconds)


async def _migrations_missing(connection: asyncpg.Connection) -> int:
    known = {
        each.name.removesuffix(".sql")
        for each in files("engine.store").joinpath("migrations").iterdir()
        if each.name.endswith(".sql")
    }
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return len(known)
    rows = await connection.fetch("SELECT name FROM schema_migrations")
    return len(known - {row["name"] for row in rows})


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
