"""Files that people send in Slack: what the model gets of them, and what is said of those it does not get."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from engine.chat.content import FilePart, Role
from tests.acceptance.slack_house import House, chat_of, house, until_says, until_true
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_server import FILE_DOWNLOAD, LOGIN_PAGE, FakeSlack
from tests.fakes.slack_state import Channel, FileRecord, Message

PNG = b"\x89PNG\r\n\x1a\n" + b"boat" * 20


async def parts_of(
    wren: House, slack: FakeSlack, channel: Channel, question: Message
) -> list[FilePart]:
    """The files of the first message of a thread's chat."""
    chat_id = await chat_of(wren, slack, channel, question)
    messages = await wren.engine.read_messages(chat_id)
    said = next(message for message in messages if message.role is Role.USER)
    return [part for part in said.content if isinstance(part, FilePart)]


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_every_file_of_a_message_reaches_the_model(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """B05: files are given to the model, and a message that is only files starts a run."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    files = [
        slack.file("log.txt", b"wind from the north"),
        slack.file("boat.png", PNG, mimetype="image/png"),
    ]
    async with house(slack, model, database_url, over_http=over_http) as wren:
        question = await ada.say(harbour, "<@BOT>", files=files)
        await until_says(slack, harbour, question, "All right.")
        parts = await parts_of(wren, slack, harbour, question)
        boat = await wren.engine.read_file(parts[1].file_id) if parts[1].file_id else None
    asked = str(model.streamed[0].messages)
    assert "wind from the north" in asked
    assert [part.name for part in parts] == ["log.txt", "boat.png"]
    assert boat is not None
    assert boat.data == PNG
    assert len(slack.calls(FILE_DOWNLOAD)) == 2
    assert slack.ephemerals(ada) == []


async def test_a_page_to_sign_in_at_is_not_taken_for_the_file(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B06: without the scope Slack answers 200 and HTML; the author and the model are told."""
    slack.bot.scopes.discard("files:read")
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    files = [slack.file("boat.png", PNG, mimetype="image/png"), slack.file("log.txt", b"north")]
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> look", files=files)
        await until_says(slack, harbour, question, "All right.")
        parts = await parts_of(wren, slack, harbour, question)
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
    assert [part.file_id for part in parts] == [None, None]
    assert told.plain.count("page to sign in at") == 2
    assert model.streamed[0].last_text.startswith("Ada: look\n\n(The file boat.png: Slack showed")
    assert LOGIN_PAGE not in str(model.streamed[0].messages)


@asynccontextmanager
async def elsewhere(body: bytes, content_type: str) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that is not Slack's, and what it was sent as authorization."""
    seen: list[str] = []

    async def serve(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(body=body, content_type=content_type)

    app = web.Application()
    app.router.add_get("/{rest:.*}", serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", seen
    finally:
        await runner.cleanup()


async def test_the_token_goes_nowhere_but_to_slack(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B06: a redirect arrives without the token, an address elsewhere is not asked at all."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with elsewhere(PNG, "image/png") as (origin, seen):
        moved = slack.file("moved.png", b"", mimetype="image/png")
        moved.redirect = f"{origin}/moved.png"
        moved.shown = {"size": len(PNG)}
        stolen = slack.file("stolen.png", PNG, mimetype="image/png")
        stolen.shown = {"url_private_download": f"{origin}/stolen.png"}
        async with house(slack, model, database_url) as wren:
            question = await ada.say(harbour, "<@BOT> look", files=[moved, stolen])
            await until_says(slack, harbour, question, "All right.")
            parts = await parts_of(wren, slack, harbour, question)
    assert seen == [""]
    assert [part.file_id is not None for part in parts] == [True, False]
    assert "stolen.png: it is not on a server of Slack's" in model.streamed[0].last_text


def _too_large(slack: FakeSlack) -> FileRecord:
    file = slack.file("sea.txt", b"x" * 4096)
    file.shown = {"size": 10}
    return file


def _said_to_be_too_large(slack: FakeSlack) -> FileRecord:
    return slack.file("sea.txt", b"x" * 4096)


def _deleted(slack: FakeSlack) -> FileRecord:
    file = slack.file("sea.txt", b"")
    file.in_events = {"id": file.id, "name": "sea.txt", "mode": "tombstone"}
    return file


def _external(slack: FakeSlack) -> FileRecord:
    file = slack.file("sea.txt", b"x")
    file.shown = {"is_external": True, "mode": "external", "url_private": "https://docs.example/1"}
    return file


def _unknown_type(slack: FakeSlack) -> FileRecord:
    return slack.file("sea.txt", b"PK\x03\x04\x00\x00", mimetype="application/zip")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_too_large, "larger than 2048 bytes"),
        (_said_to_be_too_large, "larger than 2048 bytes"),
        (_deleted, "it was deleted"),
        (_external, "kept outside Slack"),
        (_unknown_type, "of this kind are not taken"),
    ],
)
async def test_a_file_that_cannot_be_had_is_named_and_the_message_goes_on(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    make: object,
    why: str,
) -> None:
    """B06"""
    assert callable(make)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        wren.engine.files.limits = replace(wren.engine.files.limits, bytes_max=2048)
        question = await ada.say(harbour, "<@BOT> look", files=[make(slack)])
        await until_says(slack, harbour, question, "All right.")
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
    assert "sea.txt" in told.plain
    assert why in told.plain
    assert why in model.streamed[0].last_text
    assert "[file: sea.txt" in model.streamed[0].last_text


async def test_a_file_that_slack_only_points_at_is_asked_about(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """Slack Connect: events hold no more than an id."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    file = slack.file("chart.txt", b"rocks ahead")
    file.in_events = {"id": file.id, "file_access": "check_file_info", "mode": "file_access"}
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> look", files=[file])
        await until_says(slack, harbour, question, "All right.")
    assert "rocks ahead" in model.streamed[0].last_text
    assert "[file: chart.txt]" in model.streamed[0].last_text


async def test_more_files_than_are_taken_are_named(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    files = [slack.file(f"{name}.txt", name.encode()) for name in ("one", "two", "three")]
    async with house(slack, model, database_url, files_max=2):
        question = await ada.say(harbour, "<@BOT> look", files=files)
        await until_says(slack, harbour, question, "All right.")
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
    assert told.plain == "I could not take a file. three.txt: there were more files than I take."
    assert len(slack.calls(FILE_DOWNLOAD)) == 2


async def test_a_file_that_comes_late_is_waited_for(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D1: the download is tried again by the inbox; the message is stored and acknowledged before."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(FILE_DOWNLOAD, times=2, status=503)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> look", files=[slack.file("log.txt", b"north")])
        await slack.wait_until_settled()
        await until_says(slack, harbour, question, "All right.")
    assert "north" in model.streamed[0].last_text
    assert len(slack.calls(FILE_DOWNLOAD)) == 3
    assert len(model.streamed) == 1


async def test_a_message_goes_on_without_a_file_that_never_comes(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B06"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(FILE_DOWNLOAD, times=100, status=503)
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> look", files=[slack.file("log.txt", b"north")])
        await until_says(slack, harbour, question, "All right.")
    assert "log.txt: Slack did not send it in time" in model.streamed[0].last_text


async def test_an_edit_keeps_the_files_that_the_chat_has(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("Yes.")
    model.say("No.")
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> lok", files=[slack.file("log.txt", b"north")])
        await until_says(slack, harbour, question, "Yes.")
        await ada.edit(question, "<@BOT> look")
        await until_says(slack, harbour, question, "No.")
    assert model.streamed[1].last_text.startswith("Ada: look")
    assert "north" in model.streamed[1].last_text
    assert len(slack.calls(FILE_DOWNLOAD)) == 1


async def test_files_of_a_forwarded_message_come_along(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    chart = slack.file("chart.txt", b"rocks ahead")
    async with house(slack, model, database_url):
        theirs = await bo.say(harbour, "mind these", files=[chart])
        question = await ada.say(harbour, "<@BOT> true?", forwards=theirs)
        await until_says(slack, harbour, question, "All right.")
    asked = model.streamed[0].last_text
    assert asked.startswith("Ada: true?\n(Forwarded from Bo:)\n> mind these")
    assert "rocks ahead" in asked


async def test_a_download_holds_up_no_other_thread(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D12"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    gate = asyncio.Event()

    async def hold(_: web.Request) -> web.Response:
        await gate.wait()
        return web.Response(body=b"north", content_type="text/plain")

    app = web.Application()
    app.router.add_get("/{rest:.*}", hold)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slow = slack.file("log.txt", b"")
    slow.redirect = f"http://127.0.0.1:{runner.addresses[0][1]}/log.txt"
    slow.shown = {"size": 5}
    try:
        async with house(slack, model, database_url):
            first = await ada.say(harbour, "<@BOT> look", files=[slow])
            await until_true(lambda: slack.calls(FILE_DOWNLOAD))
            second = await ada.say(harbour, "<@BOT> hi")
            await until_says(slack, harbour, second, "All right.")
            gate.set()
            await until_says(slack, harbour, first, "All right.")
    finally:
        gate.set()
        await runner.cleanup()


@pytest.mark.parametrize("moment", ["queued", "running"])
async def test_files_of_the_second_event_join_the_message_once(
    slack: FakeSlack, model: FakeModel, database_url: str, moment: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Wait"), Gate("wait"), Say(".")])
    async with house(slack, model, database_url):
        root = await ada.say(harbour, "<@BOT> go")
        if moment == "queued":
            await model.reached("wait")
        question = await ada.say(
            harbour, "<@BOT> look", thread_ts=root.ts, files=[slack.file("log.txt", b"north")]
        )
        await slack.wait_until_settled()
        model.release("wait")
        await until_says(slack, harbour, root, "Wait.", "All right.")
        assert question.files
    assert model.streamed[-1].last_text.count("north") == 1
