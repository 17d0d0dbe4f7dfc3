"""Files: bytes once, names many; linked with the message that names them; gone when nobody does."""

import asyncio
from uuid import uuid4

import pytest

from engine.chat.commands import (
    CommitStep,
    CreateChat,
    EditMessage,
    EditQueuedMessage,
    SendMessage,
)
from engine.chat.content import Content, FilePart, NewMessage, Role, TextPart
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.files import (
    CHAT_FILES_MAX,
    FileInfo,
    FileRefusal,
    FileRefusalReason,
    NewFile,
    StoredFile,
)
from engine.chat.ids import ChatId, FileId, OrganizationId
from engine.store.chat_machine import ChatMachine
from engine.store.files import FileLimits, Files
from engine.store.inbox import Inbox
from engine.store.leases import Leases
from engine.store.outcomes import Applied, Created
from engine.store.pool import Pool, open_pool
from engine.worker.housekeeping import Housekeeper
from tests.store.story import ADA, fence_of, force_running, new_chat, submit, submit_refused

TEN_MEBIBYTES = 10 * 1024 * 1024


async def put(
    files: Files, name: str = "catch.csv", data: bytes = b"cod,3\n", **options: object
) -> FileInfo:
    info = await files.put(NewFile(name=name, data=data), created_by=ADA, **options)  # type: ignore[arg-type]
    assert isinstance(info, FileInfo), info
    return info


async def put_refused(files: Files, name: str, data: bytes, media_type: str = "") -> FileRefusal:
    refusal = await files.put(NewFile(name=name, data=data, media_type=media_type))
    assert isinstance(refusal, FileRefusal), refusal
    return refusal


async def scalar(pool: Pool, sql: str, *args: object) -> object:
    async with pool.session() as connection:
        return await connection.fetchval(sql, *args)


async def count(pool: Pool, table: str) -> object:
    return await scalar(pool, f"SELECT count(*) FROM {table}")  # noqa: S608 - names of ours


async def age(pool: Pool, info: FileInfo, days: float) -> None:
    async with pool.session() as connection:
        await connection.execute(
            "UPDATE files SET created_at = now() - make_interval(hours => $2) WHERE id = $1",
            info.id,
            round(days * 24),
        )


def naming(*infos: FileInfo) -> Content:
    return (TextPart(text="look"), *(info.part for info in infos))


async def chat_with(machine: ChatMachine, *infos: FileInfo) -> ChatId:
    command = CreateChat(chat_id=ChatId(uuid4()), content=naming(*infos), author=ADA)
    created = await machine.create(command)
    assert isinstance(created, Created), created
    return created.chat_id


async def other_organization(pool: Pool) -> OrganizationId:
    organization_id = OrganizationId(uuid4())
    async with pool.session() as connection:
        await connection.execute(
            "INSERT INTO organizations (id, name) VALUES ($1, 'lighthouse')", organization_id
        )
    return organization_id


async def test_file_comes_back_byte_for_byte(pool: Pool) -> None:
    files = Files(pool)
    info = await put(files, "../../catch \x00of\u202e today.csv")
    assert (info.name, info.media_type, info.size) == ("catch of today.csv", "text/csv", 6)
    assert await files.read(info.id) == StoredFile(info=info, data=b"cod,3\n")
    assert await files.read_infos([info.id, FileId(uuid4())]) == {info.id: info}
    assert await files.read(FileId(uuid4())) is None


async def test_same_bytes_are_stored_once_under_any_name(pool: Pool) -> None:
    files = Files(pool)
    first, second = await put(files, "a.csv"), await put(files, "b.csv")
    assert first.id != second.id
    assert (await count(pool, "files"), await count(pool, "file_blobs")) == (2, 1)


async def test_same_bytes_are_not_sent_to_the_database_twice(pool: Pool) -> None:
    files = Files(pool)
    await put(files, "a.csv")
    before = pool.statement_count
    await put(files, "b.csv")
    # BEGIN, the blob is found, the file is inserted, COMMIT.
    assert pool.statement_count - before == 4


async def test_same_bytes_from_two_replicas_at_once_are_stored_once(
    pool: Pool, database_url: str
) -> None:
    other = await open_pool(database_url, connections_max=16)
    try:
        data = b"herring\n" * 100_000
        stored = await asyncio.gather(
            *(put(Files(p), f"{n}.txt", data) for n in range(8) for p in (pool, other))
        )
    finally:
        await other.close()
    assert len({info.id for info in stored}) == 16
    assert await count(pool, "file_blobs") == 1


async def test_organizations_do_not_share_bytes_or_see_each_others(pool: Pool) -> None:
    files, other = Files(pool), await other_organization(pool)
    info = await put(files)
    theirs = await put(files, organization_id=other)
    assert await count(pool, "file_blobs") == 2
    assert await files.read(theirs.id) is None
    assert await files.read_infos([info.id], organization_id=other) == {}


