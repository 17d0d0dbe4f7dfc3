"""`threadwright organizations`: made, listed and capped by operators."""

import os
import subprocess
import sys
from uuid import UUID

from engine.store.organizations import Organizations
from engine.store.pool import Pool


def threadwright(database_url: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "DATABASE_URL": database_url}
    command = [sys.executable, "-m", "bots", "organizations", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


async def test_an_organization_is_made_capped_and_listed(database_url: str, pool: Pool) -> None:
    made = threadwright(database_url, "create", "Harbour Office")
    assert threadwright(database_url, "cap", "Harbour Office", "3").returncode == 0
    listed = threadwright(database_url, "list").stdout

    office = next(each for each in await Organizations(pool).list() if each.name != "default")
    assert UUID(made.stdout.strip()) == office.id
    assert office.chats_max == 3
    assert f"Harbour Office\t{office.id}\t0 running\tat most 3" in listed.splitlines()
    assert "any number" in listed

    threadwright(database_url, "cap", "Harbour Office", "0")
    assert all(each.chats_max is None for each in await Organizations(pool).list())


async def test_mistakes_are_told_with_how_to_mend_them(database_url: str) -> None:
    taken = threadwright(database_url, "create", "default")
    assert taken.returncode == 1
    assert "choose another name" in taken.stderr
    unknown = threadwright(database_url, "cap", "nobody", "3")
    assert unknown.returncode == 1
    assert "threadwright organizations list" in unknown.stderr
    assert threadwright(database_url, "create", "  ").returncode == 2
    assert threadwright(database_url, "cap", "default", "-1").returncode == 2
