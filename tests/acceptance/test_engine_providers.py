"""Configured providers: which model a turn asks, with whose key, and what is never asked at all."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bots.brains import build_brains
from bots.catalog import load_bots
from config.settings import ModelProvider, ModelWire
from engine.agent.brain import BrainRequest
from engine.chat.errors import ErrorKind
from engine.chat.view import ShownStatus
from engine.models.client import model_session
from engine.store.catalog_entries import ModelInfo
from engine.store.pool import Pool
from tests.acceptance.configured import (
    answered,
    configure,
    keys_of,
    names_of,
    replica_with,
    settings_at,
)
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

CENTRAL = "sk-central-0123456789"
OWN = "sk-own-of-ada-0123456789"


@pytest.fixture
async def other_model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


async def test_without_anything_in_the_database_the_settings_answer(
    database_url: str, model: FakeModel
) -> None:
    async with replica_with(database_url, model.url) as replica:
        chat_id = await answered(replica)
        await answered(replica, model="another-name")
        assert names_of(model) == ["test-model", "another-name"]
        assert keys_of(model) == ["Bearer sk-settled-key"] * 2
        stored = [message.model for message in await replica.messages(chat_id) if message.model]
        assert stored == ["openai:test-model"]


async def test_two_providers_of_one_wire_stand_side_by_side(
    database_url: str, model: FakeModel, other_model: FakeModel
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", model.url, "small:1", api_key="sk-of-harbour")
        await configure(
            replica.engine, "beacon", other_model.url, "org/big", api_key="sk-of-beacon"
        )
        await answered(replica)
        await answered(replica, model="beacon:org/big")
        await answered(replica, model="org/big")
        await answered(replica, model="harbour:small:1")
    assert names_of(model) == ["small:1"] * 2
    assert names_of(other_model) == ["org/big"] * 2
    assert set(keys_of(model)) == {"Bearer sk-of-harbour"}
    assert set(keys_of(other_model)) == {"Bearer sk-of-beacon"}


async def test_what_is_configured_of_a_model_reaches_its_requests_and_rows(
    database_url: str, model: FakeModel
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        engine = replica.engine
        await configure(engine, "harbour", model.url, headers={"X-Team": "lighthouse"})
        added = await engine.catalog.create_model(
            "harbour",
            {
                "name": "m",
                "context_limit": 9000,
                "max_output_tokens": 77,
                "temperature": 0.5,
                "options": {"top_p": 0.25},
                "input_price": 1_000_000,
                "output_price": 0,
            },
        )
        assert isinstance(added, ModelInfo)
        model.say("Yes.", usage={"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})
        chat_id = await answered(replica)
        (request,) = model.streamed
        assert request.headers["X-Team"] == "lighthouse"
        body = request.body
        assert (body["max_tokens"], body["temperature"], body["top_p"]) == (77, 0.5, 0.25)
        costs = [m.cost_micros for m in await replica.messages(chat_id) if m.cost_micros]
        assert costs == [3_000_000]


async def test_unknown_model_is_an_error_that_names_what_there_is(
    database_url: str, model: FakeModel
) -> None:
    async with replica_with(database_url, model.url) as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        chat_id = await replica.chat(model="nonsense")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.CONFIG
        assert "harbour:m" in view.last_error.message
        assert model.requests == []


async def test_change_takes_effect_on_another_replica_within_the_poll(
    database_url: str, model: FakeModel, other_model: FakeModel
) -> None:
    async with (
        replica_with(database_url, model.url) as worker,
        TestReplica.start(database_url, works=False) as elsewhere,
    ):
        chat_id = await answered(worker)
        assert names_of(model) == ["test-model"]
        await configure(elsewhere.engine, "beacon", other_model.url, "m")
        async with asyncio.timeout(15):
            while not other_model.streamed:
                await worker.send(chat_id, "Who answers?")
                await worker.until(chat_id, ShownStatus.WAITING)
        assert names_of(other_model) == ["m"]


async def test_turns_read_nothing_while_nothing_changes(
    database_url: str, model: FakeModel
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        catalog = await replica.engine.models.current()
        before = replica.replica.pool.statement_count
        for _ in range(50):
            assert await replica.engine.models.current() is catalog
        # The worker polls beside; each of 50 reads of its own would be far more.
        assert replica.replica.pool.statement_count - before < 20


async def test_models_in_memory_answer_while_the_configuration_cannot_be_read(
    database_url: str, model: FakeModel, pool: Pool
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        await answered(replica)
        async with pool.session() as connection:
            await connection.execute("ALTER TABLE configuration_version RENAME TO away")
        replica.engine.configuration.forget()
        await answered(replica)
        assert names_of(model) == ["m", "m"]
        async with pool.session() as connection:
            await connection.execute("ALTER TABLE away RENAME TO configuration_version")


async def test_stored_provider_of_the_same_name_takes_the_place_of_the_settled_one(
    database_url: str, model: FakeModel, other_model: FakeModel
) -> None:
    async with replica_with(database_url, model.url) as replica:
        await configure(replica.engine, "openai", other_model.url)
        await answered(replica)
        assert names_of(other_model) == ["test-model"]
        assert keys_of(other_model) == [f"Bearer {CENTRAL}"]
        assert model.requests == []


@pytest.mark.parametrize(
    ("side_name", "reference"),
    [("harbour:little", "harbour:little"), ("little", "harbour:little"), ("gone", "harbour:big")],
)
async def test_side_model_is_the_one_of_the_settings_or_the_bots_own(
    database_url: str, side_name: str, reference: str
) -> None:
    settings = settings_at("http://127.0.0.1:9/v1", side_name=side_name)
    async with (
        TestReplica.start(database_url, settings=settings) as replica,
        model_session() as session,
    ):
        await configure(replica.engine, "harbour", "http://h/v1", "big", "little")
        brains = build_brains(settings, load_bots(), session, replica.engine.models)
        brain = await brains(BrainRequest(bot="assistant"))
        assert (brain.reference, brain.context_limit) == ("harbour:big", 9000)
        assert brain.for_side_work.reference == reference


async def test_start_warns_of_bots_whose_model_there_is_not(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", "http://h/v1", "big")
    lines = {"owl": 'name = "harbour:owl"', "wren": 'name = "big"', "crow": 'provider = "island"'}
    for bot, line in lines.items():
        (tmp_path / bot).mkdir()
        (tmp_path / bot / "bot.toml").write_text(f"[model]\n{line}\n")
        (tmp_path / bot / "persona.md").write_text("You are a bird.")
    settings = replace(settings_at("http://127.0.0.1:9/v1"), bots_dir=str(tmp_path))
    async with TestReplica.start(database_url, settings=settings):
        warned = [
            (record.__dict__["bot"], record.getMessage())
            for record in caplog.records
            if record.__dict__.get("action") == "bot_model_unusable"
        ]
    assert [bot for bot, _ in warned] == ["crow", "owl"]
    assert "There is no provider island." in warned[0][1]
    assert "There is no model harbour:owl." in warned[1][1]


@pytest.mark.parametrize("provider", [ModelProvider.DEMO])
async def test_demo_answers_without_any_request(database_url: str, provider: ModelProvider) -> None:
    async with replica_with(
        database_url, "http://127.0.0.1:9/v1", provider=provider, name="demo"
    ) as replica:
        chat_id = await answered(replica)
        assert len(await replica.history(chat_id)) == 2


@pytest.mark.parametrize(
    ("changes", "path", "header"),
    [
        ({"provider": ModelProvider.ANTHROPIC}, "/v1/messages", ("x-api-key", "sk-settled-key")),
        (
            {"wire": ModelWire.RESPONSES},
            "/v1/responses",
            ("Authorization", "Bearer sk-settled-key"),
        ),
    ],
)
async def test_settings_choose_who_is_asked_and_how(
    database_url: str,
    model: FakeModel,
    changes: dict[str, Any],
    path: str,
    header: tuple[str, str],
) -> None:
    model.say("Good morning.")
    async with replica_with(database_url, model.url, **changes) as replica:
        chat_id = await answered(replica)
        assert ("assistant", "Good morning.") in await replica.history(chat_id)
    (request,) = model.streamed
    name, value = header
    assert (request.path, request.headers[name]) == (path, value)
    assert model.refusals == []
