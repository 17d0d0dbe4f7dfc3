"""Owns the connections. Every statement of the store passes here: counted, and its faults translated.

Connections go back to the pool without a reset query, so nothing may leave session state on one:
only SET LOCAL, only transaction locks, no LISTEN.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from engine.store.commit import uncancelled
from engine.store.errors import DatabaseUnavailable
from engine.store.faults import FAULTS, translate_fault
from engine.store.queries import Query

Row = Any
"""A row as asyncpg gives it: columns by name."""

STATEMENT_TIMEOUT_SECONDS = 30.0
"""No statement of ours takes longer than a second; past this the connection is given up."""
_LOCAL_LIMITS = (
    "SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '30s'"
)
"""A replica that freezes in the middle of a transaction gives its row locks back."""
_NEVER = 2**31 - 1
_JSONB_VERSION = b"\x01"
_PAUSE_SECONDS_MAX = 2.0
_URL_HINT = "It must look like postgresql://user:password@host:5432/database."
_HINT = "Check that the server runs and that DATABASE_URL is right."


class Transaction:
    """An open transaction. Only `Pool.transaction` makes one.

    `is_over` becomes true with its end, `is_committed` with its commit, also when the task is cancelled
    meanwhile.
    """

    def __init__(self, pool: "Pool", connection: Any) -> None:
        self._pool = pool
        self._connection = connection
        self._is_void = False
        self.is_committed = False
        self.is_over = False

    def give_up(self) -> None:
        """Roll back at the end instead of committing."""
        self._is_void = True

    async def fetch(self, query: Query, *args: object) -> list[Row]:
        """The rows of a `:many` query."""
        self._pool.statement_count += 1
        rows: list[Row] = await self._connection.fetch(query.sql, *args)
        return rows

    async def fetch_one(self, query: Query, *args: object) -> Row | None:
        """The row of a `:one` query, if there is one."""
        self._pool.statement_count += 1
        return await self._connection.fetchrow(query.sql, *args)

    async def execute(self, query: Query, *args: object) -> int:
        """Run an `:exec` query; the number of rows that it changed."""
        self._pool.statement_count += 1
        return _changed(await self._connection.execute(query.sql, *args))

    async def end(self) -> None:
        """Commit, or roll back what was given up."""
        self._pool.statement_count += 1
        await self._connection.execute("ROLLBACK" if self._is_void else "COMMIT")
        self.is_over, self.is_committed = True, not self._is_void


class Pool:
    """The store's connections to one database. `statement_count` counts round trips, for benchmarks."""

    def __init__(self, connections: Any) -> None:
        self._connections = connections
        self.statement_count = 0

    async def fetch(self, query: Query, *args: object) -> list[Row]:
        """The rows of a `:many` query, in a transaction of its own."""
        self.statement_count += 1
        try:
            rows: list[Row] = await self._connections.fetch(query.sql, *args)
        except FAULTS as fault:
            raise translate_fault(fault) from fault
        return rows

    async def fetch_one(self, query: Query, *args: object) -> Row | None:
        """The row of a `:one` query, if there is one, in a transaction of its own."""
        self.statement_count += 1
        try:
            return await self._connections.fetchrow(query.sql, *args)
        except FAULTS as fault:
            raise translate_fault(fault) from fault

    async def execute(self, query: Query, *args: object) -> int:
        """Run an `:exec` query in a transaction of its own; the number of rows that it changed."""
        self.statement_count += 1
        try:
            return _changed(await self._connections.execute(query.sql, *args))
        except FAULTS as fault:
            raise translate_fault(fault) from fault

    @asynccontextmanager
    async def transaction(self, locked_chat: UUID | None = None) -> AsyncIterator[Transaction]:
        """All or nothing, also when cancelled. With `locked_chat`, under the lock of that row.

        The lock travels with BEGIN, so it costs no round trip, and what is read afterwards is newer
        than the lock: a statement that waited for a lock itself would see the past.
        """
        begin = f"BEGIN; {_LOCAL_LIMITS}"
        if locked_chat is not None:
            begin += f"; SELECT FROM chats WHERE id = '{UUID(str(locked_chat))}' FOR NO KEY UPDATE"
        try:
            async with self._connections.acquire() as connection:
                transaction = Transaction(self, connection)
                try:
                    self.statement_count += 1
                    await connection.execute(begin)
                    yield transaction
                    await uncancelled(transaction.end())
                except BaseException:
                    if not transaction.is_over:
                        await self._roll_back(connection)
                    raise
        except FAULTS as fault:
            raise translate_fault(fault) from fault

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        """A bare connection, for migrations. What it changes in its session must be undone."""
        try:
            async with self._connections.acquire() as connection:
                yield connection
        except FAULTS as fault:
            raise translate_fault(fault) from fault

    async def close(self) -> None:
        """Close all connections, once what runs on them has ended."""
        await self._connections.close()

    async def _roll_back(self, connection: Any) -> None:
        """Undo whatever was begun; after a cancellation the driver cannot say whether anything was."""
        if connection.is_closed():
            return
        self.statement_count += 1
        try:
            await uncancelled(connection.execute("ROLLBACK"))
        except FAULTS:
            # The database drops what an unusable connection had begun.
            connection.terminate()


