"""A providers file makes the catalogue what it says, and touches nothing else."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.catalog_entries import ModelInfo, ProviderInfo, Rejection, RejectionReason
from engine.store.catalog_file import FileEntry, apply_file
from engine.store.configuration import ConfigurationVersion
from engine.store.pool import Pool
from engine.store.vault import Vault

KEY = Secret("the key of the lighthouse, long enough")


@pytest.fixture
def catalog(pool: Pool) -> Catalog:
    return Catalog(pool, Vault(KEY))


def entry(name: str, *models: Any, **fields: Any) -> FileEntry:
    plain = {"name": name, "wire": "responses", "base_url": "https://h/v1", "api_key": None}
    listed = [
        {"name": model, "context_limit": 9000} if isinstance(model, str) else model
        for model in models
    ]
    return FileEntry(fields={**plain, **fields}, models=listed)


async def apply(catalog: Catalog, *entries: FileEntry, dry_run: bool = False) -> Sequence[str]:
    done = await apply_file(catalog, entries, dry_run=dry_run)
    assert not isinstance(done, Rejection), done
    return [
        f"{change.verb} {change.reference} {' '.join(change.fields)}".strip() for change in done
    ]


async def references(catalog: Catalog) -> list[str]:
    return [model.reference for model in await catalog.list_models()]


async def test_file_is_applied_changed_and_taken_back(catalog: Catalog) -> None:
    done = await apply(catalog, entry("a", "m", "n", api_key="sk-1"), entry("b", "o"))
    assert done == ["add a", "add a:m", "add a:n", "add b", "add b:o"]
    changed = {"name": "m", "context_limit": 7000, "is_default": True}
    done = await apply(catalog, entry("a", changed, api_key="sk-2", headers={"X": "y"}))
    assert done == [
        "remove b",
        "remove a:n",
        "change a api_key headers",
        "change a:m context_limit",
    ]
    assert await references(catalog) == ["a:m"]
    (provider,) = await catalog.list_providers()
    secrets = (await catalog.read_secrets())[provider.id]
    assert (secrets.api_key, secrets.headers) == (Secret("sk-2"), {"X": "y"})
    assert await apply(catalog) == ["remove a"]
    assert await catalog.list_providers() == []


async def test_same_file_again_changes_nothing_and_raises_no_version(
    catalog: Catalog, pool: Pool
) -> None:
    entries = (entry("a", "m", "n", api_key="sk-1", headers={"X": "y"}), entry("b"))
    await apply(catalog, *entries)
    version = await ConfigurationVersion(pool).current()
    assert await apply(catalog, *entries) == []
    assert await ConfigurationVersion(pool).current() == version


async def test_dry_run_tells_and_does_nothing(catalog: Catalog) -> None:
    assert await apply(catalog, entry("a", "m"), dry_run=True) == ["add a", "add a:m"]
    assert await catalog.list_providers() == []


async def test_what_the_file_does_not_set_goes_back_to_its_default(catalog: Catalog) -> None:
    priced = {"name": "m", "context_limit": 9000, "input_price": 3, "output_price": 0}
    await apply(catalog, entry("a", priced, display_name="A"))
    assert await apply(catalog, entry("a", "m", display_name="A")) == [
        "change a:m input_price output_price"
    ]


async def test_default_of_the_file_wins_at_every_start(catalog: Catalog) -> None:
    first = {"name": "m", "context_limit": 9000, "is_default": True}
    await apply(catalog, entry("a", first, "n"))
    other = next(model for model in await catalog.list_models() if model.spec.name == "n")
    changed = await catalog.update_model(other.id, {"is_default": True})
    assert isinstance(changed, ModelInfo)
    assert await apply(catalog, entry("a", first, "n")) == ["change a:m is_default"]


async def test_entry_of_the_same_name_from_elsewhere_is_an_error(catalog: Catalog) -> None:
    made = await catalog.create_provider({"name": "a", "wire": "responses", "base_url": "http://h"})
    assert isinstance(made, ProviderInfo)
    outcome = await apply_file(catalog, [entry("new"), entry("a")])
    assert isinstance(outcome, Rejection)
    assert "provider a is in the database already, from the API or the command line" in (
        outcome.sentence
    )
    assert [provider.spec.name for provider in await catalog.list_providers()] == ["a"]
    assert await apply(catalog, entry("b")) == ["add b"]
    assert await apply(catalog) == ["remove b"]


async def test_entries_of_the_file_are_changed_in_the_file_alone(catalog: Catalog) -> None:
    await apply(catalog, entry("a", "m"))
    (model,) = await catalog.list_models()
    outcomes = [
        await catalog.update_provider("a", {"enabled": False}),
        await catalog.delete_provider("a"),
        await catalog.update_model(model.id, {"enabled": False}),
        await catalog.delete_model(model.id),
    ]
    for outcome in outcomes:
        assert isinstance(outcome, Rejection)
        assert outcome.reason is RejectionReason.CONFLICT
        assert "providers file" in outcome.sentence


async def test_mistake_in_one_entry_applies_nothing(catalog: Catalog) -> None:
    bad = {"name": "m", "context_limit": 9000, "accepts": ["smell"]}
    outcome = await apply_file(catalog, [entry("a"), entry("b", bad)])
    assert isinstance(outcome, Rejection)
    assert outcome.sentence == "b:m: accepts must be an array of any of image, pdf"
    assert await catalog.list_providers() == []


async def test_key_without_a_secret_key_is_refused(pool: Pool) -> None:
    outcome = await apply_file(Catalog(pool), [entry("a", api_key="sk-1")])
    assert isinstance(outcome, Rejection)
    assert outcome.reason is RejectionReason.SECRET_KEY_MISSING


async def test_many_replicas_may_apply_the_same_file_at_once(catalog: Catalog) -> None:
    entries = [entry("a", "m", "n", api_key="sk-1")]
    outcomes = await asyncio.gather(*(apply_file(catalog, entries) for _ in range(4)))
    assert sorted(len(done) for done in outcomes if not isinstance(done, Rejection)) == [0, 0, 0, 3]
