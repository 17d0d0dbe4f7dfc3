"""What a worker's reports do to a chat. Pure; every one is refused once the worker was overtaken."""

from dataclasses import replace

from engine.chat.commands import (
    CommitStep,
    CompactHistory,
    EnterRequiresAction,
    Fence,
    FinishError,
    FinishInterruption,
    FinishTurn,
    RecordAttempt,
    RecordRetry,
    ReleaseLease,
)
from engine.chat.content import NewMessage
from engine.chat.decide_messages import call_ids, without_calls
from engine.chat.decision import ChatRow, Decision, Refusal, RefusalReason, decision
from engine.chat.notification import NotificationKind
from engine.chat.snapshot import ChatStatus, Executor, Snapshot
from engine.chat.synthetic import INTERRUPTED_IN_RUN, NO_RESULT, error_results, settle
from engine.chat.writes import (
    InsertMessages,
    OpenActions,
    PromoteQueued,
    QueueNotification,
    ReserveToolCalls,
    Write,
)


def decide_commit_step(snapshot: Snapshot, command: CommitStep) -> Decision | Refusal:
    """Store a step and go on running."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    messages, open_calls = settle(
        snapshot.open_calls, command.messages, NO_RESULT, described=command.open_calls
    )
    row = replace(ChatRow.of(snapshot), open_calls=open_calls, retry=None)
    writes = list(_insert(messages))
    if command.reserve:
        writes.append(ReserveToolCalls(reservations=command.reserve))
    return decision(snapshot, row, *writes)


def decide_enter_requires_action(
    snapshot: Snapshot, command: EnterRequiresAction
) -> Decision | Refusal:
    """Store what is done, ask, and let the runner go; with nothing to ask, to the next worker."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    messages, open_calls = settle(
        snapshot.open_calls, command.messages, NO_RESULT, described=command.open_calls
    )
    # A local call left open would wait for an answer that nobody is asked for.
    abandoned = error_results((call for call in open_calls if not call.is_dynamic), NO_RESULT)
    asked = tuple(call for call in open_calls if call.is_dynamic)
    row = replace(ChatRow.of(snapshot), open_calls=asked, actions_deadline_at=command.deadline_at)
    writes = _insert((*messages, *abandoned))
    if not asked:
        return decision(snapshot, row.to(ChatStatus.RUNNING).released(), *writes)
    # A question without an open call could never be taken back.
    ids = call_ids(asked)
    actions = tuple(action for action in command.actions if action.tool_call_id in ids)
    row = row.to(ChatStatus.REQUIRES_ACTION)
    asks_people = any(action.executor is Executor.PEOPLE for action in actions)
    told = _tell(NotificationKind.NEEDS_ANSWER, wanted=command.notify and asks_people)
    return decision(snapshot, row, *writes, OpenActions(actions=actions), *told)


def decide_finish_turn(snapshot: Snapshot, command: FinishTurn) -> Decision | Refusal:
    """End the turn; with a queue the same runner goes on to its head."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    return _end_turn(snapshot, command.messages, notify=command.notify)


def decide_compact_history(snapshot: Snapshot, command: CompactHistory) -> Decision | Refusal:
    """Store the summary and go on, or end the turn with it: never one without the other."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    if command.ends_turn:
        return _end_turn(snapshot, command.messages, notify=command.notify)
    writes = _put_away(snapshot, command.messages, NO_RESULT)
    row = replace(without_calls(ChatRow.of(snapshot)), retry=None, compaction_requested=False)
    return decision(snapshot, row, *writes)


def _end_turn(snapshot: Snapshot, messages: tuple[NewMessage, ...], *, notify: bool) -> Decision:
    writes = _put_away(snapshot, messages, NO_RESULT)
    row = replace(without_calls(ChatRow.of(snapshot)), retry=None, compaction_requested=False)
    if snapshot.queue:
        return decision(snapshot, row, *writes, PromoteQueued())
    told = _tell(NotificationKind.FINISHED, wanted=notify)
    return decision(snapshot, row.to(ChatStatus.WAITING), *writes, *told)


