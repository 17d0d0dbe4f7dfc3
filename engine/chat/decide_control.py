"""What stopping, answering, archiving and context commands do to a chat. Pure."""

from dataclasses import replace
from datetime import datetime

from engine.chat.answerers import refusal_words
from engine.chat.commands import (
    AnswerAction,
    Archive,
    ClearContext,
    ExpireActions,
    Interrupt,
    RequestCompaction,
    SubmitToolResults,
    Unarchive,
)
from engine.chat.content import ToolResultPart
from engine.chat.decide_messages import (
    IDLE,
    answer_actions,
    call_ids,
    cancel_actions,
    without_calls,
)
from engine.chat.decision import ChatRow, Decision, Refusal, RefusalReason, decision
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.chat.synthetic import ACTION_TIMED_OUT, NO_RESULT, error_results, result_message
from engine.chat.writes import (
    ActionState,
    CloseActions,
    InsertMessages,
    MarkContextCleared,
    PromoteQueued,
)


def decide_interrupt(snapshot: Snapshot, _command: Interrupt) -> Decision | Refusal:
    """Stop what runs; take back what was asked. Nothing to stop is a refusal."""
    row = ChatRow.of(snapshot)
    if snapshot.status is ChatStatus.RUNNING:
        return decision(snapshot, row.to(ChatStatus.INTERRUPTING))
    if snapshot.status is not ChatStatus.REQUIRES_ACTION:
        return Refusal(reason=RefusalReason.NOT_RUNNING)
    row = without_calls(row)
    if snapshot.queue:
        writes = (*cancel_actions(snapshot), PromoteQueued())
        return decision(snapshot, row.to(ChatStatus.RUNNING), *writes)
    return decision(snapshot, row.to(ChatStatus.WAITING), *cancel_actions(snapshot))


def decide_submit_results(snapshot: Snapshot, command: SubmitToolResults) -> Decision | Refusal:
    """Take the answers to exactly the pending calls; the first submission wins."""
    if snapshot.status is not ChatStatus.REQUIRES_ACTION:
        return Refusal(reason=RefusalReason.NO_ACTION_PENDING)
    if command.message_id is not None and command.message_id != snapshot.asking_message:
        detail = f"the pending calls are not those of message {command.message_id}"
        return Refusal(reason=RefusalReason.RESULTS_DO_NOT_MATCH, detail=detail)
    given = [result.tool_call_id for result in command.results]
    pending = call_ids(snapshot.open_calls)
    if sorted(given) != sorted(pending):
        return Refusal(reason=RefusalReason.RESULTS_DO_NOT_MATCH, detail=_mismatch(given, pending))
    if refusal := _refuse_barred(snapshot, pending):
        return refusal
    names = {call.tool_call_id: call.tool_name for call in snapshot.open_calls}
    results = {
        result.tool_call_id: ToolResultPart(
            tool_call_id=result.tool_call_id,
            tool_name=names[result.tool_call_id],
            result=result.result,
            is_error=result.is_error,
        )
        for result in command.results
    }
    messages = tuple(result_message(results[call_id]) for call_id in pending)
    closed = CloseActions(
        state=ActionState.ANSWERED,
        tool_call_ids=pending,
        by=command.by,
        answers=tuple((call_id, results[call_id].result) for call_id in pending),
    )
    row = without_calls(ChatRow.of(snapshot)).to(ChatStatus.RUNNING)
    return decision(snapshot, row, closed, InsertMessages(messages=messages))


def decide_answer(snapshot: Snapshot, command: AnswerAction) -> Decision | Refusal:
    """Take one answer. The chat goes on with the last one."""
    if snapshot.status is not ChatStatus.REQUIRES_ACTION:
        return Refusal(reason=RefusalReason.NO_ACTION_PENDING)
    call = next(
        (call for call in snapshot.open_calls if call.tool_call_id == snapshot.action_target), None
    )
    if call is None:
        return Refusal(reason=RefusalReason.ACTION_NOT_PENDING)
    if refusal := _refuse_barred(snapshot, (call.tool_call_id,)):
        return refusal
    result = ToolResultPart(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        result=command.result,
        is_error=command.is_error,
    )
    writes = (
        CloseActions(
            state=ActionState.ANSWERED,
            tool_call_ids=(call.tool_call_id,),
            by=command.by,
            answers=((call.tool_call_id, command.result),),
        ),
        InsertMessages(messages=(result_message(result),)),
    )
    remaining = tuple(other for other in snapshot.open_calls if other is not call)
    row = replace(ChatRow.of(snapshot), open_calls=remaining)
    if not remaining:
        row = row.to(ChatStatus.RUNNING)
    return decision(snapshot, row, *writes)


