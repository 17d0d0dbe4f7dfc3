"""Carries a decision out, inside the transaction that it was made in. Only the chat machine may.

The row and the messages that come first are one statement; every other write is one more. A write that
does not find what its decision was made from raises WriteMissed, which rolls everything back. Where
that one statement is all there is, it needs no transaction around it.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import dropwhile, takewhile
from typing import Any, Protocol

from engine.chat import writes as w
from engine.chat.content import NewMessage, Role
from engine.chat.decision import ChatRow, Decision
from engine.chat.ids import ActionId, MessageId, QueuedId
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.store.errors import WriteMissed
from engine.store.outcomes import Applied
from engine.store.pool import Row, Transaction
from engine.store.queries import Query, query
from engine.store.stored_json import (
    encode_json,
    encode_optional,
    encode_optional_text,
    encode_text,
)

_CHANGES_HISTORY = (w.ReplaceMessage, w.TruncateHistory, w.InsertReplacement, w.PromoteQueued)
_CHANGES_QUEUE = (
    w.Enqueue,
    w.ReplaceQueued,
    w.DeleteQueued,
    w.MoveToHead,
    w.PromoteQueued,
    w.ClearQueue,
)
_NEEDS_WORKER = (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)


@dataclass(slots=True, kw_only=True)
class _Progress:
    """What the writes so far have led to."""

    transaction: Transaction
    before: Snapshot
    row: ChatRow
    queue: list[QueuedId]
    message_ids: list[MessageId] = field(default_factory=list)
    assistant_id: MessageId | None = None
    queued_id: QueuedId | None = None
    action_ids: list[ActionId] = field(default_factory=list)

    def note_messages(self, ids: list[MessageId], messages: tuple[NewMessage, ...]) -> None:
        """Remember what was inserted, and the last assistant's message for the ledger."""
        self.message_ids += ids
        for message_id, message in zip(ids, messages, strict=True):
            if message.role is Role.ASSISTANT:
                self.assistant_id = message_id


class Statements(Protocol):
    """Where a statement can be run: in a transaction, or in one of its own."""

    async def fetch_one(self, query: Query, *args: object) -> Row | None:
        """The row of a `:one` query, if there is one."""
        ...


def is_one_statement(decision: Decision) -> bool:
    """Whether the row and the messages that come first are all that the decision changes."""
    return all(isinstance(write, w.InsertMessages) for write in decision.writes)


async def apply_at_once(
    statements: Statements, snapshot: Snapshot, decision: Decision
) -> Applied | None:
    """Apply a decision that is one statement. None: the chat has changed since, nothing was done."""
    messages = _first_messages(decision)
    applied = await _update_row(statements, snapshot, decision, messages)
    if applied is None:
        return None
    after, ids = applied
    return Applied(
        effect=decision.effect,
        snapshot=replace(after, queue=snapshot.queue),
        message_ids=tuple(ids),
    )


async def apply_decision(
    transaction: Transaction, snapshot: Snapshot, decision: Decision
) -> Applied:
    """Apply the row and the writes in order. What it gives is true once the transaction commits."""
    messages = _first_messages(decision)
    progress = _Progress(
        transaction=transaction, before=snapshot, row=decision.row, queue=list(snapshot.queue)
    )
    updated = await _update_row(transaction, snapshot, decision, messages)
    if updated is None:
        raise WriteMissed("update_row")
    after, ids = updated
    progress.note_messages(ids, messages)
    for write in _later_writes(decision):
        await _APPLY[type(write)](progress, write)
    return Applied(
        effect=decision.effect,
        snapshot=replace(after, queue=tuple(progress.queue)),
        message_ids=tuple(progress.message_ids),
        queued_id=progress.queued_id,
        action_ids=tuple(progress.action_ids),
    )


def _first_messages(decision: Decision) -> tuple[NewMessage, ...]:
    first = takewhile(lambda write: isinstance(write, w.InsertMessages), decision.writes)
    return tuple(
        m for write in first if isinstance(write, w.InsertMessages) for m in write.messages
    )


