"""A real server with the console in front of a test's replica, and Chromium to look at it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import Browser, async_playwright

from adapters.console.adapter import ConsoleAdapter
from engine.api import Engine
from tests.acceptance.api_client import serve

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
