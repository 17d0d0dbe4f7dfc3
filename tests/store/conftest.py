"""A chat machine on the test's database, and the story's people."""

import pytest

from engine.chat.changes import ChatChange
from engine.store.chat_machine import ChatMachine
from engine.store.pool import Pool


@pytest.fixture
def changes() -> list[ChatChange]:
    """What the machine has published."""
    return []


@pytest.fixture
def machine(pool: Pool, changes: list[ChatChange]) -> ChatMachine:
    """The chat machine."""
    return ChatMachine(pool, changes.append)
