"""Providers and models: one default always, checks as values, secrets sealed."""

import asyncio
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.catalog_entries import ModelInfo, ProviderInfo, Rejection, RejectionReason
from engine.store.configuration import ConfigurationVersion
from engine.store.pool import Pool
from engine.store.vault import Vault
from tests.store.story import sql

KEY = Secret("the key of the lighthouse, long enough")
OPENAI = {"name": "openai", "wire": "chat_completions", "base_url": "https://api.openai.com/v1"}
PLANTED = "sk-planted-key-0123456789"


async def version_of(pool: Pool) -> int:
    return await ConfigurationVersion(pool).current()


@pytest.fixture
def catalog(pool: Pool) -> Catalog:
    return Catalog(pool, Vault(KEY))


async def provider(catalog: Catalog, **fields: Any) -> ProviderInfo:
    made = await catalog.create_provider({**OPENAI, **fields})
    assert isinstance(made, ProviderInfo), made
    return made


async def model(catalog: Catalog, name: str, **fields: Any) -> ModelInfo:
    made = await catalog.create_model("openai", {"name": name, "context_limit": 2000, **fields})
    assert isinstance(made, ModelInfo), made
    return made


async def default_of(catalog: Catalog) -> list[str]:
    return [each.spec.name for each in await catalog.list_models() if each.spec.is_default]


def fields_of(outcome: object) -> list[str]:
    assert isinstance(outcome, Rejection), outcome
    return [flaw.field for flaw in outcome.flaws]


async def test_provider_and_model_come_back_as_they_were_set(catalog: Catalog) -> None:
    await provider(catalog, display_name="Open AI \ue000", options={"needs_key": False})
    made = await model(
        catalog,
        "org/m:1",
        context_limit=128_000,
        input_price=0.15,
        output_price=0,
        cache_read_price=None,
        accepts=["image"],
        options={"reasoning_effort": "low"},
        temperature=1,
    )
    (stored,) = await catalog.list_providers()
    assert stored.spec.display_name == "Open AI \ue000"
    assert stored.spec.options == {"needs_key": False}
    assert (made.reference, made.spec.input_price) == ("openai:org/m:1", Decimal("0.15"))
    assert made.spec.cache_read_price is None
    assert made.spec.accepts == ("image",)
    assert made.spec.options == {"reasoning_effort": "low"}
    assert made.spec.compaction_threshold == 70
    assert await catalog.find_model(made.id) == made


async def test_first_enabled_model_becomes_the_default(catalog: Catalog) -> None:
    await provider(catalog)
    assert not (await model(catalog, "off", enabled=False)).spec.is_default
    assert (await model(catalog, "first")).spec.is_default
    assert not (await model(catalog, "second")).spec.is_default
    assert await default_of(catalog) == ["first"]


async def test_setting_one_default_clears_the_other(catalog: Catalog) -> None:
    await provider(catalog)
    await model(catalog, "a")
    second = await model(catalog, "b")
    changed = await catalog.update_model(second.id, {"is_default": True})
    assert isinstance(changed, ModelInfo)
    assert changed.spec.is_default
    await model(catalog, "c", is_default=True)
    assert await default_of(catalog) == ["c"]


async def test_deleting_or_disabling_the_default_promotes_another(catalog: Catalog) -> None:
    await provider(catalog)
    first = await model(catalog, "a")
    second = await model(catalog, "b")
    await model(catalog, "c")
    await catalog.delete_model(first.id)
    assert await default_of(catalog) == ["b"]
    await catalog.update_model(second.id, {"enabled": False})
    assert await default_of(catalog) == ["c"]


async def test_deleting_the_provider_of_the_default_promotes_another(catalog: Catalog) -> None:
    await provider(catalog)
    await model(catalog, "a")
    await provider(catalog, name="other")
    await catalog.create_model("other", {"name": "x", "context_limit": 5000})
    await catalog.delete_provider("openai")
    assert await default_of(catalog) == ["x"]


