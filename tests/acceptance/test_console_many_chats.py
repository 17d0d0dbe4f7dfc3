"""The console with many chats: titles, pins, the search box, what is unread."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.acceptance.console_server import page, serve_console, start, submit, visit
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def browser(replica: TestReplica) -> AsyncIterator[aiohttp.ClientSession]:
    async with serve_console(replica.engine) as address, visit(address) as session:
        yield session


async def test_a_chat_gets_another_title_and_a_place_at_the_top(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    first, _ = await start(browser, replica, "Where is the boat?")
    second, chat_id = await start(browser, replica, "Tea?")
    assert await submit(browser, f"{first}/details", title="Boats & <ships>", pinned="yes") == first
    shown = await page(browser, "/")
    assert "Boats &amp; &lt;ships&gt;" in shown
    assert shown.index(f'href="{first}"') < shown.index(f'href="{second}"')
    await submit(browser, f"{first}/details", pinned="no")
    shown = await page(browser, "/")
    assert shown.index(f'href="{second}"') < shown.index(f'href="{first}"')
    await submit(browser, f"{second}/archive")
    assert "archived" in await submit(browser, f"{second}/details", status=409, pinned="yes")
    assert (await replica.view(chat_id)).pinned is False


async def test_what_nobody_has_looked_at_is_unread(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, _ = await start(browser, replica)
    assert '<span class="hidden">unread</span>' in await page(browser, "/")
    await page(browser, path)
    assert '<span class="hidden">unread</span>' not in await page(browser, "/")


async def test_search_takes_words_and_filters_and_says_what_it_cannot_do(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    boat, _ = await start(browser, replica, "Where is the <red> boat?")
    tea, _ = await start(browser, replica, "Tea?")
    found = await page(browser, "/?q=red+boat")
    assert f'href="{boat}"' in found
    assert f'href="{tea}"' not in found
    assert "&lt;<mark>red</mark>&gt;" in found
    assert f'href="{tea}"' in await page(browser, "/?q=status:waiting+search:tea")
    wrong = await page(browser, "/?q=status:<busy>")
    assert "cannot be searched for" in wrong
    assert "<busy>" not in wrong