async def test_file_of_exactly_ten_mebibytes_is_taken_and_one_more_byte_is_not(pool: Pool) -> None:
    files = Files(pool)
    data = b"a" * TEN_MEBIBYTES
    info = await put(files, "big.txt", data)
    stored = await files.read(info.id)
    assert stored is not None
    assert stored.data == data
    refusal = await put_refused(files, "bigger.txt", data + b"a")
    assert refusal.reason is FileRefusalReason.TOO_LARGE
    assert await count(pool, "files") == 1


async def test_organization_that_is_full_keeps_nothing_more_but_names_for_what_it_has(
    pool: Pool,
) -> None:
    files = Files(pool, FileLimits(organization_bytes_max=10))
    await put(files, "a.txt", b"123456")
    await put(files, "b.txt", b"123456")
    refusal = await put_refused(files, "c.txt", b"12345")
    assert refusal.reason is FileRefusalReason.STORE_FULL
    assert "10 bytes" in refusal.detail
    await put(files, "d.txt", b"1234")
    assert await count(pool, "file_blobs") == 2


async def test_message_links_the_files_that_it_names(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool)
    first, second, third = [await put(files, f"{n}.csv") for n in range(3)]
    chat_id = await chat_with(machine, first)
    assert await files.list_of_chat(chat_id) == (first,)
    # The second one waits in the queue, and is linked all the same.
    queued = await submit(machine, chat_id, SendMessage(content=naming(second, first)))
    assert queued.queued_id is not None
    await submit(machine, chat_id, SendMessage(content=naming(third), source_key="k"))
    assert await files.list_of_chat(chat_id) == (first, second, third)


async def test_unknown_file_is_refused_before_anything_is_stored(
    pool: Pool, machine: ChatMachine
) -> None:
    files = Files(pool)
    foreign = await put(files, organization_id=await other_organization(pool))
    known = await put(files)
    chat_id = await new_chat(machine)
    gone = FilePart(name="x.csv", media_type="text/csv", size=6, file_id=FileId(uuid4()))
    for part in (gone, foreign.part):
        content = (known.part, part)
        for command in (
            SendMessage(content=content),
            EditMessage(message_id=await last_message(pool), content=content),
            EditMessage(message_id=await last_message(pool), content=content, rerun=False),
        ):
            refusal = await submit_refused(machine, chat_id, command)
            assert refusal.reason is RefusalReason.UNFIT_CONTENT
            assert str(part.file_id) in refusal.detail
        refused = await machine.create(
            CreateChat(chat_id=ChatId(uuid4()), content=content, author=ADA)
        )
        assert isinstance(refused, Refusal)
        assert refused.reason is RefusalReason.UNFIT_CONTENT
    assert await count(pool, "chats") == 1
    assert await count(pool, "chat_messages") == 1
    assert await count(pool, "chat_files") == 0


async def test_refused_message_leaves_the_version(pool: Pool, machine: ChatMachine) -> None:
    chat_id = await new_chat(machine)
    before = await scalar(pool, "SELECT snapshot_version FROM chats")
    gone = FilePart(name="x", media_type="text/csv", file_id=FileId(uuid4()))
    await submit_refused(machine, chat_id, SendMessage(content=(gone,)))
    assert await scalar(pool, "SELECT snapshot_version FROM chats") == before


async def test_message_that_was_stored_is_a_duplicate_though_its_file_is_gone(
    pool: Pool, machine: ChatMachine
) -> None:
    info = await put(Files(pool))
    chat_id = await new_chat(machine)
    command = SendMessage(content=naming(info), source_key="k1")
    await submit(machine, chat_id, command)
    async with pool.session() as connection:
        await connection.execute("DELETE FROM files")
    assert (await submit(machine, chat_id, command)).effect is Effect.DUPLICATE


async def test_step_of_a_worker_is_stored_whatever_became_of_its_files(
    pool: Pool, machine: ChatMachine
) -> None:
    chat_id = await new_chat(machine)
    worker = await force_running(pool, chat_id)
    kept = await put(Files(pool))
    gone = FilePart(name="x.csv", media_type="text/csv", file_id=FileId(uuid4()))
    step = NewMessage(role=Role.TOOL, content=(kept.part, gone))
    await submit(machine, chat_id, CommitStep(fence=fence_of(worker), messages=(step,)))
    assert await Files(pool).list_of_chat(chat_id) == (kept,)


async def test_chat_holds_fifty_files(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool)
    infos = [await put(files, f"{n}.csv") for n in range(CHAT_FILES_MAX + 1)]
    chat_id = await chat_with(machine, *infos[:CHAT_FILES_MAX])
    refusal = await submit_refused(machine, chat_id, SendMessage(content=naming(infos[-1])))
    assert refusal.reason is RefusalReason.UNFIT_CONTENT
    assert "at most 50 files" in refusal.detail
    await submit(machine, chat_id, SendMessage(content=naming(infos[0])))
    refused = await files.put(NewFile(name="x.txt", data=b"x"), chat_id=chat_id)
    assert isinstance(refused, FileRefusal)
    assert refused.reason is FileRefusalReason.TOO_MANY