async def test_last_model_may_be_disabled_and_is_the_default_again(catalog: Catalog) -> None:
    await provider(catalog)
    only = await model(catalog, "a")
    await catalog.update_model(only.id, {"enabled": False})
    assert await default_of(catalog) == []
    await catalog.update_model(only.id, {"enabled": True})
    assert await default_of(catalog) == ["a"]


async def test_default_is_not_taken_away_without_another(catalog: Catalog) -> None:
    await provider(catalog)
    only = await model(catalog, "a")
    assert fields_of(await catalog.update_model(only.id, {"is_default": False})) == ["is_default"]
    assert await default_of(catalog) == ["a"]


async def test_many_changes_at_once_leave_one_default(catalog: Catalog) -> None:
    await provider(catalog)
    models = [await model(catalog, f"m{number}") for number in range(4)]
    changes = [catalog.update_model(each.id, {"is_default": True}) for each in models]
    await asyncio.gather(*changes, catalog.delete_model(models[0].id), model(catalog, "new"))
    assert len(await default_of(catalog)) == 1


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"name": "Open AI"}, ["name"]),
        ({"name": "demo"}, ["name"]),
        ({"wire": "soap"}, ["wire"]),
        ({"base_url": "ftp://x"}, ["base_url"]),
        ({"base_url": "/v1"}, ["base_url"]),
        ({"base_url": "https://u:p@h/v1"}, ["base_url"]),
        ({"base_url": "https://h/v1?key=1"}, ["base_url"]),
        ({"enabled": "yes"}, ["enabled"]),
        ({"central_key_enabled": False}, ["central_key_enabled"]),
        ({"central_key_fallback": True}, ["central_key_fallback"]),
        ({"options": []}, ["options"]),
        ({"options": {"speed": 1}}, ["options"]),
        ({"options": {"silence_timeout_seconds": "x"}}, ["options"]),
        ({"api_key": ""}, ["api_key"]),
        ({"api_key": "x" * 10_241}, ["api_key"]),
        ({"api_key": "a\nb"}, ["api_key"]),
        ({"headers": {"X Y": "1"}}, ["headers"]),
        ({"headers": {"X": 1}}, ["headers.X"]),
        ({"colour": 1, "display_name": 5}, ["colour", "display_name"]),
    ],
)
async def test_provider_that_cannot_be_is_refused_with_its_fields(
    catalog: Catalog, fields: dict[str, Any], wrong: list[str]
) -> None:
    assert fields_of(await catalog.create_provider({**OPENAI, **fields})) == wrong
    assert await catalog.list_providers() == []


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"context_limit": 0}, ["context_limit"]),
        ({"context_limit": 1023}, ["context_limit"]),
        ({"context_limit": 1.5}, ["context_limit"]),
        ({"compaction_threshold": 0}, ["compaction_threshold"]),
        ({"compaction_threshold": 101}, ["compaction_threshold"]),
        ({"input_price": -0.1}, ["input_price"]),
        ({"output_price": float("nan")}, ["output_price"]),
        ({"cache_read_price": "1"}, ["cache_read_price"]),
        ({"cache_write_price": True}, ["cache_write_price"]),
        ({"input_price": 3}, ["output_price"]),
        ({"output_price": 0}, ["input_price"]),
        ({"cache_read_price": 1}, ["input_price", "output_price"]),
        ({"name": " m"}, ["name"]),
        ({"name": "m\u202e"}, ["name"]),
        ({"display_name": "\u2067m"}, ["display_name"]),
        ({"display_name": "m\x9b1m"}, ["display_name"]),
        ({"options": "x"}, ["options"]),
        ({"options": {"model": "other"}}, ["options"]),
        ({"options": {"messages": []}}, ["options"]),
        ({"options": {"stream": False}}, ["options"]),
        ({"options": {"max_tokens": 5}}, ["options"]),
        ({"options": {"api_key": "x"}}, ["options"]),
        ({"options": {"extra": [{"Authorization": "x"}]}}, ["options"]),
        ({"options": {"accessToken": "x"}}, ["options"]),
        ({"accepts": ["smell"]}, ["accepts"]),
        ({"temperature": 3}, ["temperature"]),
        ({"max_output_tokens": 2000}, ["max_output_tokens"]),
        ({"enabled": False, "is_default": True}, ["is_default"]),
    ],
)
async def test_model_that_cannot_be_is_refused_with_its_fields(
    catalog: Catalog, fields: dict[str, Any], wrong: list[str]
) -> None:
    await provider(catalog)
    plain = {"name": "m", "context_limit": 2000}
    assert fields_of(await catalog.create_model("openai", {**plain, **fields})) == wrong
    assert await catalog.list_models() == []