async def open_pool(
    url: str,
    *,
    connections_min: int = 1,
    connections_max: int = 10,
    wait_seconds: float = 30.0,
    on_wait: Callable[[str], None] | None = None,
) -> Pool:
    """Connect, waiting up to `wait_seconds` for a database that is still starting.

    `on_wait` is told why, once for each try. Raises DatabaseUnavailable.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    pause_seconds = 0.1
    while True:
        try:
            return await _connect(url, connections_min, connections_max)
        except ValueError as fault:
            # Not with the driver's words: they may quote a piece of the password.
            reason = "its URL cannot be read"
            raise DatabaseUnavailable(url, reason=reason, hint=_URL_HINT) from fault
        except FAULTS as fault:
            reason = str(fault) or type(fault).__name__
            if not _may_come(fault) or loop.time() + pause_seconds > deadline:
                raise DatabaseUnavailable(url, reason=reason, hint=_hint_for(fault)) from fault
        if on_wait is not None:
            on_wait(reason)
        await asyncio.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, _PAUSE_SECONDS_MAX)


async def _connect(url: str, connections_min: int, connections_max: int) -> Pool:
    connections = await asyncpg.create_pool(
        url,
        min_size=connections_min,
        max_size=connections_max,
        max_queries=_NEVER,
        command_timeout=STATEMENT_TIMEOUT_SECONDS,
        timeout=10.0,
        init=_prepare_connection,
        reset=_keep_as_it_is,
        server_settings={"application_name": "threadwright", "timezone": "UTC"},
    )
    return Pool(connections)


async def _prepare_connection(connection: Any) -> None:
    """Leave JSON as bytes: stored_json.py knows the types, the driver does not."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=_JSONB_VERSION.__add__,
        decoder=_jsonb_bytes,
    )
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=bytes, decoder=bytes
    )


def _jsonb_bytes(data: bytes) -> bytes:
    return bytes(data[1:])


async def _keep_as_it_is(_connection: Any) -> None:
    """Nothing to reset, see the module's promise."""


def _changed(tag: str) -> int:
    return int(tag.rpartition(" ")[2])


def _may_come(fault: BaseException) -> bool:
    """Whether waiting can help: not for a wrong password or a database that does not exist."""
    return not isinstance(
        fault, asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError
    )


def _hint_for(fault: BaseException) -> str:
    if isinstance(fault, asyncpg.InvalidAuthorizationSpecificationError):
        return "Check the user and the password in DATABASE_URL."
    if isinstance(fault, asyncpg.InvalidCatalogNameError):
        return "Create the database first, or correct its name in DATABASE_URL."
    return _HINT
