"""Reading chats: pages, lists, and reads that continue what a reader knows."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from engine.chat.changes import NOTHING_KNOWN
from engine.chat.commands import CreateChat, DeleteQueuedMessage, EditMessage, SendMessage
from engine.chat.content import Role, Visibility, plain, text_of
from engine.chat.ids import ChatId, MessageId
from engine.store.chat_machine import ChatMachine
from engine.store.pool import Pool
from engine.store.rows import ChatRows, MessageRef, QueuedRef
from tests.store.story import (
    ADA,
    ask_people,
    force_running,
    history,
    new_chat,
    sql,
    submit,
    waiting_chat,
)

FIRST = MessageId(0)
TOMORROW = datetime.now(UTC) + timedelta(days=1)


async def test_unknown_chat_reads_as_none_or_nothing(pool: Pool) -> None:
    rows, nobody = ChatRows(pool), ChatId(uuid4())

    assert await rows.read_chat(nobody) is None
    assert await rows.read_sync(nobody, NOTHING_KNOWN, FIRST) is None
    assert await rows.read_prompt(nobody) is None
    assert await rows.versions_of([nobody]) == []
    assert await rows.read_messages(nobody) == ()
    assert await rows.read_queue(nobody) == ()
    assert await rows.read_actions(nobody) == ()
    assert await rows.find_by_source(nobody, "1.0") is None


async def test_chat_is_read_as_it_was_created(machine: ChatMachine, pool: Pool) -> None:
    command = CreateChat(
        chat_id=ChatId(uuid4()),
        content=plain("hello"),
        author=ADA,
        bot="wren",
        title="Harbour",
        model="demo",
        labels={"team": "harbour"},
    )
    await machine.create(command)

    chat = await ChatRows(pool).read_chat(command.chat_id)

    assert chat is not None
    assert (chat.bot, chat.title, chat.model, chat.owner, chat.labels) == (
        "wren",
        "Harbour",
        "demo",
        ADA,
        {"team": "harbour"},
    )
    assert (chat.status, chat.versions.snapshot_version) == ("pending", 1)
    assert chat.created_at.utcoffset() == timedelta(0)


async def test_first_read_has_all_after_what_the_reader_has(
    machine: ChatMachine, pool: Pool
) -> None:
    """E29 (store part)"""
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    await submit(machine, chat_id, SendMessage(content=plain("and?")))
    messages = await history(pool, chat_id)

    whole = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    rest = await rows.read_sync(chat_id, NOTHING_KNOWN, messages[1].id)

    assert whole is not None
    assert rest is not None
    assert whole.messages == messages
    assert rest.messages == messages[2:]
    assert whole.queue == ()
    assert whole.chat == await rows.read_chat(chat_id)


async def test_next_read_has_only_what_changed(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    known = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    assert known is not None

    nothing = await rows.read_sync(chat_id, known.chat.versions, FIRST)
    await submit(machine, chat_id, SendMessage(content=plain("and?")))
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, SendMessage(content=plain("queued")))
    news = await rows.read_sync(chat_id, known.chat.versions, FIRST)

    assert nothing is not None
    assert news is not None
    assert (nothing.messages, nothing.queue, nothing.actions) == ((), None, ())
    assert [text_of(m.content) for m in news.messages] == ["and?"]
    assert news.queue is not None
    assert [text_of(m.content) for m in news.queue] == ["queued"]
    assert news.chat.versions.generation_attempt == held.change.generation_attempt


async def test_next_read_tells_of_deleted_messages(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    known = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    assert known is not None
    first, said = known.messages

    edit = EditMessage(message_id=first.id, content=plain("hi!"))
    edited = await submit(machine, chat_id, edit)

    news = await rows.read_sync(chat_id, known.chat.versions, FIRST)
    assert news is not None
    assert [(m.id, m.deleted) for m in news.messages] == [
        (first.id, True),
        (said.id, True),
        (edited.message_ids[0], False),
    ]
    again = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    assert again is not None
    assert [m.id for m in again.messages] == list(edited.message_ids)


async def test_emptied_queue_is_news(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    queued = await submit(machine, chat_id, SendMessage(content=plain("no")))
    known = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    assert known is not None
    assert queued.queued_id is not None

    await submit(machine, chat_id, DeleteQueuedMessage(queued_id=queued.queued_id))

    news = await rows.read_sync(chat_id, known.chat.versions, FIRST)
    assert news is not None
    assert news.queue == ()


async def test_open_actions_are_in_every_read(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    asked = await ask_people(machine, pool, chat_id, "b", "a", deadline=TOMORROW)

    read = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)

    assert read is not None
    assert tuple(action.id for action in read.actions) == asked.action_ids
    assert read.actions == await rows.read_actions(chat_id)
    assert read.chat.status == "requires_action"


async def test_pages_of_messages_meet_without_gap_or_overlap(
    machine: ChatMachine, pool: Pool
) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    insert = """
        INSERT INTO chat_messages (chat_id, organization_id, role, content)
        SELECT c.id, c.organization_id, 'assistant', '[]' FROM chats AS c, generate_series(1, 20)
        WHERE c.id = $1
    """
    await sql(pool, insert, chat_id)
    everything = await rows.read_messages(chat_id, audience=None)

    newest = await rows.read_messages(chat_id, limit=5)
    older = await rows.read_messages(chat_id, before=newest[0].id, limit=5)
    newer = await rows.read_messages(chat_id, after=older[-1].id, limit=5)

    assert len(everything) == 21
    assert newest == newer == everything[-5:]
    assert older == everything[-10:-5]
    assert await rows.read_messages(chat_id, after=FIRST, limit=3) == everything[:3]


async def test_each_audience_reads_what_is_for_it(machine: ChatMachine, pool: Pool) -> None:
    rows = ChatRows(pool)
    chat_id = ChatId(uuid4())
    command = CreateChat(chat_id=chat_id, content=plain("hello"), system_prompt="Be Wren.")
    await machine.create(command)

    people = await rows.read_messages(chat_id)
    model = await rows.read_messages(chat_id, audience=Visibility.MODEL)

    assert [text_of(m.content) for m in people] == ["hello"]
    assert [text_of(m.content) for m in model] == ["Be Wren.", "hello"]
    read = await rows.read_sync(chat_id, NOTHING_KNOWN, FIRST)
    assert read is not None
    assert read.messages == people


async def test_message_is_found_by_its_source_in_history_and_queue(
    machine: ChatMachine, pool: Pool
) -> None:
    """D11 (store part)"""
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    second = SendMessage(content=plain("second"), source_key="2.0")
    sent = await submit(machine, chat_id, second)
    queued = await submit(machine, chat_id, SendMessage(content=plain("third"), source_key="3.0"))

    first = await rows.find_by_source(chat_id, "1.0")
    assert isinstance(first, MessageRef)
    assert not first.is_last_user_message
    assert await rows.find_by_source(chat_id, "2.0") == MessageRef(
        message_id=sent.message_ids[0], role=Role.USER, is_last_user_message=True
    )
    assert queued.queued_id is not None
    assert await rows.find_by_source(chat_id, "3.0") == QueuedRef(queued_id=queued.queued_id)

    edit = EditMessage(message_id=first.message_id, content=plain("first"))
    edited = await submit(machine, chat_id, edit)
    found = await rows.find_by_source(chat_id, "1.0")
    assert isinstance(found, MessageRef)
    assert found.message_id == edited.message_ids[0]
    assert await rows.find_by_source(chat_id, "2.0") is None
