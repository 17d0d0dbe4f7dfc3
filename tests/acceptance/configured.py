"""Replicas that answer by what is configured in the database, and who was asked with which key."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from config.secret import Secret
from config.settings import Settings
from engine.api import Engine
from engine.chat.commands import CreateChat
from engine.chat.content import Author, plain
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from engine.store.catalog_entries import ModelInfo, ProviderInfo
from engine.store.outcomes import Created
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica, settings_for

CENTRAL = "sk-central-0123456789"
OWN = "sk-own-of-ada-0123456789"


def settings_at(url: str, **changes: Any) -> Settings:
    """The settings of a replica whose own provider is at this address."""
    settings = settings_for()
    model = replace(settings.model, base_url=url, api_key=Secret("sk-settled-key"), **changes)
    return replace(settings, model=model)


@asynccontextmanager
async def replica_with(database_url: str, url: str, **changes: Any) -> AsyncIterator[TestReplica]:
    settings = settings_at(url, **changes)
    async with TestReplica.start(database_url, settings=settings) as replica:
        yield replica


async def configure(
    engine: Engine, name: str, url: str, *models: str, **fields: Any
) -> ProviderInfo:
    made = await engine.catalog.create_provider(
        {
            "name": name,
            "display_name": name.title(),
            "wire": "chat_completions",
            "base_url": url,
            "api_key": CENTRAL,
            **fields,
        }
    )
    assert isinstance(made, ProviderInfo), made
    for model in models:
        added = await engine.catalog.create_model(name, {"name": model, "context_limit": 9000})
        assert isinstance(added, ModelInfo), added
    return made


async def change(engine: Engine, name: str, **fields: Any) -> None:
    changed = await engine.catalog.update_provider(name, fields)
    assert isinstance(changed, ProviderInfo), changed


async def answered(replica: TestReplica, **fields: Any) -> ChatId:
    chat_id = await replica.chat(**fields)
    await replica.until(chat_id, ShownStatus.WAITING)
    return chat_id


async def asked_by(replica: TestReplica, author: Author, **fields: Any) -> ChatId:
    """A chat of this person."""
    command = CreateChat(chat_id=ChatId(uuid4()), content=plain("Hello"), author=author, **fields)
    created = await replica.engine.create_chat(command)
    assert isinstance(created, Created), created
    return created.chat_id


def keys_of(model: FakeModel) -> list[str]:
    return [request.headers.get("Authorization", "") for request in model.streamed]


def names_of(model: FakeModel) -> list[str]:
    return [request.body["model"] for request in model.streamed]
