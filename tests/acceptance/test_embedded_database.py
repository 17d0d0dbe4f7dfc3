"""The embedded Postgres: in any folder, kept from start to start, gone with the last who use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bots.embedded_database import embedded_database
from engine.store.migrate import all_migrations, migrate
from engine.store.pool import open_pool


@pytest.mark.parametrize("name", ["plain", "with a space", "ærlig"])
async def test_any_folder_will_do_and_keeps_its_data(tmp_path: Path, name: str) -> None:
    lines: list[str] = []
    every = tuple(migration.name for migration in all_migrations())
    for expected in (every, ()):
        async with embedded_database(str(tmp_path / name), lines.append) as url:
            pool = await open_pool(url)
            assert await migrate(pool) == expected
            await pool.close()
        assert not (tmp_path / name / "postgres" / "postmaster.pid").exists()
    assert all(name in line for line in lines)


async def test_a_server_that_runs_is_joined_without_a_word_or_an_error(tmp_path: Path) -> None:
    lines: list[str] = []
    async with (
        embedded_database(str(tmp_path), lines.append) as first,
        embedded_database(str(tmp_path), lines.append) as second,
    ):
        assert first == second
        assert len(lines) == 1
    async with embedded_database(str(tmp_path), lines.append):
        assert len(lines) == 2
    assert "ERROR" not in (tmp_path / "postgres" / "log").read_text()


async def test_a_killed_process_does_not_keep_the_server_running(tmp_path: Path) -> None:
    """What it left behind is used again, and stopped with whoever is last."""
    code = (
        "import asyncio, os, signal\n"
        "from bots.embedded_database import embedded_database\n"
        "async def main():\n"
        "    async with embedded_database(os.environ['FOLDER'], print):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "FOLDER": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, check=False)  # noqa: ASYNC221
    assert done.returncode == -9
    alive = tmp_path / "postgres" / "postmaster.pid"
    assert alive.exists()
    async with embedded_database(str(tmp_path), lambda _: None):
        pass
    assert not alive.exists()
