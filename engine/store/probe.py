"""Look at a database without changing it: does it answer, which version, is its schema current."""

from dataclasses import dataclass
from typing import Final

from engine.store.errors import DatabaseUnavailable, MigrationFailed, StoreError
from engine.store.faults import FAULTS
from engine.store.migrate import pending
from engine.store.pool import open_pool

# 14 is the oldest release that its makers still cared for when this schema was written.
OLDEST_SERVER: Final = 140_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseProbe:
    """What was found. `failure` says why the database cannot be used and `hint` what to do then."""

    failure: str | None = None
    hint: str = ""
    version: str = ""
    is_too_old: bool = False
    migrations_missing: tuple[str, ...] = ()


async def probe_database(url: str) -> DatabaseProbe:
    """Return what one connection to `url` shows. Never raises for a database that is not well."""
    try:
        pool = await open_pool(url, connections_min=1, connections_max=1, wait_seconds=0.0)
    except DatabaseUnavailable as error:
        failure = str(error).removesuffix(error.hint).rstrip(". ")
        return DatabaseProbe(failure=failure, hint=error.hint)
    try:
        async with pool.session() as connection:
            number = int(await connection.fetchval("SHOW server_version_num"))
            version = await connection.fetchval("SHOW server_version")
        return DatabaseProbe(
            version=version,
            is_too_old=number < OLDEST_SERVER,
            migrations_missing=await pending(pool),
        )
    except MigrationFailed as error:
        return DatabaseProbe(failure=str(error), hint="install the release that made this schema")
    except (StoreError, *FAULTS) as error:
        hint = "look into the database's log, then run this again"
        return DatabaseProbe(failure=str(error) or type(error).__name__, hint=hint)
    finally:
        await pool.close()
