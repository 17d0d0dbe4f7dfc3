"""The front of the pure heart: one command on one snapshot gives one Decision or one Refusal."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from engine.chat import commands as c
from engine.chat.content import NewMessage, Role, Visibility, plain
from engine.chat.decide_control import (
    decide_answer,
    decide_archive,
    decide_clear_context,
    decide_compaction,
    decide_expire,
    decide_interrupt,
    decide_submit_results,
    decide_unarchive,
)
from engine.chat.decide_messages import (
    decide_delete_queued,
    decide_edit,
    decide_edit_queued,
    decide_promote,
    decide_send,
    refuse_content,
)
from engine.chat.decide_worker import (
    decide_commit_step,
    decide_compact_history,
    decide_enter_requires_action,
    decide_finish_error,
    decide_finish_interruption,
    decide_finish_turn,
    decide_record_attempt,
    decide_record_retry,
    decide_release,
)
from engine.chat.decision import Decision, Refusal
from engine.chat.snapshot import Snapshot

_RULES: dict[type, Callable[[Snapshot, Any], Decision | Refusal]] = {
    c.SendMessage: decide_send,
    c.EditMessage: decide_edit,
    c.EditQueuedMessage: decide_edit_queued,
    c.DeleteQueuedMessage: decide_delete_queued,
    c.PromoteQueuedMessage: decide_promote,
    c.Interrupt: decide_interrupt,
    c.SubmitToolResults: decide_submit_results,
    c.AnswerAction: decide_answer,
    c.Archive: decide_archive,
    c.Unarchive: decide_unarchive,
    c.RequestCompaction: decide_compaction,
    c.ClearContext: decide_clear_context,
    c.CommitStep: decide_commit_step,
    c.EnterRequiresAction: decide_enter_requires_action,
    c.FinishTurn: decide_finish_turn,
    c.CompactHistory: decide_compact_history,
    c.FinishInterruption: decide_finish_interruption,
    c.FinishError: decide_finish_error,
    c.RecordAttempt: decide_record_attempt,
    c.RecordRetry: decide_record_retry,
    c.ReleaseLease: decide_release,
}


def decide(snapshot: Snapshot, command: c.Command, now: datetime) -> Decision | Refusal:
    """Decide what `command` does to the chat. Never raises, never reads anything else."""
    if isinstance(command, c.ExpireActions):
        return decide_expire(snapshot, command, now)
    return _RULES[type(command)](snapshot, command)


def first_messages(command: c.CreateChat) -> tuple[NewMessage, ...] | Refusal:
    """The messages that a new chat begins with; it runs as soon as they are stored."""
    if refusal := refuse_content(command.content):
        return refusal
    user = NewMessage(
        role=Role.USER,
        content=command.content,
        author=command.author,
        source_key=command.source_key,
    )
    if not command.system_prompt:
        return (user,)
    system = NewMessage(
        role=Role.SYSTEM, content=plain(command.system_prompt), visibility=Visibility.MODEL
    )
    return (system, user)
