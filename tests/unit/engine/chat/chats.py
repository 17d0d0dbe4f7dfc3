"""Chats as decisions see them: one to start from, and all kinds of them in each state."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID

from engine.chat.commands import QUEUE_MAX, Fence
from engine.chat.decision import Decision, Refusal
from engine.chat.ids import ChatId, OrganizationId, QueuedId, RunnerId, ToolCallId
from engine.chat.snapshot import ChatStatus, Executor, OpenCall, Snapshot
from engine.chat.state import STATUS_OF_LETTER, state_after
from engine.chat.writes import ClearQueue, DeleteQueued, Enqueue, PromoteQueued
from tests.unit.engine.chat.steps import NOW, OVERLOADED, RETRY

RUNNER = RunnerId(UUID(int=7))
OTHER_RUNNER = RunnerId(UUID(int=8))
VERSION = 40
FENCE = Fence(runner_id=RUNNER, history_version=VERSION)
SEARCH = OpenCall(tool_call_id=ToolCallId("call_search"), tool_name="search")
APPROVE = OpenCall(
    tool_call_id=ToolCallId("call_approve"), tool_name="approve", executor=Executor.PEOPLE
)
NOTIFY = OpenCall(
    tool_call_id=ToolCallId("call_notify"),
    tool_name="notify",
    executor=Executor.CALLBACK,
    on_timeout_continue=True,
)
FIRST, SECOND, THIRD = QueuedId(11), QueuedId(12), QueuedId(13)
FULL_QUEUE = tuple(QueuedId(11 + place) for place in range(QUEUE_MAX))


def chat_in(state: str, **changes: Any) -> Snapshot:
    """A plain chat in a state of the table: held by RUNNER where somebody works."""
    status = STATUS_OF_LETTER[state[0]]
    works = status in (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
    asks = status is ChatStatus.REQUIRES_ACTION
    plain_chat = Snapshot(
        chat_id=ChatId(UUID(int=1)),
        organization_id=OrganizationId(UUID(int=2)),
        status=status,
        archived="X" in state,
        snapshot_version=VERSION + 2,
        history_version=VERSION,
        runner_id=RUNNER if works else None,
        lease_live=works,
        queue=(FIRST, SECOND) if state.endswith("1") else (),
        open_calls=(APPROVE,) if asks else (),
        actions_deadline_at=NOW + timedelta(hours=1) if asks else None,
        last_error=OVERLOADED if status is ChatStatus.ERROR else None,
    )
    return replace(plain_chat, **changes)


def chats_in(state: str) -> Iterator[Snapshot]:
    """Every kind of chat in a state that differs for some rule."""
    queues = ((FIRST,), (FIRST, SECOND), FULL_QUEUE) if state.endswith("1") else ((),)
    for queue, changes in product(queues, _situations(state[0])):
        yield chat_in(state, queue=queue, **changes)


def _situations(letter: str) -> Iterator[dict[str, Any]]:
    if letter == "A":
        asked: tuple[tuple[OpenCall, ...], ...] = ((APPROVE,), (NOTIFY,), (APPROVE, NOTIFY))
        for calls in asked:
            for minutes in (60, -1):
                deadline = NOW + timedelta(minutes=minutes)
                yield {"open_calls": calls, "actions_deadline_at": deadline}
    elif letter in "RI":
        holders = ((RUNNER, True), (RUNNER, False), (OTHER_RUNNER, True), (None, False))
        called: tuple[tuple[OpenCall, ...], ...] = ((), (SEARCH,), (SEARCH, APPROVE))
        for (runner_id, live), calls, compacts in product(holders, called, (False, True)):
            yield {
                "runner_id": runner_id,
                "lease_live": live,
                "open_calls": calls,
                "compaction_requested": compacts,
                "retry": RETRY if letter == "R" and compacts else None,
            }
    else:
        yield {}


def state_left_by(snapshot: Snapshot, decided: Decision) -> str:
    """The state that a decision leads to."""
    queued = len(snapshot.queue)
    for write in decided.writes:
        match write:
            case Enqueue():
                queued += 1
            case DeleteQueued() | PromoteQueued():
                queued -= 1
            case ClearQueue():
                queued = 0
            case _:
                pass
        assert 0 <= queued <= QUEUE_MAX
    return state_after(decided.row, queued)


def accepted(outcome: Decision | Refusal) -> Decision:
    """The decision; a refusal fails the test with its reason."""
    assert isinstance(outcome, Decision), outcome
    return outcome
