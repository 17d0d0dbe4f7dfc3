"""A real server with the console in front of a test's replica, and Chromium to look at it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import Browser, async_playwright

from adapters.console.adapter import ConsoleAdapter
from engine.api import Engine
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from tests.acceptance.api_client import serve
from tests.fakes.replica import TestReplica

CHROMIUM = os.environ.get("THREADWRIGHT_CHROMIUM", "/usr/bin/chromium")
HAS_CHROMIUM = Path(CHROMIUM).exists()
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@asynccontextmanager
async def serve_console(engine: Engine, **options: Any) -> AsyncIterator[str]:
    """Serve the console of this engine on a free port; its address. Open to this machine."""
    options = {"admin_token": None, "open_to_loopback": True, "bots": ("wren",), **options}
    console = ConsoleAdapter(engine, **options)
    application = web.Application()
    application.add_routes(console.routes())
    async with serve(application) as address:
        yield address
        console.close()


@asynccontextmanager
async def visit(address: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser without scripts: keeps cookies, follows no redirect, says where forms come from."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(address, headers=SAME_ORIGIN, cookie_jar=jar) as session:
        yield session


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Headless Chromium; the test is skipped where there is none, unless one is required."""
    if not HAS_CHROMIUM:
        if os.environ.get("THREADWRIGHT_REQUIRE_BROWSER") == "1":
            pytest.fail(f"there is no Chromium at {CHROMIUM}")
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=list(CHROMIUM_FLAGS)
        )
        try:
            yield browser
        finally:
            await browser.close()


async def page(browser: aiohttp.ClientSession, path: str) -> str:
    """A page that must be there."""
    async with browser.get(path, allow_redirects=False) as response:
        assert response.status == 200, await response.text()
        return await response.text()


async def submit(
    browser: aiohttp.ClientSession, path: str, status: int = 303, **fields: str
) -> str:
    """Send a form; where it leads, or what it says."""
    data = {name.replace("__", "."): value for name, value in fields.items()}
    async with browser.post(path, data=data, allow_redirects=False) as response:
        assert response.status == status, await response.text()
        return response.headers.get("Location") or await response.text()


async def start(
    browser: aiohttp.ClientSession, replica: TestReplica, text: str = "Good morning"
) -> tuple[str, ChatId]:
    """A chat that has been answered: its page and its id."""
    path = await submit(browser, "/chats", content=text)
    chat_id = ChatId(UUID(path.rpartition("/")[2]))
    await replica.until(chat_id, ShownStatus.WAITING)
    return path, chat_id
