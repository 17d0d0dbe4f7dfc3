"""Many at once: no deadlock, no lost message, the invariants hold whoever wins."""

import asyncio
import random
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest

from engine.chat import commands as c
from engine.chat.content import ToolCallPart, ToolResultPart, plain, text_of
from engine.chat.decision import Effect
from engine.chat.ids import ChatId, MessageId
from engine.store import chat_machine
from engine.store.chat_machine import ChatMachine
from engine.store.deliveries import Deliveries
from engine.store.leases import Leases
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import (
    answer,
    fence_of,
    harbour,
    history,
    new_chat,
    sql,
    submit,
    texts,
    waiting_chat,
)

OWNER = uuid4()
NOTHING = MessageId(0)
CHATS = 4
TASKS = 12
COMMANDS = 25


async def test_random_commands_at_once_never_deadlock_and_lose_nothing(
    machine: ChatMachine, pool: Pool
) -> None:
    """E58 (store part)"""
    chats = [await new_chat(machine, binding=harbour(f"{n}.0")) for n in range(CHATS)]
    sent: Counter[ChatId] = Counter()

    async def talk(chance: random.Random) -> None:
        for n in range(COMMANDS):
            chat_id = chance.choice(chats)
            await act(machine, pool, chat_id, chance, key=f"{chance.random()} {n}")
            sent[chat_id] += 1

    async def deliver() -> None:
        deliveries = Deliveries(pool)
        while True:
            for due in await deliveries.claim_due("slack", OWNER, 2, 30.0):
                await deliveries.settle(due.id, due.fence, due.settled_version + 1, NOTHING)
            await asyncio.sleep(0)

    delivering = asyncio.ensure_future(deliver())
    async with asyncio.TaskGroup() as tasks:
        for seed in range(TASKS):
            tasks.create_task(talk(random.Random(seed)))  # noqa: S311
    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)

    assert sum(sent.values()) == TASKS * COMMANDS
    for chat_id in chats:
        await check_invariants(pool, chat_id)


async def act(
    machine: ChatMachine, pool: Pool, chat_id: ChatId, chance: random.Random, *, key: str
) -> None:
    """Do one thing that somebody might do, whether or not it applies."""
    kind = chance.randrange(8)
    if kind < 2:
        busy = chance.choice(list(c.BusyBehavior))
        await machine.submit(chat_id, c.SendMessage(content=plain(key), source_key=key, busy=busy))
    elif kind == 2:
        await machine.submit(chat_id, c.Interrupt())
    elif kind == 3:
        messages = await history(pool, chat_id)
        edit = c.EditMessage(
            message_id=chance.choice(messages).id,
            content=plain(f"edited {key}"),
            rerun=chance.random() < 0.5,
        )
        await machine.submit(chat_id, edit)
    elif kind == 4:
        queue = await ChatRows(pool).read_queue(chat_id)
        if queue:
            queued_id = chance.choice(queue).id
            command = chance.choice((c.PromoteQueuedMessage, c.DeleteQueuedMessage))
            await machine.submit(chat_id, command(queued_id=queued_id))
    else:
        await work(machine, pool, chance)


async def work(machine: ChatMachine, pool: Pool, chance: random.Random) -> None:
    """Run one chat, whichever is next, as a worker would."""
    for held in await Leases(pool).acquire_chats(1, 30.0):
        fence = fence_of(held)
        await machine.submit(held.chat_id, c.RecordAttempt(fence=fence))
        done: c.Command = c.FinishTurn(fence=fence, messages=(answer("done"),))
        if held.change.status == "interrupting" or chance.random() < 0.2:
            done = c.FinishInterruption(fence=fence, messages=(answer("partial"),))
        await machine.submit(held.chat_id, done)
        await machine.submit(held.chat_id, c.ReleaseLease(fence=fence))


async def check_invariants(pool: Pool, chat_id: ChatId) -> None:
    (chat,) = await sql(pool, "SELECT * FROM chats WHERE id = $1", chat_id)
    assert chat["history_version"] <= chat["snapshot_version"]
    assert chat["queue_version"] <= chat["snapshot_version"]
    (newest,) = await sql(
        pool, "SELECT max(revision) AS revision FROM chat_messages WHERE chat_id = $1", chat_id
    )
    assert newest["revision"] == chat["history_version"]
    queue = await ChatRows(pool).read_queue(chat_id)
    assert len(queue) <= c.QUEUE_MAX
    if chat["status"] == "waiting":
        assert chat["runner_id"] is None
    open_calls: set[str] = set()
    for message in await history(pool, chat_id):
        for part in message.content:
            if isinstance(part, ToolCallPart):
                open_calls.add(part.tool_call_id)
            elif isinstance(part, ToolResultPart):
                open_calls.remove(part.tool_call_id)
    assert open_calls == set()


async def test_a_command_that_came_too_late_is_decided_on_the_chat_as_it_is_now(
    machine: ChatMachine, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what it read and what it would write, another message has set the chat running."""
    chat_id = await waiting_chat(machine, pool)
    load, came_between = chat_machine.load_snapshot, []

    async def load_and_wait(statements: Any, chat: ChatId, command: Any) -> Any:
        loaded = await load(statements, chat, command)
        if statements is pool and not came_between:
            came_between.append(command)
            await submit(machine, chat_id, c.SendMessage(content=plain("first")))
        return loaded

    monkeypatch.setattr(chat_machine, "load_snapshot", load_and_wait)
    late = await submit(machine, chat_id, c.SendMessage(content=plain("second")))

    assert came_between
    assert late.effect is Effect.QUEUED
    assert (await texts(pool, chat_id))[-1] == "first"
    assert [text_of(each.content) for each in await ChatRows(pool).read_queue(chat_id)] == [
        "second"
    ]
