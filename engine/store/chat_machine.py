"""The one writer of chats: load the snapshot, decide, apply to that very snapshot, then publish.

Theory of operation. A decision holds for the version of the chat that it was made from. Most change
no more than the chat's row and append messages; they are one statement that finds that version or
changes nothing. All others, and those that came too late, take the row's lock first and are applied
in one transaction. Either way commands on one chat come one after another, on different chats never
wait for each other, and no two can deadlock. The decision is pure; this file only carries it between
the database and engine.chat. A refusal writes nothing, not even a version. The hint goes out after
the commit; it may be lost, the database decides.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import isawaitable

from engine.chat import commands as c
from engine.chat.changes import ChatChange
from engine.chat.commands import Command, CreateChat, WorkerCommand
from engine.chat.content import NewMessage, text_of
from engine.chat.decide import decide, first_messages
from engine.chat.decision import Decision, Effect, Refusal
from engine.chat.ids import ChatId, MessageId
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.chat.title import fallback_title
from engine.store.apply_writes import apply_at_once, apply_decision, is_one_statement
from engine.store.commit import uncancelled
from engine.store.errors import StoreUnavailable
from engine.store.file_links import contents_of, files_in, link_files
from engine.store.outcomes import Applied, Created, Existing
from engine.store.pool import Pool, Row, Transaction
from engine.store.queries import query
from engine.store.snapshot_row import load_snapshot
from engine.store.stored_json import encode_json, encode_optional, encode_optional_text, encode_text

logger = logging.getLogger(__name__)

Publish = Callable[[ChatChange], Awaitable[None] | None]
Clock = Callable[[], datetime]


_OFTEN_ONE_STATEMENT = (
    c.SendMessage,
    c.Interrupt,
    c.Archive,
    c.Unarchive,
    c.RequestCompaction,
    c.CommitStep,
    c.CompactHistory,
    c.FinishTurn,
    c.FinishInterruption,
    c.FinishError,
    c.RecordAttempt,
    c.RecordRetry,
    c.ReleaseLease,
)
"""Commands that mostly change no more than the row and append messages."""


@dataclass(frozen=True, slots=True)
class _TakesLock:
    """The command must be carried out under the row's lock, and nothing is done yet."""


@dataclass(slots=True)
class _Announcement:
    """A change to publish once its transaction is committed."""

    transaction: Transaction | None = None
    change: ChatChange | None = None

    def of(self, transaction: Transaction, change: ChatChange) -> None:
        """Announce this change if this transaction is committed."""
        self.transaction, self.change = transaction, change

    @property
    def due(self) -> ChatChange | None:
        """The change, if it is stored."""
        committed = self.transaction is not None and self.transaction.is_committed
        return self.change if committed else None


