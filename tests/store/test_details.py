"""Titles, pins, models and labels."""

from uuid import uuid4

import pytest

from engine.chat.changes import ChatChange
from engine.chat.commands import Archive
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.details import DetailsChange
from engine.chat.ids import ChatId
from engine.store.chat_machine import ChatMachine
from engine.store.details import Details
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import force_running, new_chat, submit


@pytest.fixture
def details(pool: Pool, changes: list[ChatChange]) -> Details:
    return Details(pool, changes.append)


async def test_generated_title_never_replaces_a_persons(
    machine: ChatMachine, pool: Pool, details: Details
) -> None:
    chat_id = await new_chat(machine)

    assert await details.set_title(chat_id, "Generated", by_human=False)
    assert await details.set_title(chat_id, "Generated again", by_human=False)
    assert await details.set_title(chat_id, "Ada's", by_human=True)
    assert not await details.set_title(chat_id, "Generated", by_human=False)

    chat = await ChatRows(pool).read_chat(chat_id)
    assert chat is not None
    assert chat.title == "Ada's"
    assert (await force_running(pool, chat_id)).has_human_title


async def test_each_change_is_published_as_it_is_stored(
    machine: ChatMachine, pool: Pool, details: Details, changes: list[ChatChange]
) -> None:
    chat_id = await new_chat(machine)
    await force_running(pool, chat_id)
    changes.clear()

    await details.change(chat_id, DetailsChange(pin_order=1))
    await details.change(chat_id, DetailsChange(model="other"))
    await details.change(chat_id, DetailsChange(labels={"a": "b"}, title="Boats"))

    assert len(changes) == 3
    assert await ChatRows(pool).versions_of([chat_id]) == [changes[-1]]


async def test_archived_chat_is_unpinned(
    machine: ChatMachine, pool: Pool, details: Details
) -> None:
    """E4 (store part)"""
    chat_id = await new_chat(machine)
    await details.change(chat_id, DetailsChange(pin_order=1))

    archived = await submit(machine, chat_id, Archive())

    chat = await ChatRows(pool).read_chat(chat_id)
    assert chat is not None
    assert (chat.status, chat.archived, chat.pinned) == ("waiting", True, False)
    assert archived.snapshot.runner_id is None
    refused = await details.change(chat_id, DetailsChange(pin_order=1, title="Not told"))
    assert refused == Refusal(reason=RefusalReason.ARCHIVED)
    assert await ChatRows(pool).read_chat(chat_id) == chat


async def test_unknown_chat_has_no_details(details: Details) -> None:
    assert not await details.set_title(ChatId(uuid4()), "x", by_human=True)
    assert await details.change(ChatId(uuid4()), DetailsChange(pin_order=1)) is False
