"""Rotation: what a former key has sealed is sealed anew, while replicas with both keys go on."""

import asyncio

import pytest

from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.catalog_entries import ProviderInfo
from engine.store.configuration import ConfigurationVersion
from engine.store.errors import SecretKeyMissing, SecretKeyUnknown
from engine.store.pool import Pool
from engine.store.reseal import reseal
from engine.store.vault import Vault

FORMER = Secret("the key of last year, long enough too")
KEY = Secret("the key of the lighthouse, long enough")
LOST = Secret("a key that nobody remembers any more")
PEOPLE = [f"slack:T1:U{number}" for number in range(7)]


async def version_of(pool: Pool) -> int:
    return await ConfigurationVersion(pool).current()


async def fill(pool: Pool, key: Secret, name: str = "openai") -> ProviderInfo:
    catalog = Catalog(pool, Vault(key))
    made = await catalog.create_provider(
        {
            "name": name,
            "wire": "responses",
            "base_url": "https://h/v1",
            "api_key": f"sk-of-{name}",
            "headers": {"X-Team": "harbour"},
            "user_key_allowed": True,
        }
    )
    assert isinstance(made, ProviderInfo)
    for identity in PEOPLE:
        assert await catalog.set_user_key(name, identity, f"key of {identity}") is None
    return made


async def test_rotation_seals_everything_anew_in_batches(pool: Pool) -> None:
    made = await fill(pool, FORMER)
    vault = Vault(KEY, FORMER)
    done = await reseal(Catalog(pool, vault), vault, batch=2)
    assert (done.secrets, done.unopened) == (2 + len(PEOPLE), {})
    after = Catalog(pool, Vault(KEY))
    secrets = (await after.read_secrets())[made.id]
    assert secrets.api_key == Secret("sk-of-openai")
    assert secrets.headers == {"X-Team": "harbour"}
    for identity in PEOPLE:
        assert await after.read_user_key(made.id, identity) == Secret(f"key of {identity}")


async def test_rotation_again_does_nothing(pool: Pool) -> None:
    await fill(pool, FORMER)
    vault = Vault(KEY, FORMER)
    catalog = Catalog(pool, vault)
    await reseal(catalog, vault)
    version = await version_of(pool)
    assert (await reseal(catalog, vault)).secrets == 0
    assert await version_of(pool) == version


async def test_two_rotations_and_a_change_at_once_lose_nothing(pool: Pool) -> None:
    made = await fill(pool, FORMER)
    vault = Vault(KEY, FORMER)
    catalog = Catalog(pool, vault)
    await asyncio.gather(
        reseal(catalog, vault, batch=1),
        reseal(catalog, vault, batch=3),
        catalog.set_user_key("openai", PEOPLE[3], "a newer key"),
        catalog.delete_user_key("openai", PEOPLE[4]),
    )
    after = Catalog(pool, Vault(KEY))
    assert await after.read_user_key(made.id, PEOPLE[3]) == Secret("a newer key")
    assert await after.read_user_key(made.id, PEOPLE[4]) is None
    assert await after.read_user_key(made.id, PEOPLE[6]) == Secret(f"key of {PEOPLE[6]}")


async def test_what_cannot_be_opened_is_told_and_left_alone(pool: Pool) -> None:
    lost = await fill(pool, LOST, "lost")
    made = await fill(pool, FORMER)
    vault = Vault(KEY, FORMER)
    catalog = Catalog(pool, vault)
    done = await reseal(catalog, vault, batch=2)
    assert done.unopened == {Vault(LOST).key_id: 2 + len(PEOPLE)}
    assert done.secrets == 2 + len(PEOPLE)
    secrets = await catalog.read_secrets()
    assert secrets[made.id].fault is None
    assert isinstance(secrets[lost.id].fault, SecretKeyUnknown)
    with pytest.raises(SecretKeyUnknown, match=str(Vault(LOST).key_id)):
        await catalog.read_user_key(lost.id, PEOPLE[0])


async def test_without_a_key_there_is_no_rotation(pool: Pool) -> None:
    vault = Vault(None, FORMER)
    with pytest.raises(SecretKeyMissing):
        await reseal(Catalog(pool, vault), vault)
