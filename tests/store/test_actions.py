"""Required actions: asked once, answered once, and gone when they are void."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from engine.chat.commands import (
    AnswerAction,
    ExpireActions,
    Interrupt,
    SendMessage,
    SubmitToolResults,
)
from engine.chat.content import ToolResultPart, plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import ActionId
from engine.chat.snapshot import ChatStatus
from engine.chat.writes import ActionState
from engine.store.chat_machine import ChatMachine
from engine.store.leases import Leases
from engine.store.outcomes import Applied
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import ADA, BO, ask_people, history, new_chat, result, submit, submit_refused

TOMORROW = datetime.now(UTC) + timedelta(days=1)
YESTERDAY = datetime.now(UTC) - timedelta(days=1)


async def test_ten_simultaneous_submissions_are_one_success_and_nine_conflicts(
    machine: ChatMachine, pool: Pool
) -> None:
    """E27 (store part)"""
    chat_id = await new_chat(machine)
    await ask_people(machine, pool, chat_id, "c1", "c2", deadline=TOMORROW)
    results = (result("c1", "yes"), result("c2", "no"))

    outcomes = await asyncio.gather(
        *(machine.submit(chat_id, SubmitToolResults(results=results)) for _ in range(10))
    )

    kinds = Counter(type(outcome) for outcome in outcomes)
    assert kinds == {Applied: 1, Refusal: 9}
    reasons = {outcome.reason for outcome in outcomes if isinstance(outcome, Refusal)}
    assert reasons == {RefusalReason.NO_ACTION_PENDING}
    parts = [m.content[0] for m in await history(pool, chat_id)]
    assert sum(isinstance(part, ToolResultPart) for part in parts) == 2


async def test_actions_are_asked_in_call_order_and_answered_one_by_one(
    machine: ChatMachine, pool: Pool
) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    asked = await ask_people(machine, pool, chat_id, "z", "a", deadline=TOMORROW)

    actions = await rows.read_actions(chat_id)
    assert tuple(action.id for action in actions) == asked.action_ids
    assert [action.tool_call_id for action in actions] == ["z", "a"]
    assert actions[0].deadline_at == TOMORROW
    assert actions[0].revision == asked.snapshot.snapshot_version
    assert asked.snapshot.runner_id is None

    first = AnswerAction(action_id=asked.action_ids[0], result={"ok": True}, by=ADA)
    after = await submit(machine, chat_id, first)
    assert after.snapshot.status is ChatStatus.REQUIRES_ACTION
    again = await submit_refused(machine, chat_id, first)
    assert again.reason is RefusalReason.ACTION_NOT_PENDING
    (left,) = await rows.read_actions(chat_id)
    assert left.tool_call_id == "a"

    after = await submit(
        machine, chat_id, AnswerAction(action_id=asked.action_ids[1], result=None, by=BO)
    )
    assert after.snapshot.status is ChatStatus.RUNNING
    closed = await rows.read_action(asked.action_ids[0])
    assert closed is not None
    assert (closed.state, closed.answer, closed.answered_by) == (
        ActionState.ANSWERED,
        {"ok": True},
        ADA,
    )
    assert closed.closed_at is not None
    assert [action.state for action in await rows.read_actions(chat_id, only_open=False)] == [
        ActionState.ANSWERED
    ] * 2


async def test_ten_simultaneous_clicks_are_one_answer(machine: ChatMachine, pool: Pool) -> None:
    """D8 (store part)"""
    chat_id = await new_chat(machine)
    asked = await ask_people(machine, pool, chat_id, "c1", "c2", deadline=TOMORROW)
    click = AnswerAction(action_id=asked.action_ids[0], result="yes", by=ADA)

    outcomes = await asyncio.gather(*(machine.submit(chat_id, click) for _ in range(10)))

    assert Counter(type(outcome) for outcome in outcomes) == {Applied: 1, Refusal: 9}


async def test_action_of_another_chat_is_not_pending(machine: ChatMachine, pool: Pool) -> None:
    mine, other = await new_chat(machine), await new_chat(machine)
    await ask_people(machine, pool, mine, "c1", deadline=TOMORROW)
    asked = await ask_people(machine, pool, other, "c1", deadline=TOMORROW)

    for action_id in (asked.action_ids[0], ActionId(10**12)):
        refused = await submit_refused(machine, mine, AnswerAction(action_id=action_id, result=1))
        assert refused.reason is RefusalReason.ACTION_NOT_PENDING


async def test_interrupt_takes_the_question_back(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    asked = await ask_people(machine, pool, chat_id, "c1", deadline=TOMORROW)

    await submit(machine, chat_id, Interrupt())

    assert await rows.read_actions(chat_id) == ()
    action = await rows.read_action(asked.action_ids[0])
    assert action is not None
    assert action.state is ActionState.CANCELLED


async def test_action_past_its_deadline_is_due_and_ends_in_error(
    machine: ChatMachine, pool: Pool
) -> None:
    """E19 (store part)"""
    chat_id, later = await new_chat(machine), await new_chat(machine)
    asked = await ask_people(machine, pool, chat_id, "c1", deadline=YESTERDAY)
    await ask_people(machine, pool, later, "c1", deadline=TOMORROW)
    leases = Leases(pool)
    assert (await leases.survey()).has_overdue
    assert await leases.overdue_chats(10) == (chat_id,)

    ended = await submit(machine, chat_id, ExpireActions())

    assert ended.snapshot.status is ChatStatus.ERROR
    assert ended.snapshot.last_error is not None
    assert "Dynamic tool execution timed out" in ended.snapshot.last_error.message
    assert not (await leases.survey()).has_overdue
    assert await leases.overdue_chats(10) == ()
    action = await ChatRows(pool).read_action(asked.action_ids[0])
    assert action is not None
    assert action.state is ActionState.EXPIRED
    refused = await submit_refused(machine, later, ExpireActions())
    assert refused.reason is RefusalReason.NOT_DUE
    await submit(machine, chat_id, SendMessage(content=plain("again")))


async def test_injected_clock_decides_what_is_due(pool: Pool) -> None:
    machine = ChatMachine(pool, lambda _change: None, clock=lambda: TOMORROW)
    chat_id = await new_chat(machine)
    await ask_people(machine, pool, chat_id, "c1", deadline=TOMORROW - timedelta(seconds=1))

    ended = await submit(machine, chat_id, ExpireActions())

    assert ended.snapshot.status is ChatStatus.ERROR
