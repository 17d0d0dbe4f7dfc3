"""What messages, edits and queue commands do to a chat. Pure; a row of the table per function."""

from dataclasses import replace

from engine.chat.commands import (
    QUEUE_MAX,
    BusyBehavior,
    DeleteQueuedMessage,
    EditMessage,
    EditQueuedMessage,
    PromoteQueuedMessage,
    SendMessage,
)
from engine.chat.content import Content, FilePart, NewMessage, Role, TextPart, text_of
from engine.chat.decision import ChatRow, Decision, Effect, Refusal, RefusalReason, decision
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import ChatStatus, OpenCall, Snapshot
from engine.chat.synthetic import INTERRUPTED_BY_USER, error_results
from engine.chat.writes import (
    ActionState,
    ClearQueue,
    CloseActions,
    DeleteQueued,
    Enqueue,
    InsertMessages,
    InsertReplacement,
    MoveToHead,
    PromoteQueued,
    ReplaceMessage,
    ReplaceQueued,
    TruncateHistory,
    Write,
)

IDLE = (ChatStatus.WAITING, ChatStatus.ERROR)


def decide_send(snapshot: Snapshot, command: SendMessage) -> Decision | Refusal:
    """Insert, queue, or queue and interrupt. A source key seen before changes nothing."""
    row = ChatRow.of(snapshot)
    if snapshot.source_seen:
        return decision(snapshot, row, effect=Effect.DUPLICATE)
    interrupts = command.busy is BusyBehavior.INTERRUPT
    asked = snapshot.status is ChatStatus.REQUIRES_ACTION
    starts = snapshot.status in IDLE or (interrupts and asked)
    if refusal := _refuse_message(snapshot, command, starts=starts):
        return refusal
    if starts:
        return _start(snapshot, command)
    if interrupts and snapshot.status is ChatStatus.RUNNING:
        row = row.to(ChatStatus.INTERRUPTING)
    return decision(snapshot, row, _enqueue(command), effect=Effect.QUEUED)


def decide_edit(snapshot: Snapshot, command: EditMessage) -> Decision | Refusal:
    """Replace a user message: answer anew from there, or amend it where it stands."""
    target = snapshot.edit_target
    if refusal := refuse_content(command.content):
        return refusal
    if target is None or target.id != command.message_id:
        return Refusal(reason=RefusalReason.MESSAGE_NOT_FOUND)
    if target.role is not Role.USER:
        return Refusal(reason=RefusalReason.NOT_A_USER_MESSAGE)
    if snapshot.archived:
        return Refusal(reason=RefusalReason.ARCHIVED)
    row = ChatRow.of(snapshot)
    if not command.rerun:
        # The step in flight was made from the old text, so a running chat starts its step again.
        amended = ReplaceMessage(message_id=target.id, content=command.content)
        running = snapshot.status is ChatStatus.RUNNING
        return decision(snapshot, row.released() if running else row, amended)
    writes: list[Write] = list(close_actions(snapshot))
    writes.append(TruncateHistory(from_message_id=target.id))
    writes.append(
        InsertReplacement(replaces=target.id, content=command.content, author=command.author)
    )
    if snapshot.queue:
        writes.append(ClearQueue())
    row = replace(without_calls(row).to(ChatStatus.RUNNING), compaction_requested=False)
    return decision(snapshot, row.released(), *writes, effect=Effect.INSERTED)


def decide_edit_queued(snapshot: Snapshot, command: EditQueuedMessage) -> Decision | Refusal:
    """Change a message that still waits."""
    if refusal := refuse_content(command.content):
        return refusal
    if command.queued_id not in snapshot.queue:
        return Refusal(reason=RefusalReason.QUEUED_NOT_FOUND)
    write = ReplaceQueued(queued_id=command.queued_id, content=command.content)
    return decision(snapshot, ChatRow.of(snapshot), write)


def decide_delete_queued(snapshot: Snapshot, command: DeleteQueuedMessage) -> Decision | Refusal:
    """Take a message out of the queue, in any state."""
    if command.queued_id not in snapshot.queue:
        return Refusal(reason=RefusalReason.QUEUED_NOT_FOUND)
    write = DeleteQueued(queued_id=command.queued_id)
    return decision(snapshot, ChatRow.of(snapshot), write)