@pytest.mark.parametrize("rerun", [True, False])
async def test_edit_keeps_the_links_and_adds_its_own(
    pool: Pool, machine: ChatMachine, *, rerun: bool
) -> None:
    files = Files(pool)
    first, second = await put(files, "a.csv"), await put(files, "b.csv")
    chat_id = await chat_with(machine, first)
    edit = EditMessage(message_id=await last_message(pool), content=naming(second), rerun=rerun)
    await submit(machine, chat_id, edit)
    assert await files.list_of_chat(chat_id) == (first, second)


async def test_edit_of_a_queued_message_links_its_files(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool)
    info = await put(files)
    chat_id = await new_chat(machine)
    waiting = await submit(machine, chat_id, SendMessage(content=naming()))
    assert waiting.queued_id is not None
    edit = EditQueuedMessage(queued_id=waiting.queued_id, content=naming(info))
    await submit(machine, chat_id, edit)
    assert await files.list_of_chat(chat_id) == (info,)


async def test_upload_that_nobody_sends_goes_after_a_day_and_its_bytes_with_it(
    pool: Pool, machine: ChatMachine
) -> None:
    files = Files(pool)
    sent, left, young = await put(files, "a.csv"), await put(files, "b.csv"), await put(files)
    lonely = await put(files, "lonely.txt", b"nobody")
    await chat_with(machine, sent)
    for info in (sent, left, lonely):
        await age(pool, info, 1.1)
    assert await Housekeeper(Leases(pool), Inbox(pool), files).clean_up() == 2
    known = await files.read_infos([sent.id, left.id, young.id, lonely.id])
    assert set(known) == {sent.id, young.id}
    assert await count(pool, "file_blobs") == 1


async def test_files_go_in_batches(pool: Pool) -> None:
    files = Files(pool)
    for n in range(5):
        await age(pool, await put(files, data=b"%d" % n), 2)
    assert [await files.forget_due(limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert await count(pool, "file_blobs") == 0


async def test_retention_removes_what_was_sent_too(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool, FileLimits(retention_days=7))
    old, young = await put(files, "old.csv"), await put(files, "young.csv")
    chat_id = await chat_with(machine, old, young)
    await age(pool, old, 7.1)
    await age(pool, young, 6.9)
    assert await Files(pool).forget_due() == 0
    assert await files.forget_due() == 1
    assert [info.id for info in await files.list_of_chat(chat_id)] == [young.id]
    assert await count(pool, "file_blobs") == 1


async def test_chat_that_is_deleted_frees_its_bytes(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool)
    info = await put(files)
    await chat_with(machine, info)
    await age(pool, info, 30)
    assert await files.forget_due() == 0
    async with pool.session() as connection:
        await connection.execute("DELETE FROM chat_messages")
        await connection.execute("DELETE FROM chats")
    assert await files.forget_due() == 1
    assert await count(pool, "file_blobs") == 0


async def test_file_that_is_being_sent_is_not_taken_away(pool: Pool, machine: ChatMachine) -> None:
    files = Files(pool)
    infos = [await put(files, f"{n}.csv", b"%d" % n) for n in range(12)]
    for info in infos:
        await age(pool, info, 3)

    async def send(info: FileInfo) -> tuple[FileInfo, Applied | Created | object]:
        command = CreateChat(chat_id=ChatId(uuid4()), content=naming(info), author=ADA)
        return info, await machine.create(command)

    outcomes = await asyncio.gather(
        *(send(info) for info in infos), *(files.forget_due(limit=3) for _ in range(4))
    )
    kept = {o[0].id for o in outcomes if isinstance(o, tuple) and isinstance(o[1], Created)}
    # Whoever was told that the message is stored has the file, and nobody else's bytes are left.
    assert set(await files.read_infos([info.id for info in infos])) >= kept
    while await files.forget_due():
        pass
    assert await count(pool, "files") == await count(pool, "file_blobs") == len(kept)


async def test_bytes_that_are_named_again_while_they_go_stay_readable(pool: Pool) -> None:
    files = Files(pool)
    for _ in range(10):
        await age(pool, await put(files, "old.csv"), 3)
        _, renewed = await asyncio.gather(files.forget_due(), put(files, "new.csv"))
        stored = await files.read(renewed.id)
        assert stored is not None
        assert stored.data == b"cod,3\n"


async def test_prompt_reads_whole_files_and_heads_in_one_statement(pool: Pool) -> None:
    files = Files(pool)
    whole, head = await put(files, "a.txt", b"a" * 5000), await put(files, "b.txt", b"b" * 5000)
    before = pool.statement_count
    found = await files.read_many([whole.id, FileId(uuid4())], [head.id], 100)
    assert pool.statement_count - before == 1
    assert {key: file.data for key, file in found.items()} == {
        whole.id: b"a" * 5000,
        head.id: b"b" * 100,
    }


async def last_message(pool: Pool) -> object:
    return await scalar(pool, "SELECT max(id) FROM chat_messages WHERE NOT deleted")
