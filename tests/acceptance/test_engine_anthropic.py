"""A bot on Anthropic's wire answers like any other: calls, thinking and pauses included."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from engine.agent.brain import Brain
from engine.chat.commands import Interrupt
from engine.chat.content import Finish, ProviderPart, ReasoningPart, Role
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.provider import Wire
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, End, FakeModel, Hang, Own, Say, Think
from tests.fakes.replica import TestReplica, brains_of, provider_at, said

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


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
            model=HttpModel(session, replace(provider_at(model.url), wire=Wire.ANTHROPIC)),
            model_name="test-model",
            system="You are Wren.",
            local_tools=(LOOK,),
            options={"thinking": {"type": "enabled", "budget_tokens": 2000}},
        )
        async with TestReplica.start(database_url, brains=brains_of(brain)) as started:
            yield started


async def test_chat_with_a_call_and_thinking_is_answered(
    replica: TestReplica, model: FakeModel
) -> None:
    """What is stored of the thinking is what the provider signed, or it would refuse the result."""
    model.script([Think("Look first. "), Say("Looking."), Call("look", {"at": "sea"}, "toolu_1")])
    model.script([Say("The sea is calm.")])
    chat_id = await replica.chat("How is the sea?")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert model.refusals == []
    first, second = model.streamed
    assert (first.path, first.system) == ("/v1/messages", "You are Wren.")
    assert second.tool_result("toolu_1") == {"seen": "sea"}
    assert [block["type"] for block in second.messages[1]["content"]] == [
        "thinking", "text", "tool_use",
    ]  # fmt: skip
    assert said(await replica.messages(chat_id))[-1] == ("assistant", "The sea is calm.")


async def test_turn_that_the_provider_paused_goes_on(
    replica: TestReplica, model: FakeModel
) -> None:
    """What it said and searched so far goes back unchanged, and the answer follows by itself."""
    model.script([Think("Search. "), Say("Searching… "), Own(SEARCH), End("pause_turn")])
    model.script([Own(FOUND), Say("Fair winds.")])
    model.script([Say("You are welcome.")])
    chat_id = await replica.chat("How is the sea?")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert model.refusals == []
    paused, answered = [m for m in await replica.messages(chat_id) if m.role is Role.ASSISTANT]
    assert (paused.finish, answered.finish) == (Finish.CONTINUE, Finish.STOP)
    assert [type(part) for part in paused.content][::2] == [ReasoningPart, ProviderPart]
    assert model.streamed[1].messages[-1]["content"][-1] == SEARCH
    await replica.send(chat_id, "Thanks")
    await replica.until(
        chat_id, lambda view: len(model.streamed) == 3 and view.status is ShownStatus.WAITING
    )
    kinds = [block["type"] for block in model.streamed[2].messages[1]["content"]]
    assert kinds == ["thinking", "text", "server_tool_use", "web_search_tool_result", "text"]
    assert model.refusals == []


async def test_chat_goes_on_after_thinking_that_was_interrupted(
    replica: TestReplica, model: FakeModel
) -> None:
    """E56: half a thought is never sent back, and the history stays good."""
    model.script([Think("Hm. "), Hang()])
    chat_id = await replica.chat("How is the sea?")
    async with replica.watch(chat_id) as seen:
        await seen.until(lambda seen: seen.chat.preview.content == (ReasoningPart(text="Hm. "),))
        await replica.do(chat_id, Interrupt())
    await replica.until(chat_id, ShownStatus.WAITING)
    await replica.send(chat_id, "And the sky?")
    await replica.until(
        chat_id, lambda view: len(model.streamed) == 2 and view.status is ShownStatus.WAITING
    )
    assert model.refusals == []
    assert model.streamed[1].last_text == "Ada: How is the sea?\nAda: And the sky?"