def decide_finish_interruption(
    snapshot: Snapshot, command: FinishInterruption
) -> Decision | Refusal:
    """Store the partial answer, then the message that caused the interruption, if any."""
    # The history may have been amended meanwhile; what was streamed is stored all the same.
    fence = Fence(runner_id=command.fence.runner_id)
    if refusal := refuse_overtaken(snapshot, fence, ChatStatus.INTERRUPTING):
        return refusal
    writes = _put_away(snapshot, command.messages, INTERRUPTED_IN_RUN)
    row = replace(without_calls(ChatRow.of(snapshot)), compaction_requested=False)
    if snapshot.queue and not snapshot.archived:
        return decision(snapshot, row.to(ChatStatus.RUNNING), *writes, PromoteQueued())
    return decision(snapshot, row.to(ChatStatus.WAITING), *writes)


def decide_finish_error(snapshot: Snapshot, command: FinishError) -> Decision | Refusal:
    """End in error, with what was done so far; the queue stays."""
    fence = Fence(runner_id=command.fence.runner_id)
    works = (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
    if refusal := refuse_overtaken(snapshot, fence, *works):
        return refusal
    # Cleaning up must work even when the commit that seemed to fail went through; then what it
    # stored must not be stored again.
    known = command.fence.history_version in (None, snapshot.history_version)
    messages = command.messages if known or snapshot.status is ChatStatus.INTERRUPTING else ()
    writes = _put_away(snapshot, messages, NO_RESULT)
    row = replace(without_calls(ChatRow.of(snapshot)), last_error=command.error)
    # Whoever has stopped a turn is there and sees what became of it.
    wanted = command.notify and snapshot.status is ChatStatus.RUNNING
    told = _tell(NotificationKind.FAILED, wanted=wanted)
    return decision(snapshot, row.to(ChatStatus.ERROR), *writes, *told)


def decide_record_attempt(snapshot: Snapshot, command: RecordAttempt) -> Decision | Refusal:
    """Begin a new episode; the retry that was shown is over."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    return decision(snapshot, replace(ChatRow.of(snapshot), retry=None, next_attempt=True))


def decide_record_retry(snapshot: Snapshot, command: RecordRetry) -> Decision | Refusal:
    """Say that an attempt failed and when the next begins; its partial text is void."""
    if refusal := refuse_overtaken(snapshot, command.fence, ChatStatus.RUNNING):
        return refusal
    row = replace(ChatRow.of(snapshot), retry=command.retry, next_attempt=True)
    return decision(snapshot, row)


def decide_release(snapshot: Snapshot, command: ReleaseLease) -> Decision | Refusal:
    """Leave the chat as it is, for another worker to go on."""
    fence = Fence(runner_id=command.fence.runner_id)
    works = (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
    if refusal := refuse_overtaken(snapshot, fence, *works):
        return refusal
    return decision(snapshot, ChatRow.of(snapshot).released())


def refuse_overtaken(snapshot: Snapshot, fence: Fence, *expected: ChatStatus) -> Refusal | None:
    """Refuse a worker that another one, an edit or an interrupt has overtaken."""
    if snapshot.runner_id != fence.runner_id:
        return Refusal(reason=RefusalReason.LEASE_LOST)
    if snapshot.status not in expected:
        return Refusal(reason=RefusalReason.STATUS_CHANGED, detail=snapshot.status)
    if fence.history_version not in (None, snapshot.history_version):
        return Refusal(reason=RefusalReason.HISTORY_CHANGED)
    return None


def _put_away(snapshot: Snapshot, messages: tuple[NewMessage, ...], text: str) -> tuple[Write, ...]:
    """Insert what is done, and a result with `text` for every call left without one."""
    settled, open_calls = settle(snapshot.open_calls, messages, text)
    return _insert((*settled, *error_results(open_calls, text)))


def _tell(kind: NotificationKind, *, wanted: bool) -> tuple[Write, ...]:
    return (QueueNotification(kind=kind),) if wanted else ()


def _insert(messages: tuple[NewMessage, ...]) -> tuple[Write, ...]:
    return (InsertMessages(messages=messages),) if messages else ()