def decide_promote(snapshot: Snapshot, command: PromoteQueuedMessage) -> Decision | Refusal:
    """Answer a queued message next: at once, or as soon as the partial answer is put away."""
    if command.queued_id not in snapshot.queue:
        return Refusal(reason=RefusalReason.QUEUED_NOT_FOUND)
    if snapshot.archived:
        return Refusal(reason=RefusalReason.ARCHIVED)
    row = ChatRow.of(snapshot)
    promote = PromoteQueued(queued_id=command.queued_id)
    if snapshot.status in IDLE:
        return decision(snapshot, row.to(ChatStatus.RUNNING), promote, effect=Effect.INSERTED)
    if snapshot.status is ChatStatus.REQUIRES_ACTION:
        row = without_calls(row).to(ChatStatus.RUNNING)
        writes = (*cancel_actions(snapshot), promote)
        return decision(snapshot, row, *writes, effect=Effect.INSERTED)
    return decision(
        snapshot,
        row.to(ChatStatus.INTERRUPTING),
        MoveToHead(queued_id=command.queued_id),
        effect=Effect.QUEUED,
    )


def refuse_content(content: Content) -> Refusal | None:
    """Refuse what a person cannot have said: nothing at all, or the parts of a model or a tool."""
    if not all(isinstance(part, TextPart | FilePart) for part in content):
        return Refusal(reason=RefusalReason.UNFIT_CONTENT, detail="only text and files")
    if not any(isinstance(part, FilePart) or text_of((part,)).strip() for part in content):
        return Refusal(reason=RefusalReason.EMPTY_MESSAGE)
    return None


def without_calls(row: ChatRow) -> ChatRow:
    """The row once its open calls have been answered or forgotten."""
    return replace(row, open_calls=())


def cancel_actions(snapshot: Snapshot) -> tuple[Write, ...]:
    """Answer what people are being asked with a synthetic result, and take the question back."""
    return answer_actions(snapshot, ActionState.CANCELLED, INTERRUPTED_BY_USER)


def answer_actions(snapshot: Snapshot, state: ActionState, text: str) -> tuple[Write, ...]:
    """Close the open actions with an error result that says `text`; nothing if there are none."""
    if not snapshot.open_calls:
        return ()
    results = error_results(snapshot.open_calls, text)
    return (*close_actions(snapshot, state), InsertMessages(messages=results))


def close_actions(
    snapshot: Snapshot, state: ActionState = ActionState.CANCELLED
) -> tuple[Write, ...]:
    """Close the open actions, if people are being asked."""
    if snapshot.status is not ChatStatus.REQUIRES_ACTION:
        return ()
    return (CloseActions(state=state, tool_call_ids=call_ids(snapshot.open_calls)),)


def call_ids(calls: tuple[OpenCall, ...]) -> tuple[ToolCallId, ...]:
    """The ids, in order."""
    return tuple(call.tool_call_id for call in calls)


def _refuse_message(snapshot: Snapshot, command: SendMessage, *, starts: bool) -> Refusal | None:
    if refusal := refuse_content(command.content):
        return refusal
    if snapshot.archived:
        return Refusal(reason=RefusalReason.ARCHIVED)
    if len(snapshot.queue) >= QUEUE_MAX and not starts:
        return Refusal(reason=RefusalReason.QUEUE_FULL, detail=f"{QUEUE_MAX} messages wait already")
    return None


def _start(snapshot: Snapshot, command: SendMessage) -> Decision:
    """Run now. Behind a backlog the message queues and the oldest one is answered first.

    The head leaves before the message joins, so a full queue cannot hold an idle chat up.
    """
    row = without_calls(ChatRow.of(snapshot)).to(ChatStatus.RUNNING)
    first = cancel_actions(snapshot)
    if snapshot.queue:
        writes = (*first, PromoteQueued(), _enqueue(command))
        return decision(snapshot, row, *writes, effect=Effect.QUEUED)
    message = NewMessage(
        role=Role.USER,
        content=command.content,
        author=command.author,
        source_key=command.source_key,
    )
    writes = (*first, InsertMessages(messages=(message,)))
    return decision(snapshot, row, *writes, effect=Effect.INSERTED)


def _enqueue(command: SendMessage) -> Enqueue:
    return Enqueue(content=command.content, author=command.author, source_key=command.source_key)