def _later_writes(decision: Decision) -> Iterable[w.Write]:
    return dropwhile(lambda write: isinstance(write, w.InsertMessages), decision.writes)


async def _update_row(
    statements: Statements, before: Snapshot, decision: Decision, messages: tuple[NewMessage, ...]
) -> tuple[Snapshot, list[MessageId]] | None:
    row = decision.row
    history_changed = _changes_history(decision)
    runner_id = before.runner_id if row.keep_runner else None
    attempt = 0 if history_changed else before.generation_attempt
    attempt += row.next_attempt
    waits = row.status in _NEEDS_WORKER and runner_id is None
    waited = before.status in _NEEDS_WORKER and before.runner_id is None
    changed = await statements.fetch_one(
        query("chat_machine.update_row"),
        before.chat_id,
        before.organization_id,
        encode_json(messages),
        row.status,
        row.archived,
        encode_json(row.open_calls),
        row.actions_deadline_at,
        encode_optional(row.last_error),
        encode_optional(row.retry),
        row.compaction_requested,
        runner_id,
        attempt,
        history_changed,
        any(isinstance(write, _CHANGES_QUEUE) for write in decision.writes),
        waits and not waited,
        before.snapshot_version,
    )
    if changed is None:
        return None
    after = replace(
        before,
        status=row.status,
        archived=row.archived,
        history_version=changed["history_version"],
        queue_version=changed["queue_version"],
        retry_version=changed["retry_version"],
        generation_attempt=attempt,
        runner_id=runner_id,
        lease_live=before.lease_live and runner_id is not None,
        open_calls=row.open_calls,
        actions_deadline_at=row.actions_deadline_at,
        last_error=row.last_error,
        retry=row.retry,
        compaction_requested=row.compaction_requested,
    )
    return after, list(changed["message_ids"])


def _changes_history(decision: Decision) -> bool:
    return any(
        isinstance(write, _CHANGES_HISTORY)
        or (isinstance(write, w.InsertMessages) and bool(write.messages))
        for write in decision.writes
    )


async def _insert_messages(progress: _Progress, write: w.InsertMessages) -> None:
    if not write.messages:
        return
    rows = await progress.transaction.fetch(
        query("chat_machine.insert_messages"),
        progress.before.chat_id,
        progress.before.organization_id,
        encode_json(write.messages),
    )
    progress.note_messages([row["id"] for row in rows], write.messages)


async def _replace_message(progress: _Progress, write: w.ReplaceMessage) -> None:
    await _change(progress, "replace_message", write.message_id, encode_json(write.content))


async def _truncate_history(progress: _Progress, write: w.TruncateHistory) -> None:
    changed = await progress.transaction.execute(
        query("chat_machine.truncate_history"), progress.before.chat_id, write.from_message_id
    )
    if changed == 0:
        raise WriteMissed("truncate_history")


async def _insert_replacement(progress: _Progress, write: w.InsertReplacement) -> None:
    rows = await progress.transaction.fetch(
        query("chat_machine.insert_replacement"),
        progress.before.chat_id,
        write.replaces,
        encode_json(write.content),
        encode_optional(write.author),
    )
    if len(rows) != 1:
        raise WriteMissed("insert_replacement")
    progress.message_ids.append(rows[0]["id"])


async def _enqueue(progress: _Progress, write: w.Enqueue) -> None:
    row = await progress.transaction.fetch_one(
        query("chat_machine.enqueue"),
        progress.before.chat_id,
        progress.before.organization_id,
        encode_json(write.content),
        encode_optional(write.author),
        encode_optional_text(write.source_key),
    )
    if row is None:
        raise WriteMissed("enqueue")
    progress.queued_id = row["id"]
    progress.queue.append(row["id"])


