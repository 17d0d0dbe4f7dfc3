"""Questions in the console that not everybody may answer."""

import re

from engine.chat.view import ShownStatus
from tests.acceptance.console_server import page, serve_console, submit, visit
from tests.fakes.model_script import Call
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import ADA, TestReplica

TOOL = {
    "name": "book_boat",
    "executor": "people",
    "description": "Book a boat.",
    "outputSchema": {"type": "object", "properties": {"boat": {"enum": ["Marigold", "Petrel"]}}},
    "answerers": ["asker", "group:crew"],
}


async def test_question_for_others_says_for_whom_and_takes_no_answer(
    database_url: str, model: FakeModel
) -> None:
    """D8: an administrator's page is no way round the rule."""
    model.script([Call("book_boat", {"question": "Which boat?"})])
    async with (
        TestReplica.start(database_url, model.url) as replica,
        serve_console(replica.engine, bots=("wren",)) as address,
        visit(address) as browser,
    ):
        chat_id = await replica.chat("Book a boat", dynamic_tools=(TOOL,))
        await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
        shown = await page(browser, f"/chats/{chat_id}")
        assert f"Only {ADA.name} or members of crew may answer." in shown
        (action,) = re.findall(r'action="([^"]+/actions/\d+)"', shown)
        refused = await submit(browser, action, status=409, option="0")
        assert f"Only {ADA.name} or members of crew may answer this." in refused
        assert (await replica.view(chat_id)).status is ShownStatus.REQUIRES_ACTION
        await replica.engine.limits.add_members("crew", ["console:local"])
        await submit(browser, action, option="0")
        await replica.until(chat_id, ShownStatus.WAITING)
