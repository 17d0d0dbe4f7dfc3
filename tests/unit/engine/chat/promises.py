"""Every invariant of engine/chat/README.md, told of a chat as it can be seen from outside."""

from engine.chat import commands as c
from engine.chat import writes as w
from engine.chat.content import NewMessage, Role, ToolCallPart, ToolResultPart
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import ChatStatus, OpenCall
from tests.unit.engine.chat.model import WORKS, View


def broken_promises(view: View) -> list[str]:
    """Every invariant of engine/chat/README.md that the chat breaks, in words."""
    status = view.status
    promises = {
        "calls are open only while running, interrupting or requiring action": not view.open_calls
        or status in (*WORKS, ChatStatus.REQUIRES_ACTION),
        "only calls that somebody outside is asked stay open while requiring action": (
            status is not ChatStatus.REQUIRES_ACTION
            or all(call.is_dynamic for call in view.open_calls)
        ),
        "somebody is asked while requiring action": status is not ChatStatus.REQUIRES_ACTION
        or bool(view.open_calls),
        "questions are open only while requiring action": status is ChatStatus.REQUIRES_ACTION
        or all(state is not w.ActionState.OPEN for _, state, _ in view.actions),
        "a deadline stands exactly while requiring action": (
            (view.actions_deadline_at is not None) == (status is ChatStatus.REQUIRES_ACTION)
        ),
        "the queue holds at most 20": len(view.queue) <= c.QUEUE_MAX,
        "archived only while waiting, in error or interrupting": not view.archived
        or status in (ChatStatus.WAITING, ChatStatus.ERROR, ChatStatus.INTERRUPTING),
        "an error is kept exactly while in error": (
            (view.last_error is not None) == (status is ChatStatus.ERROR)
        ),
        "a runner only while running or interrupting": not view.has_runner or status in WORKS,
        "a live lease only with a runner": view.has_runner or not view.lease_live,
        "a retry is shown only while running": (view.retry is None or status is ChatStatus.RUNNING),
        "a compaction is requested only of a run": not view.compaction_requested or status in WORKS,
        "the owner is told once of the same history": len(set(view.notifications))
        == len(view.notifications),
        "no version runs ahead of the snapshot": view.snapshot_version
        >= max(view.history_version, view.queue_version, view.retry_version),
    }
    broken = [promise for promise, kept in promises.items() if not kept]
    live = [message for message, deleted in view.history if not deleted]
    return broken + _unreplayable(live, view.open_calls) + _answered_twice(view)


def _unreplayable(live: list[NewMessage], open_calls: tuple[OpenCall, ...]) -> list[str]:
    """Walk the history as a provider reads it: a call, its one result, then somebody else."""
    problems: list[str] = []
    unanswered: list[ToolCallId] = []
    for message in live:
        if message.role is not Role.TOOL and unanswered:
            problems.append(f"{message.role} speaks before the results of {unanswered}")
        for part in message.content:
            if isinstance(part, ToolCallPart):
                unanswered.append(part.tool_call_id)
            elif isinstance(part, ToolResultPart) and part.tool_call_id in unanswered:
                unanswered.remove(part.tool_call_id)
            elif isinstance(part, ToolResultPart):
                problems.append(f"a result of {part.tool_call_id} without its call")
    if unanswered != [call.tool_call_id for call in open_calls]:
        problems.append(f"{unanswered} have no result, but {open_calls} are said to be open")
    return problems


def _answered_twice(view: View) -> list[str]:
    live = [message.source_key for message, deleted in view.history if not deleted]
    keys = [key for key in (*live, *(key for _, key in view.queue)) if key is not None]
    return [f"{key} is there twice" for key in set(keys) if keys.count(key) > 1]
