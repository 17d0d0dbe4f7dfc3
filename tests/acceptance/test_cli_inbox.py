"""`threadwright inbox`: dead events are shown without what was said, and can be tried again."""

import os
import subprocess
import sys
from uuid import uuid4

from engine.store.inbox import Inbox, InboxEvent
from engine.store.pool import Pool


def threadwright(database_url: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "DATABASE_URL": database_url}
    command = [sys.executable, "-m", "bots", "inbox", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


async def test_a_dead_event_is_listed_and_tried_again(database_url: str, pool: Pool) -> None:
    """D12: a poison event can be redelivered."""
    inbox = Inbox(pool)
    event = InboxEvent(
        platform="slack",
        installation="T1",
        event_key="Ev1",
        thread_key="T1:C1:1.0",
        kind="message",
        payload={"text": "a secret of the harbour"},
    )
    received = await inbox.receive(event)
    await inbox.claim(["slack"], uuid4(), 1, 30.0)
    await inbox.bury(received.id, "translate: no channel")
    listed = threadwright(database_url, "list")
    assert listed.returncode == 0, listed.stderr
    assert "T1:C1:1.0\ttranslate: no channel" in listed.stdout
    assert "secret" not in listed.stdout + listed.stderr
    again = threadwright(database_url, "redeliver", str(received.id))
    assert again.returncode == 0, again.stderr
    (claimed,) = await inbox.claim(["slack"], uuid4(), 1, 30.0)
    assert claimed.id == received.id
    assert threadwright(database_url, "list").stdout == ""


async def test_an_event_that_is_not_dead_is_not_tried_again(database_url: str) -> None:
    done = threadwright(database_url, "redeliver", "42")
    assert done.returncode == 1
    assert "there is no dead event 42" in done.stderr
    assert "inbox list" in done.stderr
