"""The console without a script: pages to read, forms to send, and who may come in."""

import asyncio
import io
import re
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import aiohttp
import pytest

from adapters.console.markdown import Markdown
from engine.chat.commands import SendMessage
from engine.chat.content import plain
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from tests.acceptance.console_server import page, serve_console, start, submit, visit
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.postgres import PostgresServer
from tests.fakes.replica import ADA, PATIENCE_SECONDS, TestReplica

NOBODYS = "9f3c1d52-6a57-4c0e-9f0e-2b1c7c1b5e11"
"""A chat that nobody made. Fixed, since every worker must collect the same tests."""
FORM = {
    "name": "book_boat",
    "executor": "people",
    "description": "Book a boat.",
    "inputSchema": {"type": "object"},
    "outputSchema": {
        "type": "object",
        "properties": {
            "boat": {"type": "string", "enum": ["Marigold", "Petrel"]},
            "crew": {"type": "integer", "minimum": 1},
            "note": {"type": "string", "title": "A note"},
        },
        "required": ["boat", "crew"],
    },
}


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def address(replica: TestReplica) -> AsyncIterator[str]:
    async with serve_console(replica.engine, bots=("wren", "robin")) as served:
        yield served


@pytest.fixture
async def browser(address: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with visit(address) as session:
        yield session


# -- reading and writing ---------------------------------------------------------------------------


async def test_first_page_invites_and_lists_chats(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    empty = await page(browser, "/")
    assert "No chats here yet." in empty
    assert '<option value="robin">Robin</option>' in empty
    path, _ = await start(browser, replica, "Who sails <tonight>?")
    shown = await page(browser, "/")
    assert f'href="{path}"' in shown
    assert "Who sails &lt;tonight&gt;?" in shown


async def test_chat_is_started_read_and_gone_on_with(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.say("**Good** morning.")
    path, chat_id = await start(browser, replica)
    shown = await page(browser, path)
    assert '<p class="plain said">Good morning</p>' in shown
    assert "<p><strong>Good</strong> morning.</p>" in shown
    assert await submit(browser, f"{path}/messages", content="And now?", key="k1") == path
    await replica.until(chat_id, lambda view: view.status is ShownStatus.WAITING)
    assert ("user", "And now?") in await replica.history(chat_id)


async def test_message_that_is_sent_twice_is_there_once(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, chat_id = await start(browser, replica)
    for _ in range(2):
        await submit(browser, f"{path}/messages", content="Once", key="k1")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert (await replica.history(chat_id)).count(("user", "Once")) == 1


async def test_busy_chat_shows_its_queue_and_can_be_stopped(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.script([Say("Half"), Gate("held")])
    path = await submit(browser, "/chats", content="Good morning")
    await model.reached("held")
    for text in ("one", "two"):
        await submit(browser, f"{path}/messages", content=text)
    shown = await page(browser, path)
    assert "2 waiting" in shown
    assert '<noscript><meta http-equiv="refresh"' in shown
    one, two = re.findall(r"/queue/(\d+)/delete", shown)
    await submit(browser, f"{path}/queue/{one}/delete")
    assert "no" in await submit(browser, f"{path}/queue/{one}/delete", status=409)
    await submit(browser, f"{path}/queue/{two}/promote")
    chat_id = ChatId(UUID(path.rpartition("/")[2]))
    await replica.until(chat_id, ShownStatus.WAITING)
    shown = await page(browser, path)
    assert "Stopped here." in shown
    assert "waiting</h2>" not in shown
    assert "There is nothing to stop any more." in await submit(browser, f"{path}/stop", status=409)


async def test_message_is_edited(browser: aiohttp.ClientSession, replica: TestReplica) -> None:
    path, chat_id = await start(browser, replica)
    message = (await replica.messages(chat_id))[0]
    await submit(browser, f"{path}/messages/{message.id}", content="Good evening")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert (await replica.history(chat_id))[0] == ("user", "Good evening")


async def test_chat_is_put_away_and_taken_out(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, _ = await start(browser, replica)
    await submit(browser, f"{path}/archive")
    assert path not in await page(browser, "/")
    assert path in await page(browser, "/?archived=1")
    assert "archived" in await submit(browser, f"{path}/messages", status=409, content="Hello?")
    await submit(browser, f"{path}/unarchive")
    assert path in await page(browser, "/")


async def test_question_has_buttons_and_says_who_answered(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.script([Call("ask_people", {"question": "Tea or coffee?", "options": ["Tea", "Coffee"]})])
    path = await submit(browser, "/chats", content="Ask us")
    chat_id = ChatId(UUID(path.rpartition("/")[2]))
    await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
    shown = await page(browser, path)
    assert '<button class="button choice" name="option" value="1">Coffee</button>' in shown
    (action,) = re.findall(r'action="([^"]+/actions/\d+)"', shown)
    assert "no such option" in await submit(browser, action, status=422, option="7")
    assert "Please choose" in await submit(browser, action, status=422)
    assert "Please choose" in await submit(browser, action, status=422, option="")
    await submit(browser, action, option="1")
    assert "answered already" in await submit(browser, action, status=409, option="0")
    await replica.until(chat_id, ShownStatus.WAITING)
    shown = await page(browser, path)
    assert "answered by you" in shown
    assert "Coffee</span>" in shown


async def test_form_is_filled_in(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.script([Call("book_boat", {"question": "Which boat?"})])
    chat_id = await replica.chat("Book a boat", dynamic_tools=(FORM,))
    await replica.until(chat_id, ShownStatus.REQUIRES_ACTION)
    shown = await page(browser, f"/chats/{chat_id}")
    (action,) = re.findall(r'action="([^"]+/actions/\d+)"', shown)
    assert 'min="1' in shown
    assert "A note" in shown
    wrong = await submit(browser, action, status=422, field__crew="0", field__boat="Petrel")
    assert "Crew: This must be at least 1." in wrong
    await submit(browser, action, field__crew="2", field__boat="Petrel", field__note="")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert '"crew": 2' in str(model.streamed[-1].body["messages"]).replace("\\", "").replace(
        '"crew":2', '"crew": 2'
    )


async def test_tool_call_is_folded_with_its_result(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.script([Call("no_such_tool", {"boat": "<Marigold>"})])
    path, _ = await start(browser, replica)
    shown = await page(browser, path)
    assert "<code>no_such_tool</code>" in shown
    assert "&lt;Marigold&gt;" in shown


async def test_error_is_said_on_the_page(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.refuse(401, "Incorrect API key")
    path = await submit(browser, "/chats", content="Good morning")
    await replica.until(ChatId(UUID(path.rpartition("/")[2])), ShownStatus.ERROR)
    assert '<div class="status error">' in await page(browser, path)


async def test_long_history_is_shown_in_pages(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    chat_id = await replica.chat("first of all", title="A long talk")
    for number in range(55):
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.do(chat_id, SendMessage(content=plain(f"message {number}"), author=ADA))
    await replica.until(chat_id, ShownStatus.WAITING)
    shown = await page(browser, f"/chats/{chat_id}")
    assert "first of all" not in shown
    (earlier,) = re.findall(r'class="earlier" href="([^"]+)"', shown)
    assert "first of all" in await page(browser, f"/chats/{chat_id}{earlier}")


async def test_long_list_of_chats_is_shown_in_pages(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    ids = [str(await replica.chat("Hello", title=f"Chat {number}")) for number in range(45)]
    shown = await page(browser, "/")
    assert ids[44] in shown
    assert ids[4] not in shown
    (older,) = re.findall(r'class="older" href="([^"]+)"', shown)
    shown = await page(browser, older.replace("&amp;", "&"))
    assert ids[4] in shown
    assert ids[5] not in shown


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/chats/x", f"/chats/{NOBODYS}", f"/chats/{NOBODYS}/live"])
async def test_chat_that_is_not_there_is_not_found(
    browser: aiohttp.ClientSession, path: str
) -> None:
    async with browser.get(path) as response:
        assert response.status == 404
        assert "There is no such chat." in await response.text()


async def test_empty_message_is_refused(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    assert "write something" in await submit(browser, "/chats", status=422, content=" ")
    path, _ = await start(browser, replica)
    assert "write something" in await submit(browser, f"{path}/messages", status=409, content="")


async def test_text_comes_back_as_it_was_typed(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    text = "a\x00b <b> & \" ' \U0001f9f5 \u202e {{ 7 * 7 }}"
    _, chat_id = await start(browser, replica, text)
    assert (await replica.history(chat_id))[0] == ("user", text)


async def test_too_much_text_is_refused(browser: aiohttp.ClientSession) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    data = io.BytesIO(b"content=" + b"a" * 1_100_000)
    async with browser.post("/chats", data=data, headers=headers) as response:
        assert response.status == 413
        assert "too much" in await response.text()


@pytest.mark.parametrize("charset", ["utf-16", "no-such-thing"])
async def test_form_in_a_script_that_is_not_known_is_refused(
    browser: aiohttp.ClientSession, charset: str
) -> None:
    headers = {"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"}
    async with browser.post("/chats", data=b"content=a", headers=headers) as response:
        assert response.status == 400


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_form_that_is_packed_badly_is_refused(
    browser: aiohttp.ClientSession, coding: str
) -> None:
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Encoding": coding,
    }
    data = io.BytesIO(b"content=not packed at all")
    async with browser.post("/chats", data=data, headers=headers) as response:
        assert response.status == 400
        assert "did not arrive" in await response.text()


@pytest.mark.parametrize("after", [2**63 - 1, 2**63, 10**30, "-1", "x"])
async def test_page_that_goes_on_from_no_message_is_refused(
    browser: aiohttp.ClientSession, replica: TestReplica, after: int | str
) -> None:
    path, _ = await start(browser, replica)
    for address in (f"{path}/live?after={after}", f"{path}/messages/{after}"):
        run = browser.get if "live" in address else browser.post
        async with run(address) as response:
            assert response.status in (400, 404)
    async with browser.get(f"{path}?before={after}") as response:
        assert response.status == 200


async def test_stream_has_a_head_without_a_body(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, _ = await start(browser, replica)
    for _ in range(2):
        async with browser.head(f"{path}/live") as response:
            assert response.status == 200
            assert response.content_type == "text/event-stream"
            assert await response.read() == b""
    assert replica.engine.stream.follower_count == 0
    async with browser.head(f"/chats/{uuid4()}/live") as response:
        assert response.status == 404


async def test_form_of_another_kind_is_refused(browser: aiohttp.ClientSession) -> None:
    async with browser.post("/chats", json={"content": "x"}) as response:
        assert response.status == 415


async def test_script_is_answered_in_json(browser: aiohttp.ClientSession) -> None:
    headers = {"Accept": "application/json"}
    async with browser.post(f"/chats/{uuid4()}/stop", headers=headers) as response:
        assert (response.status, await response.json()) == (
            404,
            {"message": "There is no such chat."},
        )


async def test_database_that_is_away_is_said(
    browser: aiohttp.ClientSession, postgres: PostgresServer
) -> None:
    postgres.stop()
    async with browser.get("/") as response:
        assert response.status == 503
        assert "Nothing is lost" in await response.text()
    postgres.start()


# -- live ------------------------------------------------------------------------------------------


async def test_gone_page_frees_its_follower(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, _ = await start(browser, replica)
    async with browser.get(f"{path}/live") as response:
        await response.content.readline()
        assert replica.engine.stream.follower_count == 1
        response.close()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if replica.engine.stream.follower_count == 0:
                break
            await asyncio.sleep(0.01)


async def test_page_whose_messages_were_taken_back_begins_anew(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    path, chat_id = await start(browser, replica)
    first, last = await replica.messages(chat_id)
    await submit(browser, f"{path}/messages/{first.id}", content="Good evening")
    await replica.until(chat_id, ShownStatus.WAITING)
    async with browser.get(f"{path}/live?after={last.id}") as response:
        async for line in response.content:
            if line.startswith(b"data: "):
                assert b'"do":"reset","after":0' in line
                break
        response.close()


# -- what a page may cost ---------------------------------------------------------------------------


async def test_hostile_markdown_holds_nobody_up(
    browser: aiohttp.ClientSession,
    replica: TestReplica,
    model: FakeModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[int] = []
    laid_out = Markdown._laid_out

    def counted(markdown: Markdown, text: str) -> list[str]:
        parsed.append(len(text))
        return laid_out(markdown, text)

    monkeypatch.setattr(Markdown, "_laid_out", counted)
    model.script(*([Say("![" * 95_000)] for _ in range(5)))
    path, chat_id = await start(browser, replica)
    for number in range(4):
        await submit(browser, f"{path}/messages", content=f"More {number}")
        await replica.until(chat_id, ShownStatus.WAITING)
    shown = await page(browser, path)
    assert shown.count("![") == 5 * 95_000
    assert sum(parsed) < 50_000
