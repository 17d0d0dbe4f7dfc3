"""Takes the picture of the console for the README: `python -m tests.acceptance.console_picture`.

Real parts throughout; only the model is scripted.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from engine.chat.view import ShownStatus
from engine.store.migrate import migrate
from engine.store.pool import open_pool
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.acceptance.console_server import chromium, serve_console
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.postgres import PostgresServer
from tests.fakes.replica import TestReplica

PICTURE = Path(__file__).parents[2] / "docs" / "console.png"
OTHERS = (
    "Why did the nightly build fail?",
    "Draft the note for Friday's release",
    "Which boats are due for service?",
    "Sum up last night at the lighthouse",
)
HELD = "Compare the two tide tables"
TITLE = "Fog is coming. Who is still out?"
OPTIONS = ["I call them now", "Harbour master", "Let them fish until four"]
QUESTION = "The fog comes in at five. Who tells the crews to stay in?"
TABLE = """Three boats are still out, and all can be back before the fog:

| boat | berth | back at | crew |
|:---|---:|---:|:---|
| *Marigold* | 3 | 16:10 | Ada, Bo |
| *Petrel* | 7 | 16:35 | Kim |
| *Old Anna* | 12 | 16:50 | Ines, Lou |

Calling them in now costs about **two hours** of fishing."""


async def read_log(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    return {"out": ["Marigold", "Petrel", "Old Anna"]}


HARBOUR_LOG = LocalTool(
    definition=ToolDefinition(name="harbour_log", description="Who is out.", read_only=True),
    run=read_log,
)


async def main() -> None:
    """Start everything, take the pictures, stop everything."""
    server = PostgresServer()
    try:
        server.start()
        server.make_template(migrate_template)
        async with (
            FakeModel.start() as model,
            TestReplica.start(
                server.url(server.create_database()), model.url, tools=(HARBOUR_LOG,)
            ) as replica,
            serve_console(replica.engine) as address,
            chromium() as browser,
        ):
            await prepare(replica, model)
            await take(browser, address, model)
    finally:
        server.close()


def migrate_template(url: str) -> None:
    """Bring the template up to date, from a thread that has no loop of its own yet."""

    async def fill() -> None:
        pool = await open_pool(url, connections_max=1)
        await migrate(pool)
        await pool.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, fill()).result()


async def prepare(replica: TestReplica, model: FakeModel) -> None:
    """Chats to list, one of which is still being answered."""
    for title in OTHERS:
        chat_id = await replica.chat(title, title=title, bot="wren")
        await replica.until(chat_id, ShownStatus.WAITING)
    model.script([Say("The build failed while "), Gate("held")])
    await replica.chat(HELD, title=HELD, bot="wren")
    await model.reached("held")


async def take(browser: Browser, address: str, model: FakeModel) -> None:
    """Talk until the agent asks, and take the picture."""
    model.script(
        [Call("harbour_log", {"state": "out"})],
        [Say(TABLE), Call("ask_people", {"question": QUESTION, "options": OPTIONS})],
    )
    context = await browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme="light", locale="en-GB"
    )
    page = await context.new_page()
    await page.goto(address)
    await page.fill("#text", TITLE)
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".question.open .choice")
    await page.wait_for_selector(".row[aria-current] .requires_action")
    await page.mouse.move(640, 20)
    await page.screenshot(path=PICTURE)


if __name__ == "__main__":
    asyncio.run(main())
