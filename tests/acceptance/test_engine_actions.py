"""Tools that are answered outside the engine: asked, waited for, answered once, or given up."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from engine.api import Applied
from engine.chat.commands import (
    AnswerAction,
    BusyBehavior,
    Interrupt,
    SendMessage,
    SubmitToolResults,
)
from engine.chat.content import Role, ToolResultPart, plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.errors import ErrorKind
from engine.chat.form import FormKind
from engine.chat.form_answers import answer_of_option
from engine.chat.ids import ChatId, MessageId, ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.synthetic import ACTION_TIMED_OUT, INTERRUPTED_BY_USER
from engine.chat.view import ShownStatus
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, FakeModel, Say
from tests.fakes.replica import ADA, BO, ONLY_WAKES, TestReplica, unanswered

OPEN_GATE = {
    "name": "open_gate",
    "description": "Open a gate of the lock.",
    "inputSchema": {"type": "object", "properties": {"gate": {"type": "string"}}},
}
"""A tool that the API client brings and executes."""


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


def result(call_id: str, value: Any = "opened") -> ToolResultPart:
    """The client's answer."""
    return ToolResultPart(tool_call_id=ToolCallId(call_id), tool_name="open_gate", result=value)


async def read_tide(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    return {"metres": 1.2}


READ_TIDE = LocalTool(
    definition=ToolDefinition(name="read_tide", description="The tide now."), run=read_tide
)


async def asked(replica: TestReplica, **fields: Any) -> ChatId:
    """A chat that waits for an answer from outside."""
    chat_id = await replica.chat("Open the gates", **fields)
    await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
    return chat_id


async def test_a_dynamic_call_pauses_the_chat_until_it_is_answered(
    database_url: str, model: FakeModel
) -> None:
    """E25: paused, offered in call 1, the result in call 2, exactly 2 streamed calls, waiting."""
    model.call("open_gate", {"gate": "north"}, id="c1")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await asked(replica, dynamic_tools=(OPEN_GATE,))
        assert (await replica.stored(chat_id)).runner_id is None
        (action,) = await replica.engine.read_actions(chat_id)
        assert (action.tool_name, action.executor) == ("open_gate", Executor.CLIENT)
        assert action.args == '{"gate": "north"}'
        async with replica.watch(chat_id) as seen:
            await seen.until(lambda seen: seen.chat.actions == (action,))
            await replica.do(chat_id, SubmitToolResults(results=(result("c1"),), by=ADA))
            await seen.until_status(ShownStatus.WAITING)
            assert seen.chat.actions == ()
        (closed,) = await replica.engine.read_actions(chat_id, only_open=False)
        assert (closed.answered_by, closed.answer) == (ADA, "opened")
    assert len(model.streamed) == 2
    assert "open_gate" in model.streamed[0].tool_names
    assert model.streamed[1].tool_result("c1") == "opened"
    assert model.refusals == []


async def test_built_in_results_are_stored_while_people_are_asked(
    database_url: str, model: FakeModel
) -> None:
    """E26: the built-in result is already stored while the chat waits; then exactly 2 calls."""
    model.script([Say("One moment."), Call("open_gate", {}, "c1"), Call("read_tide", {}, "t1")])
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=(READ_TIDE,)
    ) as replica:
        chat_id = await asked(replica, dynamic_tools=(OPEN_GATE,))
        assert [part.tool_call_id for part in await replica.results(chat_id)] == ["t1"]
        await replica.do(chat_id, SubmitToolResults(results=(result("c1"),)))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert unanswered(await replica.messages(chat_id)) == []
    assert len(model.streamed) == 2
    assert model.streamed[1].tool_result("t1") == {"metres": 1.2}
    assert model.streamed[1].tool_result("c1") == "opened"
    assert model.refusals == []


