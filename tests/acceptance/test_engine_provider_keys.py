"""Whose key a request carries: the one that the policy names, or none and no request."""

from dataclasses import replace
from typing import Any

import pytest

from config.secret import Secret
from engine.chat.errors import ErrorKind
from engine.chat.view import ShownStatus
from engine.store.reseal import reseal
from engine.store.vault import Vault
from tests.acceptance.configured import (
    CENTRAL,
    OWN,
    answered,
    asked_by,
    change,
    configure,
    keys_of,
    replica_with,
    settings_at,
)
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import ADA, BO, TestReplica
from tests.fakes.replica_settings import SECRET_KEY


async def test_request_carries_the_key_of_the_person_who_asks(
    database_url: str, model: FakeModel
) -> None:
    """E42: with the policy "user key" the request carries the user's key."""
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(
            replica.engine,
            "harbour",
            model.url,
            "m",
            user_key_allowed=True,
            central_key_enabled=False,
        )
        assert await replica.engine.catalog.set_user_key("harbour", ADA.identity, OWN) is None
        await answered(replica)
        assert keys_of(model) == [f"Bearer {OWN}"]


async def test_person_without_a_key_gets_an_error_and_no_request(
    database_url: str, model: FakeModel
) -> None:
    """E43: with the policy "user key" and no key: error, zero requests."""
    async with replica_with(database_url, model.url) as replica:
        await configure(replica.engine, "harbour", model.url, "m", user_key_allowed=True)
        assert await replica.engine.catalog.set_user_key("harbour", ADA.identity, OWN) is None
        chat_id = await asked_by(replica, BO)
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.MISSING_KEY
        assert view.last_error.message == "No API key is set for Harbour."
        assert not view.last_error.retryable
        assert model.requests == []


async def test_central_key_stands_in_where_it_may(database_url: str, model: FakeModel) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(
            replica.engine,
            "harbour",
            model.url,
            "m",
            user_key_allowed=True,
            central_key_fallback=True,
        )
        assert await replica.engine.catalog.set_user_key("harbour", ADA.identity, OWN) is None
        await answered(replica)
        await replica.until(await asked_by(replica, BO), ShownStatus.WAITING)
        assert keys_of(model) == [f"Bearer {OWN}", f"Bearer {CENTRAL}"]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"api_key": None}, ErrorKind.MISSING_KEY),
        ({"enabled": False}, ErrorKind.PROVIDER_DISABLED),
    ],
)
async def test_provider_that_cannot_be_asked_gets_no_request(
    database_url: str, model: FakeModel, fields: dict[str, Any], kind: ErrorKind
) -> None:
    async with replica_with(database_url, model.url) as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        await change(replica.engine, "harbour", **fields)
        chat_id = await replica.chat()
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is kind
        assert "Harbour" in view.last_error.message
        assert model.requests == []
        await change(replica.engine, "harbour", enabled=True, api_key=CENTRAL)
        await replica.send(chat_id, "And now?")
        await replica.until(chat_id, ShownStatus.WAITING)


async def test_new_key_is_used_from_the_next_turn_on(database_url: str, model: FakeModel) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        await answered(replica)
        await change(replica.engine, "harbour", api_key="sk-the-next-one")
        await answered(replica)
        assert keys_of(model) == [f"Bearer {CENTRAL}", "Bearer sk-the-next-one"]


async def test_provider_that_needs_no_key_is_asked_without_one(
    database_url: str, model: FakeModel
) -> None:
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        options = {"needs_key": False}
        await configure(replica.engine, "ollama", model.url, "m", api_key=None, options=options)
        await answered(replica)
        assert keys_of(model) == [""]


async def test_which_key_is_wanted_for_a_sealed_one_is_logged_and_not_told_to_people(
    database_url: str, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    async with replica_with(database_url, model.url) as replica:
        await configure(replica.engine, "harbour", model.url, "m")
    settings = replace(settings_at(model.url), secret_key=Secret("another key, long enough too"))
    async with TestReplica.start(database_url, settings=settings) as replica:
        view = await replica.until(await replica.chat(), ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.MISSING_KEY
        detail = view.last_error.detail or ""
        assert "Ask an administrator" in detail
        assert "THREADWRIGHT" not in detail
        wanted = str(Vault(SECRET_KEY).key_id)
        assert wanted not in detail
        assert any(wanted in str(record.__dict__.get("reason")) for record in caplog.records)
        assert model.requests == []


async def test_rotation_while_replicas_run_interrupts_nobody(
    database_url: str, model: FakeModel
) -> None:
    new = Secret("the next secret key of the harbour")
    async with replica_with(database_url, "http://127.0.0.1:9/v1") as replica:
        await configure(replica.engine, "harbour", model.url, "m")
        await answered(replica)
    both = replace(settings_at(model.url), secret_key=new, secret_key_previous=SECRET_KEY)
    async with TestReplica.start(database_url, settings=both) as replica:
        await answered(replica)
        vault = Vault(new, SECRET_KEY)
        assert (await reseal(replica.engine.catalog, vault)).secrets == 1
        await answered(replica)
    after = replace(settings_at(model.url), secret_key=new)
    async with TestReplica.start(database_url, settings=after) as replica:
        await answered(replica)
    assert keys_of(model) == [f"Bearer {CENTRAL}"] * 4
