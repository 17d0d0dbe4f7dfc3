"""Installations: the latest wins, tokens are sealed, and nobody replaces or ends what they have not seen."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from config.secret import Secret
from engine.store.catalog import Catalog
from engine.store.errors import SealBroken, SecretKeyMissing, SecretKeyUnknown
from engine.store.install_states import InstallStates, Return
from engine.store.installations import AppTokens, Installation, Installations, NewInstallation
from engine.store.pool import Pool
from engine.store.reseal import reseal
from engine.store.vault import Vault
from tests.store.story import sql

FORMER = Secret("the key of last year, long enough too")
KEY = Secret("the key of the lighthouse, long enough")
HALF_A_DAY = 43_200.0


def new(team: str = "T1", *, token: str = "xoxb-1", **fields: Any) -> NewInstallation:  # noqa: S107
    made = NewInstallation(
        platform="slack",
        installation=team,
        app="",
        name="Harbour",
        identity={"team_id": team, "bot_user_id": "U1", "enterprise_id": None},
        scopes=("chat:write", "users:read"),
        tokens=AppTokens(token=Secret(token)),
        installed_by="slack:T1:UADA",
    )
    return replace(made, **fields)


def rotating(number: int, seconds: float = HALF_A_DAY) -> AppTokens:
    return AppTokens(
        token=Secret(f"xoxe.xoxb-{number}"),
        refresh_token=Secret(f"xoxe-{number}"),
        lives_seconds=seconds,
    )


async def seen_in(store: Installations, team: str = "T1") -> Installation:
    found = await store.read("slack", team)
    assert found is not None
    return found


async def token_of(store: Installations, team: str = "T1") -> str | None:
    opened = await store.open("slack", team)
    return None if opened is None else opened.token.reveal()


async def test_an_installation_comes_back_as_it_was_saved(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    assert await store.save(new(app="tugboat", name="Harb\x00our")) == 1
    opened = await store.open("slack", "T1")
    assert opened is not None
    assert opened.token == Secret("xoxb-1")
    assert opened.refresh_token is None
    found = opened.installation
    assert (found.app, found.name, found.installed_by) == (
        "tugboat",
        "Harb\x00our",
        "slack:T1:UADA",
    )
    assert found.identity == {"team_id": "T1", "bot_user_id": "U1", "enterprise_id": None}
    assert found.scopes == ("chat:write", "users:read")
    assert (found.expires_at, found.is_expired, found.ended_at) == (None, False, None)
    assert await store.read("slack", "T2") is None
    assert await store.open("discord", "T1") is None


async def test_the_latest_installation_wins_and_revives_what_had_ended(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new(tokens=rotating(1)))
    assert await store.end(await seen_in(store), "token_revoked")
    assert await store.open("slack", "T1") is None
    ended = await seen_in(store)
    assert (ended.ended_why, ended.ended_at is not None) == ("token_revoked", True)
    assert await store.save(new(token="xoxb-2", name="New Harbour")) == 2
    assert await token_of(store) == "xoxb-2"
    found = await seen_in(store)
    assert (found.name, found.ended_at, found.ended_why) == ("New Harbour", None, None)
    assert (await store.due("slack", [""], 10)) == ()


async def test_nobody_ends_what_was_installed_anew_meanwhile(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new())
    seen = await seen_in(store)
    await store.save(new(token="xoxb-2"))
    assert not await store.end(seen, "token_revoked")
    assert await token_of(store) == "xoxb-2"


async def test_one_of_many_renewals_of_the_same_tokens_is_kept(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new(tokens=rotating(1)))
    seen = await seen_in(store)
    kept = await asyncio.gather(
        *(store.replace_tokens(seen, rotating(number)) for number in range(2, 8))
    )
    assert sorted(kept) == [False] * 5 + [True]
    assert (await seen_in(store)).token_version == 2
    assert await token_of(store) == f"xoxe.xoxb-{kept.index(True) + 2}"


async def test_tokens_are_due_ahead_of_their_end_and_put_off_after_a_failure(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new("T1", tokens=rotating(1)))
    await store.save(new("T2", tokens=rotating(2, seconds=0)))
    await store.save(new("T3@tugboat", app="tugboat", tokens=rotating(3, seconds=-1)))
    await store.save(new("T4", token="xoxb-that-lives-for-ever"))
    assert await store.due("slack", ["", "tugboat"], 10) == ("T3@tugboat", "T2")
    assert await store.due("slack", [""], 10) == ("T2",)
    seen = await seen_in(store, "T2")
    assert (seen.is_expired, seen.is_due) == (True, True)
    assert await store.put_off(seen, 60, trouble="invalid_refresh_token")
    assert await store.due("slack", [""], 10) == ()
    left = await store.open("slack", "T2")
    assert left is not None
    assert left.refresh_token == Secret("xoxe-2")
    assert not left.installation.is_due
    assert left.installation.trouble == "invalid_refresh_token"
    assert await store.replace_tokens(seen, rotating(4))
    assert (await seen_in(store, "T2")).trouble is None
    assert not await store.put_off(seen, 60)
    (row,) = await sql(
        pool,
        "SELECT extract(epoch FROM expires_at - refresh_at) AS ahead FROM installations "
        "WHERE installation = 'T1'",
    )
    assert float(row["ahead"]) == pytest.approx(7200, abs=1)


async def test_tokens_are_sealed_for_their_place(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new("T1", tokens=rotating(1)))
    await store.save(new("T2", tokens=rotating(2)))
    (row,) = await sql(pool, "SELECT string_agg(i::text, '') AS said FROM installations AS i")
    assert b"xoxe".hex() not in row["said"]
    assert "xoxe" not in row["said"]
    await sql(
        pool,
        "UPDATE installations AS i SET token = o.token FROM installations AS o "
        "WHERE i.installation = 'T1' AND o.installation = 'T2'",
    )
    with pytest.raises(SealBroken):
        await store.open("slack", "T1")
    with pytest.raises(SecretKeyUnknown):
        await Installations(pool, Vault(FORMER)).open("slack", "T2")
    with pytest.raises(SecretKeyMissing):
        await Installations(pool, Vault()).save(new("T3"))


async def test_rotation_of_the_secret_key_seals_tokens_anew(pool: Pool) -> None:
    former = Installations(pool, Vault(FORMER))
    for number in range(5):
        await former.save(new(f"T{number}", tokens=rotating(number)))
    await former.save(new("T9", token="xoxb-9"))
    before = await seen_in(former)
    vault = Vault(KEY, FORMER)
    done = await reseal(Catalog(pool, vault), vault, batch=2)
    assert (done.secrets, done.unopened) == (11, {})
    after = Installations(pool, Vault(KEY))
    opened = await after.open("slack", "T4")
    assert opened is not None
    assert (opened.token, opened.refresh_token) == (Secret("xoxe.xoxb-4"), Secret("xoxe-4"))
    assert await token_of(after, "T9") == "xoxb-9"
    assert (await seen_in(after)).token_version == before.token_version
    assert (await reseal(Catalog(pool, vault), vault)).secrets == 0


async def test_a_token_that_cannot_be_opened_is_left_alone_by_a_rotation(pool: Pool) -> None:
    store = Installations(pool, Vault(FORMER))
    await store.save(new(tokens=rotating(1)))
    vault = Vault(KEY)
    done = await reseal(Catalog(pool, vault), vault)
    assert (done.secrets, done.unopened) == (0, {Vault(FORMER).key_id: 2})
    assert await token_of(store) == "xoxe.xoxb-1"


async def test_what_is_removed_is_gone_with_its_tokens(pool: Pool) -> None:
    store = Installations(pool, Vault(KEY))
    await store.save(new("T2", name="Zebra"))
    await store.save(new("T1", name="Anchor"))
    assert [each.name for each in await store.list_all("slack")] == ["Anchor", "Zebra"]
    assert await store.remove("slack", "T1")
    assert not await store.remove("slack", "T1")
    assert [each.installation for each in await store.list_all("slack")] == ["T2"]


async def test_a_state_comes_back_once_to_the_browser_that_began(pool: Pool) -> None:
    states = InstallStates(pool)
    state = await states.begin("slack", "", "browser")
    assert await states.take("slack", "tugboat", state, "browser") is Return.UNKNOWN
    taken = await asyncio.gather(*(states.take("slack", "", state, "browser") for _ in range(5)))
    assert sorted(taken) == [Return.FINE, *[Return.UNKNOWN] * 4]
    other = await states.begin("slack", "", "browser")
    assert await states.take("slack", "", other, "another") is Return.OTHER_BROWSER
    assert await states.take("slack", "", other, "browser") is Return.UNKNOWN
    assert await states.take("slack", "", "\ud800\x00", "browser") is Return.UNKNOWN


async def test_a_state_runs_out_and_is_cleared_away(pool: Pool) -> None:
    states = InstallStates(pool)
    late = await states.begin("slack", "", "browser")
    await states.begin("slack", "", "browser")
    await sql(pool, "UPDATE install_states SET expires_at = now() - interval '1 second'")
    assert await states.take("slack", "", late, "browser") is Return.UNKNOWN
    await states.begin("slack", "", "browser")
    (row,) = await sql(pool, "SELECT count(*) AS left FROM install_states")
    assert row["left"] == 1
