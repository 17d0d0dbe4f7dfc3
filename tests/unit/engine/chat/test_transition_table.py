"""The rules do what the table says, and everything that it says."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from engine.chat import commands as c
from engine.chat.answerers import Barred
from engine.chat.content import NewMessage, Role, ToolCallPart, ToolResultPart, plain
from engine.chat.decide import decide
from engine.chat.decision import Decision, Refusal
from engine.chat.ids import ActionId, MessageId, ToolCallId
from engine.chat.snapshot import ChatStatus, EditTarget, Executor, Snapshot
from engine.chat.specification import render
from engine.chat.state import STATES, state_of
from engine.chat.transition_table import TABLE, parse
from tests.unit.engine.chat.chats import (
    APPROVE,
    FENCE,
    FIRST,
    SECOND,
    VERSION,
    chats_in,
    state_left_by,
)
from tests.unit.engine.chat.steps import DEADLINE, NOW, OVERLOADED, RETRY
from tests.unit.engine.chat.stories import calling

README = Path(__file__).parents[4] / "engine" / "chat" / "README.md"
WORKS = (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)
CONTENTS = (
    plain("Is the light on?"),
    plain(" \n"),
    (ToolCallPart(tool_call_id=ToolCallId("call_0"), tool_name="search"),),
)
MESSAGE = MessageId(5)
TARGETS = (
    None,
    EditTarget(id=MESSAGE, role=Role.USER),
    EditTarget(id=MESSAGE, role=Role.ASSISTANT),
    EditTarget(id=MessageId(6), role=Role.USER),
)
FENCES = (FENCE, c.Fence(runner_id=FENCE.runner_id), replace(FENCE, history_version=VERSION - 1))
BARRED = Barred(tool_call_id=APPROVE.tool_call_id, who_may="Ada")
Asked = tuple[Snapshot, c.Command]


def send(busy: c.BusyBehavior) -> Callable[[Snapshot], Iterator[Asked]]:
    def variants(chat: Snapshot) -> Iterator[Asked]:
        for content, seen in product(CONTENTS, (False, True)):
            yield replace(chat, source_seen=seen), c.SendMessage(content=content, busy=busy)

    return variants


def edit(*, rerun: bool) -> Callable[[Snapshot], Iterator[Asked]]:
    def variants(chat: Snapshot) -> Iterator[Asked]:
        for content, target in product(CONTENTS, TARGETS):
            command = c.EditMessage(message_id=MESSAGE, content=content, rerun=rerun)
            yield replace(chat, edit_target=target), command

    return variants


def edit_queued(chat: Snapshot) -> Iterator[Asked]:
    for content, queued_id in product(CONTENTS, (FIRST, SECOND)):
        yield chat, c.EditQueuedMessage(queued_id=queued_id, content=content)


def submit(chat: Snapshot) -> Iterator[Asked]:
    right = tuple(
        ToolResultPart(tool_call_id=call.tool_call_id, tool_name="", result=1)
        for call in chat.open_calls
    )
    unknown = ToolResultPart(tool_call_id=ToolCallId("call_x"), tool_name="", result=1)
    for results in (right, right[1:], (*right, *right), (*right, unknown)):
        yield chat, c.SubmitToolResults(results=results)
        yield replace(chat, barred=(BARRED,)), c.SubmitToolResults(results=results)
        for asking in (MESSAGE, None):
            submission = c.SubmitToolResults(results=results, message_id=MESSAGE)
            yield replace(chat, asking_message=asking), submission


def answer(chat: Snapshot) -> Iterator[Asked]:
    for target in (None, APPROVE.tool_call_id, *(call.tool_call_id for call in chat.open_calls)):
        command = c.AnswerAction(action_id=ActionId(1), result="yes")
        for barred in ((), (BARRED,)):
            yield replace(chat, action_target=target, barred=barred), command


def only(*commands: c.Command) -> Callable[[Snapshot], Iterator[Asked]]:
    def variants(chat: Snapshot) -> Iterator[Asked]:
        yield from ((chat, command) for command in commands)

    return variants


def compact(*, ends_turn: bool) -> Callable[[Snapshot], Iterator[Asked]]:
    summary = NewMessage(role=Role.USER, content=plain("All of it."), summary_of=MESSAGE)
    return only(
        *(
            c.CompactHistory(fence=fence, messages=messages, ends_turn=ends_turn)
            for fence, messages in product(FENCES, ((), (summary,)))
        )
    )


ASKED: dict[str, Callable[[Snapshot], Iterator[Asked]]] = {
    "SendMessage queue": send(c.BusyBehavior.QUEUE),
    "SendMessage interrupt": send(c.BusyBehavior.INTERRUPT),
    "EditMessage rerun": edit(rerun=True),
    "EditMessage amend": edit(rerun=False),
    "EditQueuedMessage": edit_queued,
    "DeleteQueuedMessage": only(*(c.DeleteQueuedMessage(queued_id=q) for q in (FIRST, SECOND))),
    "PromoteQueuedMessage": only(*(c.PromoteQueuedMessage(queued_id=q) for q in (FIRST, SECOND))),
    "Interrupt": only(c.Interrupt()),
    "SubmitToolResults": submit,
    "AnswerAction": answer,
    "Archive": only(c.Archive()),
    "Unarchive": only(c.Unarchive()),
    "RequestCompaction": only(c.RequestCompaction()),
    "ClearContext": only(c.ClearContext()),
    "CommitStep": only(*(c.CommitStep(fence=fence, messages=()) for fence in FENCES)),
    "EnterRequiresAction": only(
        *(
            c.EnterRequiresAction(
                fence=fence,
                messages=messages,
                open_calls=(APPROVE,),
                actions=(),
                deadline_at=DEADLINE,
            )
            for fence, messages in product(FENCES, ((), (calling(APPROVE),)))
        )
    ),
    "FinishTurn": only(*(c.FinishTurn(fence=fence) for fence in FENCES)),
    "CompactHistory and on": compact(ends_turn=False),
    "CompactHistory and end": compact(ends_turn=True),
    "FinishInterruption": only(*(c.FinishInterruption(fence=fence) for fence in FENCES)),
    "FinishError": only(*(c.FinishError(fence=fence, error=OVERLOADED) for fence in FENCES)),
    "RecordAttempt": only(*(c.RecordAttempt(fence=fence) for fence in FENCES)),
    "RecordRetry": only(*(c.RecordRetry(fence=fence, retry=RETRY) for fence in FENCES)),
    "ReleaseLease": only(*(c.ReleaseLease(fence=fence) for fence in FENCES)),
    "ExpireActions": only(c.ExpireActions()),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", TABLE)
def test_a_cell_holds_exactly_what_can_come_of_it(kind: str, state: str) -> None:
    """E59: every allowed outcome is reached by some chat, and no other by any."""
    reached = set()
    for chat in chats_in(state):
        assert state_of(chat) == state
        for asked, command in ASKED[kind](chat):
            outcome = decide(asked, command, NOW)
            if isinstance(outcome, Refusal):
                reached.add(str(outcome.reason))
            else:
                reached.add(state_left_by(asked, outcome))
                assert row_is_sound(asked, outcome)
    assert reached == {str(outcome) for outcome in TABLE[kind][state]}


def row_is_sound(before: Snapshot, decided: Decision) -> bool:
    """What must hold of the row after any decision, whatever it was."""
    row = decided.row
    works = row.status in WORKS
    asks = row.status is ChatStatus.REQUIRES_ACTION
    held = row.keep_runner and before.lease_live
    assert works or asks or not row.open_calls
    assert not asks or row.open_calls
    assert not asks or all(call.executor is not Executor.LOCAL for call in row.open_calls)
    assert asks == (row.actions_deadline_at is not None)
    assert (row.last_error is not None) == (row.status is ChatStatus.ERROR)
    assert row.retry is None or row.status is ChatStatus.RUNNING
    assert works or not row.compaction_requested
    assert works or before.runner_id is None or not row.keep_runner
    assert decided.wake == (works and not held)
    return True


def test_every_command_and_every_state_is_in_the_table() -> None:
    assert {kind.split()[0] for kind in TABLE} == {command.__name__ for command in c.COMMANDS}
    assert all(list(row) == list(STATES) for row in TABLE.values())
    assert all(cell for row in TABLE.values() for cell in row.values())
    assert set(ASKED) == set(TABLE)


@pytest.mark.parametrize("line", ["    R9: =", "    R0: R9", "    R0: no_such_reason"])
def test_a_cell_that_names_what_does_not_exist_is_not_read(line: str) -> None:
    with pytest.raises((KeyError, ValueError), match=r"R9|no_such_reason"):
        parse(f"Interrupt\n{line}\n")


def test_the_lines_of_a_command_add_up() -> None:
    lines = (
        "Archive\n    any: lease_lost\n    R0: = W0\nUnarchive\n    R: history_changed\n    R0: =\n"
    )
    archive, unarchive = parse(lines).values()
    assert archive.pop("R0") == {"lease_lost", "R0", "W0"}
    assert set(archive.values()) == {frozenset({"lease_lost"})}
    assert unarchive["R0"] == {"history_changed", "R0"}
    assert unarchive["R1"] == {"history_changed"}
    assert unarchive["W0"] == frozenset()


def test_the_specification_shows_the_table_as_it_is() -> None:
    """Fails when the README is stale: run `python -m engine.chat.specification`."""
    text = README.read_text(encoding="utf-8")
    assert render(text) == text
