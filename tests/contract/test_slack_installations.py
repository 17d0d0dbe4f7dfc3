"""What is known of installations for a moment, and the renewal of tokens: on Postgres, with Slack's OAuth."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from adapters.slack.oauth import Credentials, SlackOAuth
from adapters.slack.stored_workspaces import KNOWN_SECONDS, UNKNOWN_SECONDS, StoredWorkspaces
from adapters.slack.token_renewal import TokenRenewal
from config.secret import Secret
from engine.api import Engine
from engine.store.pool import Pool
from engine.store.vault import Vault
from engine.stream.relay_memory import MemoryRelay
from tests.fakes.slack_server import CLIENT_ID, CLIENT_SECRET, FakeSlack

BACK = "https://wren.example/slack/oauth_redirect"


@dataclass(slots=True, kw_only=True)
class Shelf:
    """One replica's view, with a clock that the test moves."""

    pool: Pool
    engine: Engine
    oauth: SlackOAuth
    session: aiohttp.ClientSession
    slack: FakeSlack
    now: float = 0.0
    renewed: int = 0

    def workspaces(self, app: str = "") -> StoredWorkspaces:
        return StoredWorkspaces(
            self.engine,
            app=app,
            api_url=self.slack.base_url,
            session=self.session,
            clock=lambda: self.now,
            spawn=_drop,
            renew=self._count,
        )

    async def install(self, team_id: str = "T1") -> None:
        self.slack.oauth.team_id = team_id
        code = self.slack.oauth.new_code(CLIENT_ID, BACK)
        await self.engine.installations.save(await self.oauth.exchange(code, BACK))

    async def end(self, installation: str = "T1") -> None:
        seen = await self.engine.installations.read("slack", installation)
        assert seen is not None
        await self.engine.installations.end(seen, "token_revoked")

    async def let_tokens_end(self) -> None:
        async with self.pool.session() as connection:
            await connection.execute(
                "UPDATE installations SET expires_at = now() - interval '1 second', "
                "refresh_at = now() - interval '2 hours'"
            )

    async def _count(self, _installation: str) -> None:
        self.renewed += 1


def _drop(courtesy: Coroutine[Any, Any, None]) -> None:
    courtesy.close()


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@pytest.fixture
async def shelf(slack: FakeSlack, pool: Pool) -> AsyncIterator[Shelf]:
    engine = Engine(pool, MemoryRelay(), vault=Vault(Secret("the key of the lighthouse")))
    credentials = Credentials(
        name="", client_id=CLIENT_ID, client_secret=Secret(CLIENT_SECRET), api_url=slack.base_url
    )
    async with aiohttp.ClientSession() as session:
        oauth = SlackOAuth(credentials, session)
        yield Shelf(pool=pool, engine=engine, oauth=oauth, session=session, slack=slack)


async def test_what_was_read_is_known_for_a_while_and_then_read_again(
    shelf: Shelf, pool: Pool
) -> None:
    await shelf.install()
    workspaces = shelf.workspaces()
    found = await workspaces.find("T1")
    assert found is not None
    before = pool.statement_count
    assert await workspaces.sent_to({"team_id": "T1"}) is found
    assert pool.statement_count == before
    await shelf.end()
    shelf.now = KNOWN_SECONDS - 0.1
    assert await workspaces.find("T1") is found
    shelf.now = KNOWN_SECONDS + 0.1
    assert await workspaces.find("T1") is None


async def test_what_was_not_found_is_looked_for_again_soon(shelf: Shelf) -> None:
    workspaces = shelf.workspaces()
    assert await workspaces.find("T1") is None
    await shelf.install()
    assert await workspaces.find("T1") is None
    shelf.now = UNKNOWN_SECONDS + 0.1
    assert await workspaces.find("T1") is not None


async def test_many_who_ask_at_once_cost_one_look(shelf: Shelf, pool: Pool) -> None:
    await shelf.install()
    workspaces = shelf.workspaces()
    before = pool.statement_count
    found = await asyncio.gather(*(workspaces.find("T1") for _ in range(50)))
    assert len({id(each) for each in found}) == 1
    assert pool.statement_count == before + 1


async def test_the_same_tokens_keep_their_client_and_the_names_it_knows(shelf: Shelf) -> None:
    await shelf.install()
    workspaces = shelf.workspaces()
    found = await workspaces.find("T1")
    shelf.now = KNOWN_SECONDS + 0.1
    assert await workspaces.find("T1") is found
    await shelf.install()
    shelf.now = 3 * KNOWN_SECONDS
    assert await workspaces.find("T1") is not found


async def test_only_so_many_workspaces_are_kept_in_memory(
    shelf: Shelf, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.stored_workspaces.WORKSPACES_MAX", 2)
    for team in ("T2", "T3"):
        shelf.slack.add_team(team)
    workspaces = shelf.workspaces()
    for team in ("T1", "T2", "T3"):
        await shelf.install(team)
        await workspaces.find(team)
    before = pool.statement_count
    await workspaces.find("T3")
    assert pool.statement_count == before
    await workspaces.find("T1")
    assert pool.statement_count == before + 1


async def test_an_installation_of_another_app_is_none_of_ours(shelf: Shelf) -> None:
    await shelf.install()
    assert await shelf.workspaces("tugboat").find("T1") is None
    assert await shelf.workspaces("tugboat").sent_to({"team_id": "T1"}) is None


async def test_a_delivery_is_never_held_up_by_a_renewal(shelf: Shelf) -> None:
    shelf.slack.oauth.rotates = True
    await shelf.install()
    await shelf.let_tokens_end()
    workspaces = shelf.workspaces()
    assert await workspaces.sent_to({"team_id": "T1"}) is not None
    assert shelf.renewed == 0
    assert await workspaces.find("T1") is not None
    assert shelf.renewed == 1


async def test_one_of_two_who_renew_at_once_asks_slack(shelf: Shelf) -> None:
    shelf.slack.oauth.rotates = True
    await shelf.install()
    await shelf.let_tokens_end()
    fault = shelf.slack.fail_next("oauth.v2.access", hang=True)
    first, second = (TokenRenewal(shelf.engine, {"": shelf.oauth}) for _ in range(2))
    renewing = asyncio.create_task(first.renew("T1"))
    await fault.reached.wait()
    assert not await second.renew("T1")
    fault.release()
    assert await renewing
    assert not await second.renew("T1")
    refreshes = [c for c in shelf.slack.calls("oauth.v2.access") if "refresh_token" in c.args]
    assert len(refreshes) == 1


async def test_what_is_installed_while_a_renewal_runs_stays(shelf: Shelf) -> None:
    shelf.slack.oauth.rotates = True
    await shelf.install()
    await shelf.let_tokens_end()
    fault = shelf.slack.fail_next("oauth.v2.access", hang=True)
    renewing = asyncio.create_task(TokenRenewal(shelf.engine, {"": shelf.oauth}).renew("T1"))
    await fault.reached.wait()
    await shelf.install()
    newest = await shelf.engine.installations.open("slack", "T1")
    fault.release()
    assert not await renewing
    kept = await shelf.engine.installations.open("slack", "T1")
    assert newest is not None
    assert kept is not None
    assert kept.token == newest.token
