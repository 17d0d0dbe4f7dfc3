"""Turns through the real engine: Postgres, the worker and a model server on the wire."""

from collections.abc import AsyncIterator

import pytest

from engine.chat.view import ShownStatus
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def test_a_message_is_answered(database_url: str, model: FakeModel) -> None:
    """A first message is answered, and the chat waits for the next."""
    model.say("Good morning, Ada.")
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("Good morning")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [
            ("user", "Good morning"),
            ("assistant", "Good morning, Ada."),
        ]