async def test_a_price_is_not_taken_away_from_beside_another(catalog: Catalog) -> None:
    await provider(catalog)
    priced = await model(catalog, "a", input_price=0, output_price=2)
    refused = await catalog.update_model(priced.id, {"output_price": None})
    assert fields_of(refused) == ["output_price"]
    free = await catalog.update_model(priced.id, {"input_price": None, "output_price": None})
    assert isinstance(free, ModelInfo)


async def test_options_that_providers_know_are_kept_and_secrets_are_not_quoted(
    catalog: Catalog,
) -> None:
    await provider(catalog)
    options = {
        "tools": [{"type": "web_search"}],
        "prompt_cache_key": "harbour",
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "logit_bias": {"50256": -100},
    }
    assert (await model(catalog, "a", options=options)).spec.options == options
    refused = await catalog.create_model(
        "openai", {"name": "b", "context_limit": 9000, "options": {"api_key": "sk-planted"}}
    )
    assert isinstance(refused, Rejection)
    assert "options may not hold api_key" in refused.sentence
    assert "sk-planted" not in refused.sentence


@pytest.mark.parametrize(
    ("wire", "address"),
    [
        ("chat_completions", "https://api.openai.com/v1"),
        ("responses", "https://api.openai.com/v1"),
        ("anthropic", "https://api.anthropic.com"),
    ],
)
async def test_without_an_address_the_usual_one_of_the_wire_is_taken(
    catalog: Catalog, wire: str, address: str
) -> None:
    made = await catalog.create_provider({"name": "harbour", "wire": wire})
    assert isinstance(made, ProviderInfo)
    assert made.spec.base_url == address


async def test_what_is_required_is_said_all_at_once(catalog: Catalog) -> None:
    assert fields_of(await catalog.create_provider({})) == ["name", "wire"]
    await provider(catalog)
    assert fields_of(await catalog.create_model("openai", {})) == ["name", "context_limit"]
    assert fields_of(await catalog.create_model("nobody", {})) == ["provider"]


async def test_duplicates_are_conflicts(catalog: Catalog) -> None:
    await provider(catalog)
    first = await model(catalog, "a")
    await model(catalog, "b")
    await provider(catalog, name="other")
    outcomes = [
        await catalog.create_provider(OPENAI),
        await catalog.update_provider("other", {"name": "openai"}),
        await catalog.create_model(
            "openai", {"name": "a", "context_limit": 9000, "is_default": True}
        ),
        await catalog.update_model(first.id, {"name": "b"}),
    ]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Rejection)]
    assert reasons == [RejectionReason.CONFLICT] * 4
    assert await default_of(catalog) == ["a"]


async def test_what_is_not_there_is_not_found(catalog: Catalog) -> None:
    outcomes = [
        await catalog.update_provider("x", {}),
        await catalog.delete_provider("x"),
        await catalog.update_model(uuid4(), {}),
        await catalog.delete_model(uuid4()),
        await catalog.set_user_key("x", "slack:T:U", "k"),
    ]
    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Rejection)]
    assert reasons == [RejectionReason.NOT_FOUND] * 5
    assert not await catalog.delete_user_key("x", "slack:T:U")


