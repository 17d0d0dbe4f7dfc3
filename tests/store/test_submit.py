"""Submitting commands: applied wholly or not at all, one after another, each once."""

import asyncio
from itertools import pairwise
from uuid import uuid4

from engine.chat.changes import ChatChange
from engine.chat.commands import (
    CreateChat,
    DeleteQueuedMessage,
    EditMessage,
    Interrupt,
    SendMessage,
)
from engine.chat.content import plain
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.ids import ChatId, MessageId
from engine.chat.snapshot import ChatStatus
from engine.store.chat_machine import ChatMachine
from engine.store.outcomes import Applied


async def new_chat(machine: ChatMachine) -> ChatId:
    chat_id = ChatId(uuid4())
    await machine.create(CreateChat(chat_id=chat_id, content=plain("hello"), source_key="1.0"))
    return chat_id


async def test_message_to_a_busy_chat_is_queued(
    machine: ChatMachine, changes: list[ChatChange]
) -> None:
    chat_id = await new_chat(machine)

    applied = await machine.submit(chat_id, SendMessage(content=plain("and?"), source_key="2.0"))

    assert isinstance(applied, Applied)
    assert applied.effect is Effect.QUEUED
    assert applied.snapshot.queue == (applied.queued_id,)
    assert applied.snapshot.snapshot_version == 2
    assert applied.snapshot.queue_version == 2
    assert changes[-1].queue_version == 2


async def test_unknown_chat_is_none(machine: ChatMachine) -> None:
    assert await machine.submit(ChatId(uuid4()), Interrupt()) is None


async def test_refusal_changes_no_version_and_publishes_nothing(
    machine: ChatMachine, changes: list[ChatChange]
) -> None:
    chat_id = await new_chat(machine)
    changes.clear()

    for _ in range(3):
        refused = await machine.submit(
            chat_id, EditMessage(message_id=MessageId(10**9), content=plain("x"))
        )
        assert refused == Refusal(reason=RefusalReason.MESSAGE_NOT_FOUND)

    assert changes == []
    applied = await machine.submit(chat_id, SendMessage(content=plain("and?")))
    assert isinstance(applied, Applied)
    assert applied.snapshot.snapshot_version == 2


async def test_ten_copies_of_a_message_are_one(
    machine: ChatMachine, changes: list[ChatChange]
) -> None:
    """D2: the same message at the same time on several replicas is one command."""
    chat_id = await new_chat(machine)

    outcomes = await asyncio.gather(
        *(
            machine.submit(chat_id, SendMessage(content=plain("twice"), source_key="2.0"))
            for _ in range(10)
        )
    )

    effects = [outcome.effect for outcome in outcomes if isinstance(outcome, Applied)]
    assert sorted(effects) == [Effect.DUPLICATE] * 9 + [Effect.QUEUED]
    assert changes[-1].snapshot_version == 2


async def test_source_key_of_a_deleted_message_is_still_seen(machine: ChatMachine) -> None:
    chat_id = await new_chat(machine)
    await machine.submit(chat_id, SendMessage(content=plain("again"), source_key="1.0"))

    again = await machine.submit(chat_id, SendMessage(content=plain("again"), source_key="1.0"))

    assert isinstance(again, Applied)
    assert again.effect is Effect.DUPLICATE
    assert again.snapshot.snapshot_version == 1


async def test_commands_on_one_chat_come_one_after_another(machine: ChatMachine) -> None:
    chat_id = await new_chat(machine)

    outcomes = await asyncio.gather(
        *(machine.submit(chat_id, SendMessage(content=plain(str(n)))) for n in range(12))
    )

    applied = [outcome for outcome in outcomes if isinstance(outcome, Applied)]
    by_version = sorted(applied, key=lambda outcome: outcome.snapshot.snapshot_version)
    assert [a.snapshot.snapshot_version for a in by_version] == list(range(2, 14))
    for before, after in pairwise(by_version):
        assert after.snapshot.queue[:-1] == before.snapshot.queue


async def test_ten_deletions_of_one_queued_message_delete_it_once(machine: ChatMachine) -> None:
    chat_id = await new_chat(machine)
    queued = await machine.submit(chat_id, SendMessage(content=plain("no")))
    assert isinstance(queued, Applied)
    assert queued.queued_id is not None

    outcomes = await asyncio.gather(
        *(
            machine.submit(chat_id, DeleteQueuedMessage(queued_id=queued.queued_id))
            for _ in range(10)
        )
    )

    refused = Refusal(reason=RefusalReason.QUEUED_NOT_FOUND)
    assert sum(outcome == refused for outcome in outcomes) == 9


async def test_edit_replaces_what_follows(machine: ChatMachine) -> None:
    chat_id = ChatId(uuid4())
    created = await machine.create(CreateChat(chat_id=chat_id, content=plain("helo")))
    await machine.submit(chat_id, SendMessage(content=plain("more")))

    edited = await machine.submit(
        chat_id,
        EditMessage(message_id=created.message_ids[0], content=plain("hello")),  # type: ignore[union-attr]
    )

    assert isinstance(edited, Applied)
    assert edited.snapshot.queue == ()
    assert edited.snapshot.status is ChatStatus.RUNNING
    assert len(edited.message_ids) == 1