def decide_expire(snapshot: Snapshot, _command: ExpireActions, now: datetime) -> Decision | Refusal:
    """Past the deadline every pending call is answered; the chat ends in error or goes on."""
    if snapshot.status is not ChatStatus.REQUIRES_ACTION:
        return Refusal(reason=RefusalReason.NO_ACTION_PENDING)
    deadline = snapshot.actions_deadline_at
    if deadline is None or deadline > now:
        return Refusal(reason=RefusalReason.NOT_DUE)
    writes = answer_actions(snapshot, ActionState.EXPIRED, ACTION_TIMED_OUT)
    row = without_calls(ChatRow.of(snapshot))
    if all(call.on_timeout_continue for call in snapshot.open_calls):
        return decision(snapshot, row.to(ChatStatus.RUNNING), *writes)
    error = ChatError(kind=ErrorKind.ACTION_TIMEOUT, message=ACTION_TIMED_OUT)
    return decision(snapshot, replace(row, last_error=error).to(ChatStatus.ERROR), *writes)


def decide_archive(snapshot: Snapshot, command: Archive) -> Decision | Refusal:
    """Put away; a run is interrupted first, and the queue stays."""
    if snapshot.archived:
        return Refusal(reason=RefusalReason.ARCHIVED)
    since = command.unless_changed_since
    # The snapshot counts this command.
    if since is not None and snapshot.snapshot_version > since + 1:
        return Refusal(reason=RefusalReason.STATUS_CHANGED, detail=snapshot.status.value)
    row = replace(ChatRow.of(snapshot), archived=True)
    if snapshot.status is ChatStatus.REQUIRES_ACTION:
        row = without_calls(row).to(ChatStatus.WAITING)
        return decision(snapshot, row, *cancel_actions(snapshot))
    if snapshot.is_pending:
        # Nobody works on it, so there is no partial answer to wait for.
        results = error_results(snapshot.open_calls, NO_RESULT)
        writes = (InsertMessages(messages=results),) if results else ()
        return decision(snapshot, without_calls(row).to(ChatStatus.WAITING), *writes)
    if snapshot.status is ChatStatus.RUNNING:
        row = row.to(ChatStatus.INTERRUPTING)
    return decision(snapshot, row)


def decide_unarchive(snapshot: Snapshot, _command: Unarchive) -> Decision | Refusal:
    """Take back out, as it was put away."""
    if not snapshot.archived:
        return Refusal(reason=RefusalReason.NOT_ARCHIVED)
    return decision(snapshot, replace(ChatRow.of(snapshot), archived=False))


def decide_compaction(snapshot: Snapshot, _command: RequestCompaction) -> Decision | Refusal:
    """Run once to summarise. Only an idle chat can."""
    if refusal := _refuse_unless_idle(snapshot):
        return refusal
    row = replace(ChatRow.of(snapshot), compaction_requested=True)
    return decision(snapshot, row.to(ChatStatus.RUNNING))


def decide_clear_context(snapshot: Snapshot, _command: ClearContext) -> Decision | Refusal:
    """Forget, for the model. Only an idle chat can."""
    if refusal := _refuse_unless_idle(snapshot):
        return refusal
    return decision(snapshot, ChatRow.of(snapshot).to(ChatStatus.WAITING), MarkContextCleared())


def _refuse_unless_idle(snapshot: Snapshot) -> Refusal | None:
    if snapshot.archived:
        return Refusal(reason=RefusalReason.ARCHIVED)
    if snapshot.status not in IDLE:
        return Refusal(reason=RefusalReason.BUSY)
    return None


def _refuse_barred(snapshot: Snapshot, call_ids: tuple[ToolCallId, ...]) -> Refusal | None:
    for barred in snapshot.barred:
        if barred.tool_call_id in call_ids:
            words = refusal_words(barred.who_may)
            return Refusal(reason=RefusalReason.MAY_NOT_ANSWER, detail=words)
    return None


def _mismatch(given: list[ToolCallId], pending: tuple[ToolCallId, ...]) -> str:
    """Say which ids are missing, unknown or doubled, so that a client can mend its call."""
    problems = [f"missing {call_id}" for call_id in pending if call_id not in given]
    problems += [f"unknown {call_id}" for call_id in dict.fromkeys(given) if call_id not in pending]
    problems += [f"{call_id} given twice" for call_id in pending if given.count(call_id) > 1]
    return ", ".join(problems)