async def test_keys_and_headers_are_sealed_and_opened_only_for_who_asks(
    catalog: Catalog, pool: Pool
) -> None:
    made = await provider(catalog, api_key=f" {PLANTED}\n", headers={"X-Team": PLANTED})
    assert (made.has_key, made.has_headers, made.key_id) == (True, True, Vault(KEY).key_id)
    assert PLANTED not in repr(made)
    secrets = (await catalog.read_secrets())[made.id]
    assert secrets.api_key == Secret(PLANTED)
    assert secrets.headers == {"X-Team": PLANTED}
    (row,) = await sql(pool, "SELECT p::text AS text FROM model_providers AS p")
    assert PLANTED.encode().hex() not in row["text"]
    assert PLANTED not in row["text"]


async def test_key_is_taken_away_and_the_rest_stays(catalog: Catalog) -> None:
    await provider(catalog, api_key=PLANTED, headers={"X": "y"})
    changed = await catalog.update_provider("openai", {"api_key": None})
    assert isinstance(changed, ProviderInfo)
    assert (changed.has_key, changed.has_headers) == (False, True)
    changed = await catalog.update_provider("openai", {"headers": {}})
    assert isinstance(changed, ProviderInfo)
    assert not changed.has_headers


async def test_key_that_is_moved_to_another_provider_does_not_open(
    catalog: Catalog, pool: Pool
) -> None:
    await provider(catalog, api_key=PLANTED)
    thief = await provider(catalog, name="thief", api_key="another")
    await sql(
        pool,
        "UPDATE model_providers AS t SET api_key = o.api_key FROM model_providers AS o "
        "WHERE t.name = 'thief' AND o.name = 'openai'",
    )
    secrets = (await catalog.read_secrets())[thief.id]
    assert secrets.api_key is None
    assert "does not belong" in str(secrets.fault)


async def test_without_a_secret_key_no_key_is_stored(pool: Pool) -> None:
    catalog = Catalog(pool)
    outcome = await catalog.create_provider({**OPENAI, "api_key": PLANTED})
    assert isinstance(outcome, Rejection)
    assert outcome.reason is RejectionReason.SECRET_KEY_MISSING
    assert "THREADWRIGHT_SECRET_KEY" in outcome.sentence
    assert await catalog.list_providers() == []
    assert isinstance(await catalog.create_provider(OPENAI), ProviderInfo)


async def test_people_have_keys_of_their_own(catalog: Catalog, pool: Pool) -> None:
    made = await provider(catalog, user_key_allowed=True)
    assert await catalog.set_user_key("openai", "slack:T1:Uada", PLANTED) is None
    assert await catalog.set_user_key("openai", "slack:T1:Uada", PLANTED + "2") is None
    assert await catalog.read_user_key(made.id, "slack:T1:Uada") == Secret(PLANTED + "2")
    assert await catalog.read_user_key(made.id, "slack:T1:Ubo") is None
    (info,) = await catalog.list_user_keys()
    assert (info.provider, info.identity) == ("openai", "slack:T1:Uada")
    assert await catalog.providers_with_key_of("slack:T1:Uada") == {made.id}
    (row,) = await sql(pool, "SELECT k::text AS text FROM user_provider_keys AS k")
    assert PLANTED.encode().hex() not in row["text"]
    assert await catalog.delete_user_key("openai", "slack:T1:Uada")
    assert await catalog.read_user_key(made.id, "slack:T1:Uada") is None


async def test_keys_of_people_are_refused_where_none_is_allowed(catalog: Catalog) -> None:
    await provider(catalog)
    outcome = await catalog.set_user_key("openai", "slack:T1:Uada", PLANTED)
    assert isinstance(outcome, Rejection)
    assert outcome.reason is RejectionReason.CONFLICT
    assert fields_of(await catalog.set_user_key("openai", " ", "")) == ["identity", "api_key"]


async def test_every_change_raises_the_version_and_nothing_else_does(
    catalog: Catalog, pool: Pool
) -> None:
    version = await version_of(pool)
    await provider(catalog)
    await model(catalog, "a")
    changed = await version_of(pool)
    assert changed > version
    await catalog.update_provider("openai", {"display_name": ""})
    await catalog.create_provider(OPENAI)
    await catalog.delete_model(uuid4())
    assert await version_of(pool) == changed
