"""`threadwright chats`: finding, showing, putting away, removing and recording chats."""

import os
import subprocess
import sys
from uuid import uuid4

from engine.chat.commands import CreateChat
from engine.chat.content import plain
from engine.chat.ids import ChatId
from engine.store.chat_machine import ChatMachine
from engine.store.pool import Pool
from engine.store.rows import ChatRows


def threadwright(database_url: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "DATABASE_URL": database_url}
    command = [sys.executable, "-m", "bots", "chats", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


async def test_a_chat_is_found_recorded_put_away_and_removed(database_url: str, pool: Pool) -> None:
    chat_id = ChatId(uuid4())
    machine = ChatMachine(pool, lambda _change: None)
    command = CreateChat(chat_id=chat_id, content=plain("A secret of the harbour"), title="Boats")
    await machine.create(command)
    listed = threadwright(database_url, "list", "--filter", "search:harbour")
    assert (listed.returncode, listed.stdout.split("\t")[0]) == (0, str(chat_id)), listed.stderr
    assert "secret" not in listed.stdout
    assert '"title": "Boats"' in threadwright(database_url, "show", str(chat_id)).stdout
    assert threadwright(database_url, "debug", "on", str(chat_id)).returncode == 0
    view = await ChatRows(pool).read_chat(chat_id)
    assert view is not None
    assert view.records_calls
    assert threadwright(database_url, "debug", "show", str(chat_id)).stdout == ""
    assert threadwright(database_url, "archive", str(chat_id)).returncode == 0
    again = threadwright(database_url, "archive", str(chat_id))
    assert (again.returncode, "is archived" in again.stderr) == (1, True)
    assert threadwright(database_url, "list").stdout == ""
    assert threadwright(database_url, "delete", "--yes", str(chat_id)).returncode == 0
    assert await ChatRows(pool).read_chat(chat_id) is None
    gone = threadwright(database_url, "delete", "--yes", str(chat_id))
    assert (gone.returncode, "chats list" in gone.stderr) == (1, True)


async def test_a_filter_that_is_wrong_is_one_line(database_url: str) -> None:
    wrong = threadwright(database_url, "list", "--filter", "colour:red")
    assert wrong.returncode == 1
    assert "known are title:" in wrong.stderr
    assert "Traceback" not in wrong.stderr
