"""What a turn does with a provider that pauses, and with results too long for its model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from config.secret import Secret
from engine.agent.brain import Brain, Equipment
from engine.agent.compaction import PAUSES_MAX
from engine.agent.gate import Gate
from engine.agent.turn import Turn
from engine.agent.turn_state import TurnLimits, TurnPorts
from engine.chat.commands import FinishTurn, RecordAttempt, RequestCompaction, SubmitToolResults
from engine.chat.content import Finish, NewMessage, Role, ToolResultPart, plain
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.provider import Wire
from engine.store.catalog_entries import ModelInfo, ProviderInfo
from engine.store.ledger import Ledger
from engine.store.outcomes import Applied
from engine.tools.definition import ToolDefinition
from engine.tools.registry import ToolSet
from engine.tools.truncation import RESULT_BYTES_MIN
from engine.worker.patient_store import PatientStore
from tests.acceptance.compaction_house import FULL, house, says, summaries, summarises
from tests.fakes.model_script import Step
from tests.fakes.model_server import Call, End, FakeModel, Hang, Own, Say
from tests.fakes.replica import TestReplica, brains_of, provider_at, soon
from tests.fakes.replica_settings import settings_for

SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "keeper"}}
READ_LOG = ToolDefinition(
    name="read_log", description="", executor=Executor.CLIENT, input_schema={"type": "object"}
)


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
        assert fake.refusals == []


@asynccontextmanager
async def searcher(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    """A replica whose provider searches by itself and may pause."""
    async with model_session() as session:
        provider = replace(provider_at(model.url), wire=Wire.ANTHROPIC)
        brain = Brain(model=HttpModel(session, provider), model_name="test-model", system="")
        async with TestReplica.start(database_url, brains=brains_of(brain)) as replica:
            yield replica


async def test_a_provider_that_paused_is_asked_to_go_on_at_once(
    database_url: str, model: FakeModel
) -> None:
    """What it has said is stored, and it is asked again with that as the last word."""
    model.script([Say("Searching."), Own(SEARCH), End("pause_turn")], [Say("He is ill.")])
    async with searcher(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        answers = [m for m in await replica.messages(chat_id) if m.role is Role.ASSISTANT]
        assert [m.finish for m in answers] == [Finish.CONTINUE, Finish.STOP]
        assert model.streamed[1].messages[-1]["role"] == "assistant"


async def test_a_provider_that_only_ever_pauses_is_left_in_the_end(
    database_url: str, model: FakeModel
) -> None:
    pause: list[Step] = [Say("Searching."), Own(SEARCH), End("pause_turn")]
    model.script(*[pause] * (PAUSES_MAX + 5))
    async with searcher(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        view = await replica.until(chat_id, ShownStatus.WAITING)
        assert view.last_error is None
        assert len(model.streamed) == PAUSES_MAX + 1


async def test_a_result_of_a_program_is_cut_for_the_model_alone(
    database_url: str, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    """Head and tail are kept, the marker says how much is missing; what is stored stays whole."""
    caplog.set_level("INFO", logger="engine.agent.answering")
    long = "first line " + "ü" * 50_000 + " last line"
    model.script([Call("read_log", {}, "c1")])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Read it", dynamic_tools=(tool(READ_LOG),))
        await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
        result = ToolResultPart(tool_call_id=ToolCallId("c1"), tool_name="read_log", result=long)
        await replica.do(chat_id, SubmitToolResults(results=(result,)))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [part.result for part in await replica.results(chat_id)] == [long]
    told = str(model.streamed[1].tool_result("c1"))
    assert len(told.encode()) <= RESULT_BYTES_MIN
    assert "first line" in told
    assert "last line" in told
    assert "bytes cut to fit the model's context" in told
    assert "prompt_results_truncated" in [getattr(r, "action", "") for r in caplog.records]


def tool(definition: ToolDefinition) -> dict[str, Any]:
    """A dynamic tool as a chat brings it."""
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": dict(definition.input_schema),
    }


async def test_the_threshold_of_a_configured_model_counts(
    database_url: str, model: FakeModel
) -> None:
    """E54: through the wiring of a real replica, with the window and threshold of the catalog."""
    settings = settings_for()
    settings = replace(settings, model=replace(settings.model, api_key=Secret("sk-settled-key")))
    model.script(says("He is ill.", FULL), says("In Hamburg.", FULL))
    model.aside_script(summarises())
    async with TestReplica.start(database_url, settings=settings) as replica:
        catalog = replica.engine.catalog
        provider = await catalog.create_provider(
            {
                "name": "harbour",
                "display_name": "Harbour",
                "wire": "chat_completions",
                "base_url": model.url,
                "api_key": "sk-central-0123456789",
            }
        )
        assert isinstance(provider, ProviderInfo), provider
        for name, threshold in (("never", 100), ("soon", 50)):
            entry = {"name": name, "context_limit": 1024, "compaction_threshold": threshold}
            assert isinstance(await catalog.create_model("harbour", entry), ModelInfo)
        for name, count in (("never", 0), ("soon", 1)):
            chat_id = await replica.chat("Where is the keeper?", model=f"harbour:{name}")
            await replica.until(chat_id, ShownStatus.WAITING)
            assert len(await summaries(replica, chat_id)) == count


async def test_a_summary_that_takes_too_long_is_given_up(
    database_url: str, model: FakeModel
) -> None:
    """All attempts together have a budget; then whoever asked is told."""
    model.aside_script([Hang()])
    async with model_session() as session, house(database_url, model, works=False) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        worker = await replica.hold(chat_id)
        answer = NewMessage(role=Role.ASSISTANT, content=plain("He is ill."), finish=Finish.STOP)
        await worker.report(FinishTurn(fence=worker.fence(), messages=(answer,)))
        await replica.do(chat_id, RequestCompaction())
        worker = await replica.hold(chat_id)
        begun = await worker.report(RecordAttempt(fence=worker.fence()))
        assert isinstance(begun, Applied)
        brain = Brain(
            model=HttpModel(session, provider_at(model.url, 60)), model_name="test", system=""
        )

        async def equip() -> Equipment:
            return Equipment(brain=brain, tools=ToolSet())

        engine = replica.engine
        ledger = Ledger(replica.replica.pool)
        ports = TurnPorts(
            store=PatientStore(engine.machine, engine.rows, ledger, engine.files),
            relay=engine.relay,
            now=lambda: datetime.now(UTC),
            limits=TurnLimits(compaction_seconds=0.3),
        )
        await soon(Turn(snapshot=begun.snapshot, equip=equip, gate=Gate(), ports=ports).run())
        view = await replica.view(chat_id)
        assert view.last_error is not None
        assert view.last_error.message == "Summarising the conversation took too long."
        assert await summaries(replica, chat_id) == []
        await soon(model.asides[0].left.wait())