async def _replace_queued(progress: _Progress, write: w.ReplaceQueued) -> None:
    await _change(progress, "replace_queued", write.queued_id, encode_json(write.content))


async def _delete_queued(progress: _Progress, write: w.DeleteQueued) -> None:
    await _change(progress, "delete_queued", write.queued_id)
    progress.queue.remove(write.queued_id)


async def _move_to_head(progress: _Progress, write: w.MoveToHead) -> None:
    await _change(progress, "move_to_head", write.queued_id)
    progress.queue.remove(write.queued_id)
    progress.queue.insert(0, write.queued_id)


async def _promote_queued(progress: _Progress, write: w.PromoteQueued) -> None:
    rows = await progress.transaction.fetch(
        query("chat_machine.promote_queued"), progress.before.chat_id, write.queued_id
    )
    if len(rows) != 1:
        raise WriteMissed("promote_queued")
    progress.message_ids.append(rows[0]["id"])
    progress.queue.remove(write.queued_id or progress.queue[0])


async def _clear_queue(progress: _Progress, _write: w.ClearQueue) -> None:
    await progress.transaction.execute(query("chat_machine.clear_queue"), progress.before.chat_id)
    progress.queue.clear()


async def _reserve_tool_calls(progress: _Progress, write: w.ReserveToolCalls) -> None:
    if progress.assistant_id is None:
        raise WriteMissed("reserve_tool_calls")
    await progress.transaction.execute(
        query("chat_machine.reserve_tool_calls"),
        progress.before.chat_id,
        progress.assistant_id,
        encode_json(write.reservations),
    )


async def _open_actions(progress: _Progress, write: w.OpenActions) -> None:
    rows = await progress.transaction.fetch(
        query("chat_machine.open_actions"),
        progress.before.chat_id,
        progress.before.organization_id,
        encode_json(write.actions),
        progress.row.actions_deadline_at,
        progress.before.snapshot_version,
    )
    progress.action_ids += [row["id"] for row in rows]


async def _close_actions(progress: _Progress, write: w.CloseActions) -> None:
    # The count is not checked: a chat whose calls and actions disagree must still be able to go on.
    await progress.transaction.execute(
        query("chat_machine.close_actions"),
        progress.before.chat_id,
        write.state,
        [encode_text(call_id) for call_id in write.tool_call_ids],
        encode_optional(write.by),
        encode_json(dict(write.answers)),
        progress.before.snapshot_version,
    )


async def _mark_context_cleared(progress: _Progress, _write: w.MarkContextCleared) -> None:
    await progress.transaction.execute(query("chat_machine.mark_context"), progress.before.chat_id)


async def _queue_notification(progress: _Progress, write: w.QueueNotification) -> None:
    # The count is not checked: a chat without an owner or a channel has nobody to tell.
    await progress.transaction.execute(
        query("notifications.queue"), progress.before.chat_id, write.kind
    )


async def _change(progress: _Progress, name: str, *args: object) -> None:
    """Change exactly one row of the chat."""
    changed = await progress.transaction.execute(
        query(f"chat_machine.{name}"), progress.before.chat_id, *args
    )
    if changed != 1:
        raise WriteMissed(name)


_APPLY: dict[type, Callable[[_Progress, Any], Awaitable[None]]] = {
    w.InsertMessages: _insert_messages,
    w.ReplaceMessage: _replace_message,
    w.TruncateHistory: _truncate_history,
    w.InsertReplacement: _insert_replacement,
    w.Enqueue: _enqueue,
    w.ReplaceQueued: _replace_queued,
    w.DeleteQueued: _delete_queued,
    w.MoveToHead: _move_to_head,
    w.PromoteQueued: _promote_queued,
    w.ClearQueue: _clear_queue,
    w.ReserveToolCalls: _reserve_tool_calls,
    w.OpenActions: _open_actions,
    w.CloseActions: _close_actions,
    w.MarkContextCleared: _mark_context_cleared,
    w.QueueNotification: _queue_notification,
}
