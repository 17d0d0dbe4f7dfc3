"""Files in turns: models read what they can of people's files, tools give people files."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from engine.agent.brain import Brain
from engine.chat.commands import CreateChat, EditMessage, SendMessage
from engine.chat.content import Content, FilePart, Message, Role, TextPart
from engine.chat.files import FileInfo, NewFile
from engine.chat.ids import ChatId, FileId
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.tools.attach_file import ATTACH_FILE
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, FakeModel, SeenRequest
from tests.fakes.replica import ADA, TestReplica, brains_of, eventually, provider_at, unanswered

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@asynccontextmanager
async def replica_of(
    database_url: str,
    model: FakeModel,
    *accepts: str,
    context_limit: int | None = 128_000,
    tools: Sequence[LocalTool] = (),
) -> AsyncIterator[TestReplica]:
    """A replica whose model reads these kinds of files."""
    async with model_session() as session:
        brain = Brain(
            model=HttpModel(session, provider_at(model.url)),
            model_name="test-model",
            system="You are Wren.",
            local_tools=(ATTACH_FILE, *tools),
            context_limit=context_limit,
            accepts=frozenset(accepts),
        )
        async with TestReplica.start(database_url, model.url, brains=brains_of(brain)) as replica:
            yield replica


async def _hang(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    await asyncio.Event().wait()


HANG = LocalTool(definition=ToolDefinition(name="hang", description=""), run=_hang)


async def store(replica: TestReplica, name: str, data: bytes) -> FileInfo:
    info = await replica.engine.store_file(NewFile(name=name, data=data), by=ADA)
    assert isinstance(info, FileInfo), info
    return info


def naming(*infos: FileInfo) -> Content:
    return (TextPart(text="Look at this."), *(info.part for info in infos))


async def answered(replica: TestReplica, *infos: FileInfo) -> ChatId:
    """A chat about these files whose first message is answered."""
    chat_id = ChatId(uuid4())
    await replica.engine.create_chat(
        CreateChat(chat_id=chat_id, content=naming(*infos), author=ADA)
    )
    await replica.until(chat_id, ShownStatus.WAITING)
    return chat_id


def parts_of(request: SeenRequest) -> list[dict[str, Any]]:
    """The content of the newest message of a person, as parts."""
    content = [m["content"] for m in request.messages if m["role"] == "user"][-1]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_in(request: SeenRequest) -> str:
    return "\n".join(p["text"] for p in parts_of(request) if p["type"] == "text")


def images_in(request: SeenRequest) -> list[bytes]:
    return [
        base64.b64decode(part["image_url"]["url"].partition("base64,")[2])
        for part in parts_of(request)
        if part["type"] == "image_url"
    ]


async def test_picture_reaches_a_model_that_reads_pictures(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model, "image") as replica:
        await answered(replica, await store(replica, "harbour.png", PNG))
    assert images_in(model.streamed[0]) == [PNG]


async def test_picture_is_named_to_a_model_that_reads_none_and_its_bytes_stay(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model) as replica:
        await answered(replica, await store(replica, "harbour.png", PNG))
    assert images_in(model.streamed[0]) == []
    wanted = "[file: harbour.png (image/png); this model cannot read it]"
    assert wanted in text_in(model.streamed[0])


async def test_table_is_read_by_every_model(database_url: str, model: FakeModel) -> None:
    async with replica_of(database_url, model) as replica:
        await answered(replica, await store(replica, "catch.csv", b"cod,3\n"))
    assert "[file: catch.csv]\ncod,3\n\n[end of catch.csv]" in text_in(model.streamed[0])


async def test_long_text_is_cut_at_128_kibibytes(database_url: str, model: FakeModel) -> None:
    async with replica_of(database_url, model) as replica:
        await answered(replica, await store(replica, "log.txt", b"a" * (128 * 1024 + 1)))
    text = text_in(model.streamed[0])
    assert f"[file: log.txt]\n{'a' * 128 * 1024}\n[... the rest is cut ...]" in text


async def test_older_texts_give_way_where_the_context_is_small(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model, context_limit=1000) as replica:
        old = await store(replica, "old.txt", b"o" * 1500)
        new = await store(replica, "new.txt", b"n" * 1500)
        await answered(replica, old, new)
    text = text_in(model.streamed[0])
    assert "n" * 1500 in text
    assert "o" * 1500 not in text
    assert "[file: old.txt (text/plain); left out" in text


async def test_newest_message_comes_first_where_there_is_no_room_for_all(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model, context_limit=1000) as replica:
        chat_id = await answered(replica, await store(replica, "old.txt", b"o" * 1500))
        new = await store(replica, "new.txt", b"n" * 1500)
        await replica.do(chat_id, SendMessage(content=naming(new), author=ADA))
        await model.wait_for_requests(2)
        await replica.until(chat_id, ShownStatus.WAITING)
    assert "o" * 1500 in text_in(model.streamed[0])
    assert "n" * 1500 in text_in(model.streamed[1])
    assert "o" * 1500 not in str(model.streamed[1].messages)


async def test_file_that_has_expired_is_said_to_be_missing(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model) as replica:
        info = await store(replica, "catch.csv", b"cod,3\n")
        chat_id = await answered(replica, info)
        limits = replica.engine.files.limits
        replica.engine.files.limits = replace(limits, retention_days=7)
        async with replica.replica.pool.session() as connection:
            await connection.execute("UPDATE files SET created_at = now() - interval '8 days'")
        assert await replica.engine.files.forget_due() == 1
        await replica.send(chat_id, "And now?")
        await model.wait_for_requests(2)
        await replica.until(chat_id, ShownStatus.WAITING)
        (message, *_) = await replica.messages(chat_id)
        assert message.content == naming(info)
    said = [m["content"] for m in model.streamed[1].messages if m["role"] == "user"]
    assert "[missing-attachment] catch.csv" in str(said[0])
    assert "cod,3" not in str(said)


async def test_history_without_files_costs_no_statement(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model) as replica:
        reads = 0
        read_many = replica.engine.files.read_many

        async def counted(*args: Any) -> Any:
            nonlocal reads
            reads += 1
            return await read_many(*args)

        replica.engine.files.read_many = counted  # type: ignore[method-assign]
        chat_id = await answered(replica)
        assert reads == 0
        info = await store(replica, "catch.csv", b"cod,3\n")
        await replica.do(chat_id, SendMessage(content=naming(info), author=ADA))
        await model.wait_for_requests(2)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert reads == 1


async def test_edit_that_names_another_file_is_answered_with_it(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model) as replica:
        first = await store(replica, "a.csv", b"cod,3\n")
        second = await store(replica, "b.csv", b"eel,9\n")
        chat_id = await answered(replica, first)
        (message, *_) = await replica.messages(chat_id)
        await replica.do(chat_id, EditMessage(message_id=message.id, content=naming(second)))
        await model.wait_for_requests(2)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert set(await replica.engine.list_files(chat_id)) == {first, second}
    assert "eel,9" in text_in(model.streamed[1])
    assert "cod,3" not in str(model.streamed[1].messages)


# -- tools -----------------------------------------------------------------------------------------


def files_in(messages: Sequence[Message], role: Role) -> list[FilePart]:
    return [
        part
        for message in messages
        if message.role is role
        for part in message.content
        if isinstance(part, FilePart)
    ]


async def test_tool_gives_people_a_file_and_the_model_its_id(
    database_url: str, model: FakeModel
) -> None:
    model.call("attach_file", {"name": "catch.csv", "content": "cod,3\n"}, id="c1")
    model.say("There you are.")
    async with replica_of(database_url, model, "image") as replica:
        chat_id = await replica.chat("Write our catch down.")
        async with replica.watch(chat_id) as watcher:
            await watcher.until_status(ShownStatus.WAITING)
            shown = files_in(watcher.chat.messages, Role.TOOL)
        messages = await replica.messages(chat_id)
        (part,) = files_in(messages, Role.TOOL)
        assert shown == [part]
        (result,) = await replica.results(chat_id)
        assert result.files == ()
        assert result.result["file_id"] == str(part.file_id)
        assert (part.name, part.media_type, part.size) == ("catch.csv", "text/csv", 6)
        (info,) = await replica.engine.list_files(chat_id)
        assert info.part == part
        stored = await replica.engine.read_file(info.id)
        assert stored is not None
        assert stored.data == b"cod,3\n"
        # It is not replayed: the model has its own words for it.
        await replica.send(chat_id, "Thank you.")
        await model.wait_for_requests(3)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert unanswered(await replica.messages(chat_id)) == []
    assert model.refusals == []
    assert "[end of catch.csv]" not in str(model.streamed[2].messages)


async def test_file_that_is_refused_is_an_error_with_a_sentence(
    database_url: str, model: FakeModel
) -> None:
    args = {"name": "a.png", "content": "not a picture", "media_type": "image/png"}
    model.call("attach_file", args, id="c1")
    model.say("It did not work.")
    async with replica_of(database_url, model) as replica:
        chat_id = await replica.chat()
        await replica.until(chat_id, ShownStatus.WAITING)
        (result,) = await replica.results(chat_id)
        assert result.is_error
        assert result.result == {
            "error": "attach_file failed: The file is called image/png, but its bytes are text."
        }
        assert await replica.engine.list_files(chat_id) == ()


async def test_file_that_a_dead_worker_had_stored_is_in_the_step_that_the_next_one_stores(
    database_url: str, model: FakeModel
) -> None:
    model.script(
        [
            Call("attach_file", {"name": "a.csv", "content": "cod,3"}, id="c1"),
            Call("hang", {}, id="c2"),
        ]
    )
    model.say("There you are.")
    async with replica_of(database_url, model, tools=(HANG,)) as first:
        chat_id = await first.chat()

        async def finished() -> object:
            async with first.replica.pool.session() as connection:
                return await connection.fetchval(
                    "SELECT result IS NOT NULL FROM tool_call_ledger WHERE tool_call_id = 'c1'"
                )

        await eventually(finished)
        await first.kill()
        async with replica_of(database_url, model, tools=(HANG,)) as second:
            await second.until(chat_id, ShownStatus.WAITING)
            (part,) = files_in(await second.messages(chat_id), Role.TOOL)
            assert [info.part for info in await second.engine.list_files(chat_id)] == [part]
            assert unanswered(await second.messages(chat_id)) == []


async def test_kept_file_of_a_call_that_was_never_reported_goes_after_a_day(
    database_url: str, model: FakeModel
) -> None:
    async with replica_of(database_url, model) as replica:
        chat_id = await replica.chat()
        await replica.until(chat_id, ShownStatus.WAITING)
        kept = await replica.engine.files.put(NewFile(name="a.csv", data=b"cod"), chat_id=chat_id)
        assert isinstance(kept, FileInfo)
        async with replica.replica.pool.session() as connection:
            await connection.execute("UPDATE files SET created_at = now() - interval '25 hours'")
        assert await replica.engine.files.forget_due() == 1
        assert await replica.engine.read_file(FileId(kept.id)) is None