async def test_the_first_of_many_submissions_wins(database_url: str, model: FakeModel) -> None:
    """E27: 10 simultaneous submissions: 1 success, 9 typed conflicts, nothing else."""
    model.call("open_gate", id="c1")
    async with (
        TestReplica.start(database_url, model.url) as a,
        TestReplica.start(database_url, model.url) as b,
    ):
        chat_id = await asked(a, dynamic_tools=(OPEN_GATE,))
        outcomes = await asyncio.gather(
            *(
                (a, b)[number % 2].engine.submit(
                    chat_id, SubmitToolResults(results=(result("c1", number),))
                )
                for number in range(10)
            )
        )
        (winner,) = (n for n, outcome in enumerate(outcomes) if isinstance(outcome, Applied))
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
        assert [refusal.reason for refusal in refusals] == [RefusalReason.NO_ACTION_PENDING] * 9
        await a.until(chat_id, ShownStatus.WAITING)
        assert [part.result for part in await a.results(chat_id)] == [winner]
    assert len(model.streamed) == 2


async def test_results_must_match_what_is_asked(database_url: str, model: FakeModel) -> None:
    """Missing, unknown and doubled results are refused, and the question stays open."""
    model.script([Call("open_gate", {}, "c1"), Call("open_gate", {}, "c2")])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await asked(replica, dynamic_tools=(OPEN_GATE,))
        for ids in (["c1"], ["c1", "c3"], ["c1", "c1"], ["c1", "c2", "c2"], []):
            submission = SubmitToolResults(results=tuple(result(call_id) for call_id in ids))
            refused = await replica.refused(chat_id, submission)
            assert refused is RefusalReason.RESULTS_DO_NOT_MATCH
        await replica.do(chat_id, SubmitToolResults(results=(result("c2"), result("c1"))))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [part.tool_call_id for part in await replica.results(chat_id)] == ["c1", "c2"]


async def test_a_late_submission_that_names_its_message_answers_no_later_question(
    database_url: str, model: FakeModel
) -> None:
    """A model uses the same id twice; between question and answer a built-in result is stored."""
    model.script([Say("First."), Call("open_gate", {}, "c1")])
    model.script([Call("open_gate", {}, "c1"), Call("read_tide", {}, "t1")])
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=(READ_TIDE,)
    ) as replica:
        chat_id = await asked(replica, dynamic_tools=(OPEN_GATE,))
        first = await asking_message(replica, chat_id)
        late = SubmitToolResults(results=(result("c1", "first"),), message_id=first)
        await replica.do(chat_id, late)
        await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
        assert await replica.refused(chat_id, late) is RefusalReason.RESULTS_DO_NOT_MATCH
        second = await asking_message(replica, chat_id)
        answer = SubmitToolResults(results=(result("c1", "second"),), message_id=second)
        await replica.do(chat_id, answer)
        await replica.until(chat_id, ShownStatus.WAITING)
        told = [
            part.result for part in await replica.results(chat_id) if part.tool_name != "read_tide"
        ]
        assert told == ["first", "second"]
    assert model.refusals == []


async def asking_message(replica: TestReplica, chat_id: ChatId) -> MessageId:
    """The newest message of the assistant."""
    said = [m.id for m in await replica.messages(chat_id) if m.role is Role.ASSISTANT]
    return said[-1]


async def test_a_question_to_people_is_a_form_and_a_click_goes_on(
    database_url: str, model: FakeModel
) -> None:
    """The options of a question are buttons; the first click is the answer, the second is told so."""
    model.call("ask_people", {"question": "Which gate?", "options": ["north", "south"]}, id="c1")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await asked(replica)
        (action,) = await replica.engine.read_actions(chat_id)
        assert action.executor is Executor.PEOPLE
        assert action.form is not None
        assert (action.form.question, action.form.kind) == ("Which gate?", FormKind.BUTTONS)
        click = AnswerAction(action_id=action.id, result=answer_of_option(action.form, 1), by=BO)
        await replica.do(chat_id, click)
        second = await replica.refused(chat_id, click)
        assert second is RefusalReason.NO_ACTION_PENDING
        await replica.until(chat_id, ShownStatus.WAITING)
        closed = await replica.engine.read_action(action.id)
        assert closed is not None
        assert closed.answered_by == BO
    assert model.streamed[1].tool_result("c1") == {"answer": "south"}


