"""Versions are kept by the database: no code path, not even somebody's SQL, can forget them."""

from typing import Any

from engine.chat.changes import Versions
from engine.chat.commands import FinishTurn, RecordAttempt, RecordRetry, SendMessage
from engine.chat.content import plain
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import ChatId
from engine.store.chat_machine import ChatMachine
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import (
    answer,
    fence_of,
    force_running,
    history,
    new_chat,
    sql,
    submit,
    waiting_chat,
)

INSERT_MESSAGE = """
    INSERT INTO chat_messages (chat_id, organization_id, role, content)
    SELECT id, organization_id, 'user', '[{"type":"text","text":"by hand"}]' FROM chats WHERE id = $1
"""
INSERT_QUEUED = """
    INSERT INTO chat_queued_messages (chat_id, organization_id, content)
    SELECT id, organization_id, '[{"type":"text","text":"by hand"}]' FROM chats WHERE id = $1
"""


async def versions(pool: Pool, chat_id: ChatId) -> Versions:
    (change,) = await ChatRows(pool).versions_of([chat_id])
    return change.versions


async def test_message_inserted_by_hand_is_news_to_readers(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    known = await versions(pool, chat_id)

    await sql(pool, INSERT_MESSAGE, chat_id)

    now = await versions(pool, chat_id)
    assert now.snapshot_version == known.snapshot_version + 1
    assert now.history_version == now.snapshot_version
    message = (await history(pool, chat_id))[-1]
    assert message.revision == now.history_version


async def test_message_amended_by_hand_begins_a_new_episode(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    assert held.change.generation_attempt == 1

    await sql(pool, "UPDATE chat_messages SET content = '[]' WHERE chat_id = $1", chat_id)

    now = await versions(pool, chat_id)
    assert now.history_version == now.snapshot_version == held.change.snapshot_version + 1
    assert now.generation_attempt == 0


async def test_two_messages_by_hand_in_one_transaction_are_one_version(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    known = await versions(pool, chat_id)

    async with pool.session() as connection, connection.transaction():
        await connection.execute(INSERT_MESSAGE, chat_id)
        await connection.execute(INSERT_QUEUED, chat_id)
        await connection.execute(INSERT_MESSAGE, chat_id)

    now = await versions(pool, chat_id)
    assert now.snapshot_version == known.snapshot_version + 1
    assert (now.history_version, now.queue_version) == (now.snapshot_version,) * 2


async def test_queue_changed_by_hand_is_news_to_readers(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    statements: list[str] = [
        INSERT_QUEUED,
        "UPDATE chat_queued_messages SET position = -1 WHERE chat_id = $1",
        "DELETE FROM chat_queued_messages WHERE chat_id = $1",
    ]
    for statement in statements:
        known = await versions(pool, chat_id)
        await sql(pool, statement, chat_id)
        now = await versions(pool, chat_id)
        assert now.queue_version == now.snapshot_version == known.snapshot_version + 1


async def test_retry_has_a_version_of_its_own(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    error = ChatError(kind=ErrorKind.RATE_LIMIT, message="slow down", retryable=True)
    retry = RetryState(attempt=1, delay_ms=1000, retrying_at=1.5, error=error)

    shown = await submit(machine, chat_id, RecordRetry(fence=fence_of(held), retry=retry))
    assert shown.snapshot.retry_version == shown.snapshot.snapshot_version
    assert shown.snapshot.generation_attempt == 2

    over = await submit(machine, chat_id, RecordAttempt(fence=fence_of(held)))
    assert over.snapshot.retry_version == over.snapshot.snapshot_version
    assert over.snapshot.generation_attempt == 3
    assert over.snapshot.history_version == held.change.history_version


async def test_any_change_of_a_chat_by_hand_raises_its_version(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    known = await versions(pool, chat_id)

    await sql(pool, "UPDATE chats SET title = 'Harbour' WHERE id = $1", chat_id)

    assert (await versions(pool, chat_id)).snapshot_version == known.snapshot_version + 1


async def test_what_is_told_after_a_command_is_what_is_stored(
    machine: ChatMachine, pool: Pool, changes: list[Any]
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, SendMessage(content=plain("and?")))

    finished = await submit(
        machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),))
    )

    (stored,) = await ChatRows(pool).versions_of([chat_id])
    assert changes[-1] == stored
    assert finished.snapshot.history_version == finished.snapshot.snapshot_version
    assert finished.snapshot.queue_version == finished.snapshot.snapshot_version
    assert finished.snapshot.generation_attempt == 0
    assert finished.snapshot.runner_id == held.runner_id
