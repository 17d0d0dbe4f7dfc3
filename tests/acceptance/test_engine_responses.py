"""A bot on OpenAI's Responses wire answers like any other: calls, reasoning and searches included."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from engine.agent.brain import Brain
from engine.chat.commands import Interrupt
from engine.chat.content import ProviderPart, Role
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.provider import Wire
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, FakeModel, Hang, Own, Say, Stop, Think
from tests.fakes.replica import TestReplica, brains_of, provider_at, said

SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}


async def _look(args: Mapping[str, Any], _context: ToolContext) -> Any:
    return {"seen": args["at"]}


LOOK = LocalTool(definition=ToolDefinition(name="look", description="Look."), run=_look)


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start(api_key="sk-test-key") as fake:
        yield fake


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with model_session() as session:
        brain = Brain(
            model=HttpModel(session, replace(provider_at(model.url), wire=Wire.RESPONSES)),
            model_name="test-model",
            system="You are Wren.",
            local_tools=(LOOK,),
            options={"reasoning": {"effort": "low"}, "tools": [{"type": "web_search"}]},
        )
        async with TestReplica.start(database_url, brains=brains_of(brain)) as started:
            yield started


async def test_chat_with_reasoning_a_search_and_a_call_is_answered(
    replica: TestReplica, model: FakeModel
) -> None:
    """E56: what is stored goes back as the provider made it, or it would refuse the next step."""
    model.script([Think("Tides?"), Own(SEARCH), Think("Look."), Call("look", {"at": "sea"}, "c_1")])
    model.script([Think("Calm."), Say("The sea is calm.")])
    model.script([Say("You are welcome.")])
    chat_id = await replica.chat("How is the sea?")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert model.refusals == []
    first, second = model.streamed
    assert (first.path, first.system) == ("/v1/responses", "You are Wren.")
    assert second.tool_result("c_1") == {"seen": "sea"}
    assert [item["type"] for item in second.messages] == [
        "message", "reasoning", "web_search_call", "reasoning", "function_call",
        "function_call_output",
    ]  # fmt: skip
    assert said(await replica.messages(chat_id))[-1] == ("assistant", "The sea is calm.")
    await replica.send(chat_id, "Thanks")
    await replica.until(
        chat_id, lambda view: len(model.streamed) == 3 and view.status is ShownStatus.WAITING
    )
    assert model.refusals == []
    asked = model.streamed[2].messages
    assert asked[: len(second.messages)] == second.messages
    stored = [m for m in await replica.messages(chat_id) if m.role is Role.ASSISTANT]
    assert any(isinstance(part, ProviderPart) for part in stored[0].content)


async def test_chat_goes_on_after_reasoning_that_was_interrupted(
    replica: TestReplica, model: FakeModel
) -> None:
    """E56: reasoning that led to nothing is never sent back, and the history stays good."""
    model.script([Think("Hm."), Hang()])
    chat_id = await replica.chat("How is the sea?")
    async with replica.watch(chat_id) as seen:
        await seen.until(lambda seen: bool(seen.chat.preview.content))
        await replica.do(chat_id, Interrupt())
    await replica.until(chat_id, ShownStatus.WAITING)
    await replica.send(chat_id, "And the sky?")
    await replica.until(
        chat_id, lambda view: len(model.streamed) == 2 and view.status is ShownStatus.WAITING
    )
    assert model.refusals == []
    assert [item["type"] for item in model.streamed[1].messages] == ["message", "message"]


async def test_call_of_a_stream_that_broke_off_does_not_run(
    replica: TestReplica, model: FakeModel
) -> None:
    """E55: the call was whole, the answer was not; the attempt is made again."""
    model.script([Call("look", {"at": "sea"}, "c_1"), Stop()])
    model.script([Say("The sea is calm.")])
    chat_id = await replica.chat("How is the sea?")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert [item["type"] for item in model.streamed[1].messages] == ["message"]
    messages = await replica.messages(chat_id)
    assert [message.role for message in messages if message.role is Role.TOOL] == []
    assert said(messages)[-1] == ("assistant", "The sea is calm.")