async def test_two_questions_wait_for_both_answers(database_url: str, model: FakeModel) -> None:
    """Each of two questions is answered by itself; the chat goes on with the last."""
    model.script(
        [Call("ask_people", {"question": "A?"}, "c1"), Call("ask_people", {"question": "B?"}, "c2")]
    )
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await asked(replica)
        first, second = await replica.engine.read_actions(chat_id)
        await replica.do(chat_id, AnswerAction(action_id=second.id, result={"answer": "b"}))
        assert (await replica.view(chat_id)).status is ShownStatus.REQUIRES_ACTION
        again = AnswerAction(action_id=second.id, result={"answer": "c"})
        assert await replica.refused(chat_id, again) is RefusalReason.ACTION_NOT_PENDING
        await replica.do(chat_id, AnswerAction(action_id=first.id, result={"answer": "a"}))
        await replica.until(chat_id, ShownStatus.WAITING)
    assert model.streamed[1].tool_result("c1") == {"answer": "a"}
    assert model.streamed[1].tool_result("c2") == {"answer": "b"}
    assert model.refusals == []


async def test_a_question_past_its_deadline_ends_in_error(
    database_url: str, model: FakeModel
) -> None:
    """E19: `error` with the words, no lease, calls answered; sending a message then works."""
    model.call("open_gate", id="c1")
    async with TestReplica.start(database_url, model.url, action_seconds=0.2) as replica:
        chat_id = await replica.chat("Open the gates", dynamic_tools=(OPEN_GATE,))
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.ACTION_TIMEOUT
        assert "Dynamic tool execution timed out" in view.last_error.message
        assert (await replica.stored(chat_id)).runner_id is None
        (answer,) = await replica.results(chat_id)
        assert (answer.result, answer.is_error) == ({"error": ACTION_TIMED_OUT}, True)
        assert await replica.engine.read_actions(chat_id) == ()
        late = SubmitToolResults(results=(result("c1"),))
        assert await replica.refused(chat_id, late) is RefusalReason.NO_ACTION_PENDING
        await replica.send(chat_id, "Never mind.")
        await replica.until(chat_id, ShownStatus.WAITING)
    assert len(model.streamed) == 2
    assert model.refusals == []


async def test_a_tool_may_say_that_a_timeout_is_an_answer(
    database_url: str, model: FakeModel
) -> None:
    """E19: with `on_timeout = "continue"` the chat goes on with the synthetic result."""
    model.call("open_gate", id="c1")
    patient = {**OPEN_GATE, "on_timeout": "continue", "timeout_seconds": 0.2}
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("Open the gates", dynamic_tools=(patient,))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-1] == ("assistant", "All right.")
    assert model.streamed[1].tool_result("c1") == {"error": ACTION_TIMED_OUT}


@pytest.mark.parametrize("way", ["stop", "message"])
async def test_a_question_can_be_taken_back(database_url: str, model: FakeModel, way: str) -> None:
    """An interrupt takes the question back; the history stays one that every provider takes."""
    model.call("open_gate", id="c1")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await asked(replica, dynamic_tools=(OPEN_GATE,))
        if way == "stop":
            await replica.do(chat_id, Interrupt(by=ADA))
            assert (await replica.view(chat_id)).status is ShownStatus.WAITING
            await replica.send(chat_id, "Never mind.")
        else:
            busy = BusyBehavior.INTERRUPT
            await replica.do(chat_id, SendMessage(content=plain("Never mind."), busy=busy))
        await replica.until(chat_id, ShownStatus.WAITING)
        (answer,) = await replica.results(chat_id)
        assert answer.result == {"error": INTERRUPTED_BY_USER}
        roles = [message.role for message in await replica.messages(chat_id)]
        assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT]
    assert model.refusals == []


async def test_an_odd_schema_or_odd_arguments_still_ask(
    database_url: str, model: FakeModel
) -> None:
    """Whatever a model or a client writes into arguments and schemas, people are asked."""
    odd = {
        "name": "odd",
        "executor": "people",
        "output_schema": {
            "type": "object",
            "required": True,
            "properties": {"n": {"type": "integer", "minimum": "none", "title": 7}, "m": []},
        },
    }
    model.call("odd", "not JSON at all", id="c1")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await asked(replica, dynamic_tools=(odd,))
        (action,) = await replica.engine.read_actions(chat_id)
        assert action.form is not None
        assert sorted(field.name for field in action.form.fields) == ["m", "n"]
        await replica.do(chat_id, AnswerAction(action_id=action.id, result={"n": 1}))
        await replica.until(chat_id, ShownStatus.WAITING)
    assert model.refusals == []
