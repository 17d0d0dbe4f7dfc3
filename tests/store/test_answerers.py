"""Who may answer is kept with the question and holds for every answer, whoever submits it and how."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.chat.answerers import Answerers
from engine.chat.commands import (
    AnswerAction,
    Command,
    EnterRequiresAction,
    NewAction,
    SendMessage,
    SubmitToolResults,
)
from engine.chat.content import Author, plain
from engine.chat.decision import RefusalReason
from engine.chat.ids import ActionId, ChatId, ToolCallId
from engine.chat.snapshot import Executor, OpenCall
from engine.store.chat_machine import ChatMachine
from engine.store.configuration import ConfigurationVersion
from engine.store.form_drafts import FormDrafts
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from engine.store.spend_limits import SpendLimits
from tests.store.story import (
    ADA,
    BO,
    call,
    calls_message,
    fence_of,
    force_running,
    new_chat,
    result,
    submit,
    submit_refused,
    waiting_chat,
)

CREW = "group:crew"
PILOTS = "usergroup:slack:T1:S1"


async def asked(
    machine: ChatMachine, pool: Pool, chat_id: ChatId, answerers: Answerers | None
) -> ActionId:
    """Run the chat until Wren asks those who may answer."""
    held = await force_running(pool, chat_id)
    call_id = ToolCallId("c1")
    command = EnterRequiresAction(
        fence=fence_of(held),
        messages=(calls_message(call("c1")),),
        open_calls=(OpenCall(tool_call_id=call_id, tool_name="ask", executor=Executor.PEOPLE),),
        actions=(
            NewAction(
                tool_call_id=call_id,
                tool_name="ask",
                executor=Executor.PEOPLE,
                args="{}",
                answerers=answerers,
            ),
        ),
        deadline_at=datetime.now(UTC) + timedelta(days=1),
    )
    return (await submit(machine, chat_id, command)).action_ids[0]


def answers(action_id: ActionId, by: Author | None, **fields: Any) -> tuple[Command, Command]:
    """The same answer in both ways."""
    return (
        AnswerAction(action_id=action_id, result="yes", by=by, **fields),
        SubmitToolResults(results=(result("c1", "yes"),), by=by, **fields),
    )


@pytest.mark.parametrize("way", [0, 1], ids=["one answer", "all results"])
async def test_only_whoever_asked_may_answer_where_the_tool_says_so(
    machine: ChatMachine, pool: Pool, way: int
) -> None:
    """D8"""
    chat_id = await new_chat(machine)
    action_id = await asked(machine, pool, chat_id, Answerers(asker=True))
    for by in (BO, None):
        refused = await submit_refused(machine, chat_id, answers(action_id, by)[way])
        assert refused.reason is RefusalReason.MAY_NOT_ANSWER
        assert refused.detail == "Only Ada may answer this."
    await submit(machine, chat_id, answers(action_id, ADA)[way])


async def test_the_asker_is_whoever_spoke_last(machine: ChatMachine, pool: Pool) -> None:
    """D8: the question is about what Bo wants, though Ada began the chat."""
    chat_id = await waiting_chat(machine, pool)
    await submit(machine, chat_id, SendMessage(content=plain("and mine?"), author=BO))
    action_id = await asked(machine, pool, chat_id, Answerers(asker=True))
    refused = await submit_refused(machine, chat_id, answers(action_id, ADA)[0])
    assert refused.detail == "Only Bo may answer this."
    await submit(machine, chat_id, answers(action_id, BO)[0])


@pytest.mark.parametrize("way", [0, 1], ids=["one answer", "all results"])
async def test_members_of_a_group_may_answer_as_it_is_kept_now(
    machine: ChatMachine, pool: Pool, way: int
) -> None:
    """D8"""
    limits = SpendLimits(pool, ConfigurationVersion(pool))
    chat_id = await new_chat(machine)
    action_id = await asked(machine, pool, chat_id, Answerers(groups=(CREW,)))
    refused = await submit_refused(machine, chat_id, answers(action_id, BO)[way])
    assert refused.detail == "Only members of crew may answer this."
    await limits.add_members("crew", [BO.identity])
    await limits.add_members("others", [ADA.identity])
    await submit_refused(machine, chat_id, answers(action_id, ADA)[way])
    await submit(machine, chat_id, answers(action_id, BO)[way])


async def test_a_platform_vouches_for_its_own_groups_only(machine: ChatMachine, pool: Pool) -> None:
    """D8"""
    chat_id = await new_chat(machine)
    action_id = await asked(machine, pool, chat_id, Answerers(groups=(PILOTS,)))
    for groups in ((), ("usergroup:slack:T1:S2",)):
        command, _ = answers(action_id, BO, groups=frozenset(groups))
        await submit_refused(machine, chat_id, command)
    await submit(machine, chat_id, answers(action_id, BO, groups=frozenset({PILOTS}))[0])


async def test_readers_are_shown_the_rule_and_whoever_asked(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    rule = Answerers(asker=True, people=(BO.identity,), groups=(CREW,))
    action_id = await asked(machine, pool, chat_id, rule)
    action = await ChatRows(pool).read_action(action_id)
    assert action is not None
    assert (action.answerers, action.asker) == (rule, ADA)


async def test_drafts_grow_page_by_page_and_everybody_has_their_own(
    machine: ChatMachine, pool: Pool
) -> None:
    """D8"""
    drafts = FormDrafts(pool)
    chat_id = await new_chat(machine)
    action_id = await asked(machine, pool, chat_id, None)
    assert await drafts.read(action_id, ADA.identity) == {}
    await drafts.save(action_id, ADA.identity, {"a": 1, "b": "x\x00y"})
    await drafts.save(action_id, ADA.identity, {"b": None, "c": [True]})
    await drafts.save(action_id, BO.identity, {"a": 2})
    assert await drafts.read(action_id, ADA.identity) == {"a": 1, "b": None, "c": [True]}
    assert await drafts.read(action_id, BO.identity) == {"a": 2}
    await drafts.save(ActionId(action_id + 1), ADA.identity, {"a": 1})
    assert await drafts.read(ActionId(action_id + 1), ADA.identity) == {}
