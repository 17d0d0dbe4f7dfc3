"""Files in the console: people open what was sent, and an edit leaves the files where they are."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import aiohttp
import pytest

from engine.chat.commands import CreateChat
from engine.chat.content import FilePart, TextPart
from engine.chat.files import FileInfo, NewFile
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from engine.tools.attach_file import ATTACH_FILE
from tests.acceptance.console_server import page, serve_console, start, submit, visit
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import ADA, TestReplica


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url, tools=[ATTACH_FILE]) as started:
        yield started


@pytest.fixture
async def browser(replica: TestReplica) -> AsyncIterator[aiohttp.ClientSession]:
    async with serve_console(replica.engine) as address, visit(address) as session:
        yield session


async def chat_with(replica: TestReplica, name: str, data: bytes) -> tuple[ChatId, FileInfo]:
    info = await replica.engine.store_file(NewFile(name=name, data=data))
    assert isinstance(info, FileInfo)
    content = (TextPart(text="Look."), info.part)
    chat_id = ChatId(uuid4())
    await replica.engine.create_chat(CreateChat(chat_id=chat_id, content=content, author=ADA))
    await replica.until(chat_id, ShownStatus.WAITING)
    return chat_id, info


async def test_file_of_a_tool_is_linked_and_opens(
    browser: aiohttp.ClientSession, replica: TestReplica, model: FakeModel
) -> None:
    model.call("attach_file", {"name": "catch.txt", "content": "cod"}, id="c1")
    model.say("There you are.")
    path, chat_id = await start(browser, replica)
    (info,) = await replica.engine.list_files(chat_id)
    assert f'href="/files/{info.id}"' in await page(browser, path)
    async with browser.get(f"/files/{info.id}") as response:
        assert await response.read() == b"cod"
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert response.headers["Content-Disposition"].startswith("inline;")
        assert "sandbox" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Frame-Options"] == "DENY"
        assert "immutable" in response.headers["Cache-Control"]


async def test_page_among_the_files_is_not_shown(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    _, info = await chat_with(replica, "a.html", b"<script>alert(1)</script>")
    async with browser.get(f"/files/{info.id}") as response:
        assert response.headers["Content-Disposition"].startswith("attachment;")


async def test_file_that_is_not_there_is_not_found(browser: aiohttp.ClientSession) -> None:
    for name in (uuid4(), "catch.csv"):
        async with browser.get(f"/files/{name}") as response:
            assert response.status == 404
            assert "There is no such file" in await response.text()


async def test_file_is_for_those_who_have_signed_in(replica: TestReplica) -> None:
    async with (
        serve_console(replica.engine, open_to_loopback=False) as address,
        visit(address) as stranger,
        stranger.get(f"/files/{UUID(int=1)}", allow_redirects=False) as response,
    ):
        assert response.status == 303


async def test_edit_of_the_text_leaves_the_files(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    chat_id, info = await chat_with(replica, "catch.csv", b"cod,3")
    (message, *_) = await replica.messages(chat_id)
    await submit(browser, f"/chats/{chat_id}/messages/{message.id}", content="Look again.")
    await replica.until(chat_id, ShownStatus.WAITING)
    (message, *_) = await replica.messages(chat_id)
    assert message.content == (TextPart(text="Look again."), info.part)


async def test_message_whose_file_has_expired_can_still_be_edited(
    browser: aiohttp.ClientSession, replica: TestReplica
) -> None:
    chat_id, info = await chat_with(replica, "catch.csv", b"cod,3")
    async with replica.replica.pool.session() as connection:
        await connection.execute("DELETE FROM files")
    (message, *_) = await replica.messages(chat_id)
    await submit(browser, f"/chats/{chat_id}/messages/{message.id}", content="Look again.")
    await replica.until(chat_id, ShownStatus.WAITING)
    (message, *_) = await replica.messages(chat_id)
    named = FilePart(name=info.name, media_type=info.media_type, size=info.size)
    assert message.content == (TextPart(text="Look again."), named)
