"""A replica whose model reads a thousand tokens, and what tests of summaries ask of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from typing import Any

from engine.agent.brain import Brain
from engine.chat.content import Message, Role, ToolCallPart, ToolResultPart, Visibility, text_of
from engine.chat.ids import ChatId
from engine.chat.summaries import SUMMARY_TOOL, is_summary_note
from engine.models.client import HttpModel, model_session
from engine.models.cost import Prices
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool
from tests.fakes.model_server import Call, End, FakeModel, Gate, Refuse, Say, Step
from tests.fakes.replica import TestReplica, brains_of, provider_at

LIMIT = 1000
FULL = {"prompt_tokens": 800, "completion_tokens": 5, "total_tokens": 805}
LITTLE = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
TOO_LONG_400 = Refuse(400, "This model's maximum context length is 1000 tokens.")
SUMMARY = "Ada looks for the lighthouse keeper."


async def look_out(_args: Any, _context: Any) -> Any:
    """What the one tool does."""
    return "a grey sail"


LOOK_OUT = LocalTool(
    definition=ToolDefinition(name="look_out", description="", read_only=True), run=look_out
)


@asynccontextmanager
async def house(
    database_url: str,
    model: FakeModel,
    *,
    limit: int | None = LIMIT,
    threshold: int = 70,
    **start: Any,
) -> AsyncIterator[TestReplica]:
    """A replica for as long as the block takes."""
    async with AsyncExitStack() as stack:
        brain = Brain(
            model=HttpModel(
                await stack.enter_async_context(model_session()), provider_at(model.url)
            ),
            model_name="test-model",
            reference="fake:test-model",
            system="You are Wren.",
            local_tools=(LOOK_OUT,),
            context_limit=limit,
            compaction_threshold=threshold,
            prices=Prices(input=Decimal(1)),
        )
        replica = TestReplica.start(database_url, brains=brains_of(brain), **start)
        yield await stack.enter_async_context(replica)


def calls(usage: dict[str, int] = FULL) -> list[Step]:
    """A step that looks out, made from so many tokens."""
    return [Call("look_out"), End(usage=usage)]


def says(text: str, usage: dict[str, int] = LITTLE) -> list[Step]:
    """An answer, made from so many tokens."""
    return [Say(text), End(usage=usage)]


def summarises(text: str = SUMMARY, *, at: str = "") -> list[Step]:
    """The answer to a request for a summary, perhaps only once a gate is opened."""
    return [*([Gate(at)] if at else []), Say(text), End(usage=LITTLE)]


async def everything(replica: TestReplica, chat_id: ChatId) -> Sequence[Message]:
    """All messages that stand, whoever may see them."""
    return await replica.engine.rows.read_messages(chat_id, limit=1000, audience=Visibility.BOTH)


async def summaries(replica: TestReplica, chat_id: ChatId) -> list[str]:
    """The summaries that stand."""
    messages = await everything(replica, chat_id)
    return [text_of(m.content) for m in messages if m.summary_of is not None]


async def notes(replica: TestReplica, chat_id: ChatId) -> list[tuple[ToolCallPart, ToolResultPart]]:
    """What people are told of summaries: calls and their results."""
    messages = list(await replica.messages(chat_id))
    found = []
    for place, message in enumerate(messages):
        if is_summary_note(message):
            (call,) = message.content
            (result,) = messages[place + 1].content
            assert isinstance(call, ToolCallPart)
            assert isinstance(result, ToolResultPart)
            assert call.tool_call_id == result.tool_call_id
            assert result.tool_name == SUMMARY_TOOL
            found.append((call, result))
    return found


async def told(replica: TestReplica, chat_id: ChatId) -> list[tuple[Role, str]]:
    """What the model is told next."""
    prompt = await replica.engine.rows.read_prompt(chat_id)
    assert prompt is not None
    return [(m.role, text_of(m.content)) for m in prompt.messages if text_of(m.content)]