class ChatMachine:
    """Submits commands to chats. Safe to use from any number of tasks and replicas at once.

    `publish` is told of every change after its commit; its failures are logged, never passed on.
    `clock` replaces the database's time in decisions. Methods raise StoreUnavailable when the
    database is out of reach; then nothing is half applied.
    """

    def __init__(self, pool: Pool, publish: Publish, clock: Clock | None = None) -> None:
        self._pool = pool
        self._publish = publish
        self._clock = clock

    async def create(self, command: CreateChat) -> Created | Existing | Refusal:
        """Create the chat with its first message, running. A thread, or an id, has one chat."""
        messages = first_messages(command)
        if isinstance(messages, Refusal):
            return messages
        async with self._announcing() as announcement, self._pool.transaction() as transaction:
            row = await _insert_chat(transaction, command)
            refusal = (
                None
                if row is None
                else await link_files(
                    transaction, command.chat_id, command.organization_id, (command.content,)
                )
            )
            if row is None or refusal is not None:
                transaction.give_up()
            else:
                ids = await _insert_first(transaction, command, messages)
                announcement.of(transaction, _first_change(command, row))
        if row is None:
            return await self._existing(command)
        if refusal is not None:
            return refusal
        return Created(chat_id=command.chat_id, message_ids=ids)

    async def submit(self, chat_id: ChatId, command: Command) -> Applied | Refusal | None:
        """Carry out a command, wholly or not at all, also when cancelled. None: no such chat."""
        if isinstance(command, _OFTEN_ONE_STATEMENT):
            outcome = await self._submit_at_once(chat_id, command)
            if not isinstance(outcome, _TakesLock):
                return outcome
        return await self._submit_locked(chat_id, command)

    async def _submit_at_once(
        self, chat_id: ChatId, command: Command
    ) -> "Applied | Refusal | _TakesLock | None":
        """Carry out a command by one read and one statement that changes nothing if it is outdated."""
        loaded = await load_snapshot(self._pool, chat_id, command)
        if loaded is None:
            return None
        snapshot, now = loaded
        decision = decide(snapshot, command, self._clock() if self._clock else now)
        if isinstance(decision, Refusal):
            return decision
        if decision.effect is Effect.DUPLICATE:
            return Applied(effect=Effect.DUPLICATE, snapshot=_before(snapshot))
        if not is_one_statement(decision) or files_in(contents_of(decision.writes)):
            return _TakesLock()
        applied = await uncancelled(self._apply_at_once(snapshot, decision))
        return _TakesLock() if applied is None else applied

    async def _apply_at_once(self, snapshot: Snapshot, decision: Decision) -> Applied | None:
        applied = await apply_at_once(self._pool, snapshot, decision)
        if applied is not None:
            await self._tell(_change(applied.snapshot, wake=decision.wake))
        return applied

    async def _submit_locked(self, chat_id: ChatId, command: Command) -> Applied | Refusal | None:
        async with (
            self._announcing() as announcement,
            self._pool.transaction(locked_chat=chat_id) as transaction,
        ):
            loaded = await load_snapshot(transaction, chat_id, command)
            if loaded is None:
                transaction.give_up()
                return None
            snapshot, now = loaded
            decision = decide(snapshot, command, self._clock() if self._clock else now)
            if isinstance(decision, Refusal):
                transaction.give_up()
                return decision
            if decision.effect is Effect.DUPLICATE:
                transaction.give_up()
                return Applied(effect=Effect.DUPLICATE, snapshot=_before(snapshot))
            refusal = await link_files(
                transaction,
                chat_id,
                snapshot.organization_id,
                contents_of(decision.writes),
                is_lenient=isinstance(command, WorkerCommand),
            )
            if refusal is not None:
                transaction.give_up()
                return refusal
            applied = await apply_decision(transaction, snapshot, decision)
            announcement.of(transaction, _change(applied.snapshot, wake=decision.wake))
        return applied

    async def _existing(self, command: CreateChat) -> Existing:
        thread = _thread_of(command)
        row = await self._pool.fetch_one(
            query("chat_machine.find_created"), command.chat_id, *thread
        )
        if row is None:
            raise StoreUnavailable("the thread's chat was removed while another was created")
        return Existing(chat_id=row["id"])

    @asynccontextmanager
    async def _announcing(self) -> AsyncIterator[_Announcement]:
        """Publish what was committed, also when the task was cancelled during the commit."""
        announcement = _Announcement()
        try:
            yield announcement
        finally:
            if (change := announcement.due) is not None:
                await self._tell(change)

    async def _tell(self, change: ChatChange) -> None:
        try:
            told = self._publish(change)
            if isawaitable(told):
                await told
        except Exception:
            logger.warning(
                "hint not published",
                exc_info=True,
                extra={"action": "hint_lost", "chat_id": str(change.chat_id)},
            )


async def _insert_chat(transaction: Transaction, command: CreateChat) -> Row | None:
    return await transaction.fetch_one(
        query("chat_machine.create_chat"),
        command.chat_id,
        command.organization_id,
        encode_text(command.bot),
        encode_optional_text(command.title),
        encode_optional_text(command.model),
        encode_optional_text(command.system_prompt),
        encode_json(command.labels),
        encode_json(command.dynamic_tools),
        encode_optional(command.author),
        *_thread_of(command),
        encode_optional_text(fallback_title(text_of(command.content))),
    )


async def _insert_first(
    transaction: Transaction, command: CreateChat, messages: tuple[NewMessage, ...]
) -> tuple[MessageId, ...]:
    rows = await transaction.fetch(
        query("chat_machine.insert_messages"),
        command.chat_id,
        command.organization_id,
        encode_json(messages),
    )
    return tuple(row["id"] for row in rows)


def _thread_of(command: CreateChat) -> tuple[str | None, ...]:
    binding = command.binding
    if binding is None:
        return (None, None, None, None)
    return (binding.platform, binding.installation, binding.channel, binding.thread)


def _first_change(command: CreateChat, row: Row) -> ChatChange:
    return ChatChange(
        chat_id=command.chat_id,
        snapshot_version=row["snapshot_version"],
        history_version=row["history_version"],
        queue_version=0,
        retry_version=0,
        generation_attempt=0,
        status=ChatStatus.RUNNING,
        wake=True,
    )


def _change(snapshot: Snapshot, *, wake: bool) -> ChatChange:
    return ChatChange(
        chat_id=snapshot.chat_id,
        snapshot_version=snapshot.snapshot_version,
        history_version=snapshot.history_version,
        queue_version=snapshot.queue_version,
        retry_version=snapshot.retry_version,
        generation_attempt=snapshot.generation_attempt,
        status=snapshot.status,
        archived=snapshot.archived,
        runner_id=snapshot.runner_id,
        lease_live=snapshot.lease_live,
        wake=wake,
    )


def _before(snapshot: Snapshot) -> Snapshot:
    """The chat as it stands when the transaction's version is not kept."""
    return replace(snapshot, snapshot_version=snapshot.snapshot_version - 1)
