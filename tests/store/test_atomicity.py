"""All or nothing: whatever happens in the middle, a command is applied wholly or not at all."""

import asyncio
from typing import Any

import pytest

from engine.chat.changes import ChatChange
from engine.chat.commands import FinishError, FinishTurn, SendMessage
from engine.chat.content import plain
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.store.chat_machine import ChatMachine
from engine.store.errors import StoreRefused, StoreUnavailable
from engine.store.pool import Pool, Transaction, open_pool
from engine.store.queries import Query
from tests.fakes.postgres import PostgresServer
from tests.store.story import answer, fence_of, force_running, history, new_chat, sql, submit, texts


async def everything(pool: Pool, chat_id: ChatId) -> list[Any]:
    """All that is stored of a chat."""
    rows: list[Any] = []
    for table, key in (("chats", "id"), ("chat_messages", "chat_id"), ("deliveries", "chat_id"),
                       ("chat_queued_messages", "chat_id"), ("required_actions", "chat_id")):  # fmt: skip
        select = f"SELECT t::text FROM {table} AS t WHERE {key} = $1 ORDER BY 1"  # noqa: S608
        rows += [row["t"] for row in await sql(pool, select, chat_id)]
    return rows


async def test_exception_inside_the_transaction_leaves_everything_unchanged(
    machine: ChatMachine, pool: Pool, changes: list[ChatChange], monkeypatch: pytest.MonkeyPatch
) -> None:
    """E44 (store part): at each statement of the transaction."""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, SendMessage(content=plain("queued")))
    before = await everything(pool, chat_id)
    changes.clear()
    done = FinishTurn(fence=fence_of(held), messages=(answer("hi"),))

    for broken in ("load_snapshot", "update_row", "promote_queued", "end"):
        with monkeypatch.context() as patch:
            break_at(patch, broken)
            with pytest.raises(RuntimeError, match="out of the blue"):
                await machine.submit(chat_id, done)
        assert await everything(pool, chat_id) == before
        assert changes == []

    error = ChatError(kind=ErrorKind.INTERNAL, message="chat processing failed: out of the blue")
    failed = await submit(machine, chat_id, FinishError(fence=fence_of(held), error=error))
    assert failed.snapshot.status is ChatStatus.ERROR
    await submit(machine, chat_id, SendMessage(content=plain("again")))


def break_at(patch: pytest.MonkeyPatch, name: str) -> None:
    """Let a statement fail as a fault of ours would: not one of the database's."""
    if name == "end":

        async def broken_end(_self: Transaction) -> None:
            raise RuntimeError("out of the blue")

        patch.setattr(Transaction, "end", broken_end)
        return
    for method in ("fetch", "fetch_one", "execute"):
        original = getattr(Transaction, method)

        async def broken(
            self: Transaction, query: Query, *args: object, original: Any = original
        ) -> Any:
            if query.name.endswith(name):
                raise RuntimeError("out of the blue")
            return await original(self, query, *args)

        patch.setattr(Transaction, method, broken)


async def test_statement_that_the_database_refuses_rolls_back(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    before = await everything(pool, chat_id)
    refuse = "ALTER TABLE chat_messages ADD CONSTRAINT no_demo CHECK (model <> 'demo')"
    await sql(pool, refuse)

    with pytest.raises(StoreRefused, match="no_demo"):
        await machine.submit(chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),)))

    assert await everything(pool, chat_id) == before


async def test_cancelled_command_is_applied_wholly_or_not_at_all(
    machine: ChatMachine, pool: Pool, changes: list[ChatChange]
) -> None:
    """Cancelled at every point that the event loop offers; the connection is never poisoned."""
    chat_id = await new_chat(machine)
    applied = 0
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, said: complaints.append(said))
    for steps in range(60):
        await sql(pool, "DELETE FROM chat_queued_messages")
        changes.clear()
        task = asyncio.ensure_future(
            machine.submit(chat_id, SendMessage(content=plain("now?"), source_key=str(steps)))
        )
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)

        stored = await sql(pool, "SELECT source_key FROM chat_queued_messages")
        assert len(stored) == len(changes)
        if not isinstance(outcome, asyncio.CancelledError):
            assert len(stored) == 1
        applied += len(stored)
    await submit(machine, chat_id, SendMessage(content=plain("still alive")))
    assert applied < 60
    assert complaints == []


async def test_command_cancelled_during_its_commit_is_applied_and_announced(
    machine: ChatMachine, pool: Pool, changes: list[ChatChange], monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_id = await new_chat(machine)
    changes.clear()
    commits = asyncio.Event()
    end = Transaction.end

    async def tell_then_end(self: Transaction) -> None:
        commits.set()
        await asyncio.sleep(0)
        await end(self)

    monkeypatch.setattr(Transaction, "end", tell_then_end)
    task = asyncio.ensure_future(machine.submit(chat_id, SendMessage(content=plain("now"))))
    await commits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert len(await sql(pool, "SELECT 1 FROM chat_queued_messages")) == 1
    assert len(changes) == 1


async def test_failure_to_publish_never_reaches_the_caller(pool: Pool) -> None:
    async def publish(_change: ChatChange) -> None:
        raise OSError("no bus today")

    machine = ChatMachine(pool, publish)

    chat_id = await new_chat(machine)

    assert await texts(pool, chat_id) == ["hello"]


async def test_database_that_goes_away_is_unavailable_and_comes_back(
    machine: ChatMachine, pool: Pool, postgres: PostgresServer
) -> None:
    """D1 (store part)"""
    chat_id = await new_chat(machine)
    postgres.stop()

    with pytest.raises(StoreUnavailable):
        await machine.submit(chat_id, SendMessage(content=plain("lost?"), source_key="2.0"))
    with pytest.raises(StoreUnavailable):
        await history(pool, chat_id)

    postgres.start()
    await submit(machine, chat_id, SendMessage(content=plain("lost?"), source_key="2.0"))
    assert len(await sql(pool, "SELECT 1 FROM chat_queued_messages")) == 1


async def test_connection_cut_in_mid_transaction_leaves_nothing(
    machine: ChatMachine, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_id = await new_chat(machine)
    before = await everything(pool, chat_id)
    fetch_one = Transaction.fetch_one

    async def cut_then_fetch(self: Transaction, query: Query, *args: object) -> Any:
        pid = self._connection.get_server_pid()
        await sql(pool, "SELECT pg_terminate_backend($1)", pid)
        return await fetch_one(self, query, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "fetch_one", cut_then_fetch)
        with pytest.raises(StoreUnavailable):
            await machine.submit(chat_id, SendMessage(content=plain("x")))

    assert await everything(pool, chat_id) == before
    await submit(machine, chat_id, SendMessage(content=plain("x")))


async def test_lock_that_is_never_given_back_is_unavailable_not_a_hang(
    database_url: str, machine: ChatMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.store.pool._LOCAL_LIMITS", "SET LOCAL lock_timeout = '50ms'")
    chat_id = await new_chat(machine)
    other = await open_pool(database_url)

    async with other.transaction(locked_chat=chat_id):
        with pytest.raises(StoreUnavailable):
            await machine.submit(chat_id, SendMessage(content=plain("x")))

    await other.close()
    await submit(machine, chat_id, SendMessage(content=plain("x")))
