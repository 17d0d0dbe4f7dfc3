"""Lists of chats: order, pages, filters, search, and what their reader has not read."""

import asyncio
import itertools
from uuid import uuid4

import pytest

from engine.chat.chat_query import ChatFilter, parse_chat_query
from engine.chat.commands import Archive, CreateChat, FinishTurn
from engine.chat.content import plain
from engine.chat.details import DetailsChange
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus
from engine.store.chat_list import ChatCursor, ChatLists, ListedChat, ListTooSlow
from engine.store.chat_machine import ChatMachine
from engine.store.details import Details
from engine.store.outcomes import Created
from engine.store.pool import Pool
from engine.store.reads import Reads
from tests.store.story import (
    ADA,
    BO,
    answer,
    fence_of,
    force_running,
    harbour,
    new_chat,
    sql,
    submit,
    waiting_chat,
)


@pytest.fixture
def lists(pool: Pool) -> ChatLists:
    return ChatLists(pool)


@pytest.fixture
def details(pool: Pool) -> Details:
    return Details(pool, lambda _change: None)


async def ids(lists: ChatLists, text: str = "", *, identity: str = "ada") -> list[ChatId]:
    """The chats that a filter finds, in order."""
    found = await lists.list_chats(parse_chat_query(text), identity=identity)
    return [listed.chat.id for listed in found]


async def pages(lists: ChatLists, size: int, wanted: ChatFilter | None = None) -> list[ChatId]:
    """All chats, page by page."""
    found: list[ListedChat] = []
    after: ChatCursor | None = None
    for _ in range(50):
        page = await lists.list_chats(
            wanted or ChatFilter(), identity="ada", after=after, limit=size
        )
        found += page
        if len(page) < size:
            return [listed.chat.id for listed in found]
        after = page[-1].cursor
    raise AssertionError(f"the pages never end: {found}")


# -- order and pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
async def test_pinned_come_first_in_their_order_and_pages_miss_and_repeat_nothing(
    machine: ChatMachine, lists: ChatLists, details: Details, size: int
) -> None:
    chats = [await new_chat(machine) for _ in range(8)]
    for place, number in enumerate((5, 0, 3), start=1):
        await details.change(chats[number], DetailsChange(pin_order=place))
    rest = [chats[number] for number in (7, 6, 4, 2, 1)]
    wanted = [chats[5], chats[0], chats[3], *rest]
    assert await ids(lists) == wanted
    assert await pages(lists, size) == wanted
    orders = [listed.chat.pin_order for listed in await lists.list_chats(ChatFilter(), identity="")]
    assert orders == [1, 2, 3, 0, 0, 0, 0, 0]


async def test_pinned_chat_that_is_filtered_out_does_not_come(
    machine: ChatMachine, lists: ChatLists, details: Details
) -> None:
    chats = [await new_chat(machine) for _ in range(3)]
    await details.change(chats[0], DetailsChange(pin_order=1))
    await details.change(chats[1], DetailsChange(labels={"a": "1"}))
    assert await ids(lists, "label:a:1") == [chats[1]]
    await submit(machine, chats[0], Archive())
    assert await ids(lists) == [chats[2], chats[1]]
    assert await ids(lists, "archived:true") == [chats[0]]
    assert await ids(lists, "archived:any") == chats[::-1]


# -- pins -----------------------------------------------------------------------------------------


async def test_moving_a_pin_changes_its_own_row_alone(
    machine: ChatMachine, lists: ChatLists, details: Details, pool: Pool
) -> None:
    chats = [await new_chat(machine) for _ in range(4)]
    for chat_id in chats:
        await details.change(chat_id, DetailsChange(pin_order=99))
    before = await sql(pool, "SELECT id, snapshot_version FROM chats ORDER BY created_at")
    await details.change(chats[3], DetailsChange(pin_order=2))
    after = await sql(pool, "SELECT id, snapshot_version FROM chats ORDER BY created_at")
    assert await ids(lists) == [chats[0], chats[3], chats[1], chats[2]]
    assert [
        b["snapshot_version"] - a["snapshot_version"] for a, b in zip(before, after, strict=True)
    ] == [0, 0, 0, 1]
    await details.change(chats[3], DetailsChange(pin_order=0))
    assert await ids(lists) == [*chats[:3], chats[3]]


async def test_there_is_always_room_between_two_pins(
    machine: ChatMachine, lists: ChatLists, details: Details
) -> None:
    chats = [await new_chat(machine) for _ in range(4)]
    for chat_id in chats:
        await details.change(chat_id, DetailsChange(pin_order=99))
    for moved in itertools.islice(itertools.cycle((chats[2], chats[3])), 130):
        await details.change(moved, DetailsChange(pin_order=2))
    assert await ids(lists) == [chats[0], chats[3], chats[2], chats[1]]


async def test_pins_that_many_move_at_once_keep_one_order(
    machine: ChatMachine, lists: ChatLists, details: Details, pool: Pool
) -> None:
    chats = [await new_chat(machine) for _ in range(6)]
    moves = [
        details.change(chats[number % 6], DetailsChange(pin_order=1 + number * 7 % 6))
        for number in range(60)
    ]
    assert all(await asyncio.gather(*moves))
    ranks = [row["pin_rank"] for row in await sql(pool, "SELECT pin_rank FROM chats")]
    assert len(set(ranks)) == 6
    found = await lists.list_chats(ChatFilter(), identity="")
    assert [listed.chat.pin_order for listed in found] == [1, 2, 3, 4, 5, 6]


# -- filters --------------------------------------------------------------------------------------


async def test_filters_find_what_they_name(
    machine: ChatMachine, lists: ChatLists, details: Details, pool: Pool
) -> None:
    bound = await new_chat(machine, binding=harbour())
    failed = await waiting_chat(machine, pool)
    await sql(pool, "UPDATE chats SET status = 'error', bot = 'robin' WHERE id = $1", failed)
    await details.change(bound, DetailsChange(title="The Über-boat 100%_"))
    await details.change(failed, DetailsChange(labels={"env": "prod", "team": "red boat"}))
    both = [failed, bound]
    for text, wanted in {
        'title:"über-BOAT"': [bound],
        "title:0%_": [bound],
        "title:x%": [],
        "bot:robin": [failed],
        "channel:slack:T1:#harbour": [bound],
        "channel:#harbour": [bound],
        "channel:T1": [],
        "status:error": [failed],
        "status:pending": [bound],
        "status:pending status:error": both,
        "label:env:prod": [failed],
        'label:env:prod label:team:"red boat"': [failed],
        "label:env:stage": [],
        "status:error bot:wren": [],
    }.items():
        assert await ids(lists, text) == wanted, text


async def test_pending_is_no_longer_pending_once_somebody_works_on_it(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    await force_running(pool, chat_id)
    assert await ids(lists, "status:pending") == []
    (listed,) = await lists.list_chats(parse_chat_query("status:running"), identity="")
    assert listed.chat.status is ShownStatus.RUNNING


# -- search ---------------------------------------------------------------------------------------


async def said(machine: ChatMachine, pool: Pool, question: str, reply: str) -> ChatId:
    """A chat with a question and a reply."""
    chat_id = await new_chat(machine, question)
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer(reply),)))
    return chat_id


async def test_what_was_said_is_found_with_the_passage_newest_chat_first(
    machine: ChatMachine, lists: ChatLists, pool: Pool, details: Details
) -> None:
    first = await said(machine, pool, "Where is the boat?", "The red boat is lost at sea.")
    second = await said(machine, pool, "boat", "No idea.")
    await said(machine, pool, "Tea?", "Coffee.")
    await details.change(first, DetailsChange(pin_order=1))
    assert await ids(lists, "search:BOAT") == [second, first]
    assert await ids(lists, "search:boat search:red") == [first]
    assert await ids(lists, 'search:"lost at sea"') == [first]
    assert await ids(lists, 'search:"sea at lost"') == []
    (listed,) = await lists.list_chats(parse_chat_query('search:"lost at sea"'), identity="")
    text = "".join(piece.text for piece in listed.snippet)
    assert "The red boat is lost at sea." in text
    assert {piece.text for piece in listed.snippet if piece.is_match} == {"lost", "at", "sea"}
    assert await pages(lists, 1, parse_chat_query("search:boat")) == [second, first]


@pytest.mark.parametrize(
    ("text", "query", "matches"),
    [
        ("Grüße aus ZÜRICH", "search:zürich", {"ZÜRICH"}),
        ("a <red> boat", "search:<red>", {"red"}),
        ("über uns", "search:ÜBER", {"über"}),
        ("Привет, Мир", "search:мир", {"Мир"}),
        ("Die Tür klemmt", 'search:"die tür"', {"Die", "Tür"}),
        ("\U0001f6a4 to the island \U0001f3dd\ufe0f now", "search:island", {"island"}),
        ('He said "aye aye", twice', 'search:"aye aye"', {"aye"}),
        ("It's <b>bold</b> & brave", "search:brave", {"brave"}),
        ("zero\x00width tail", "search:tail", {"tail"}),
        ("private \ue000 use", "search:use", {"use"}),
    ],
)
async def test_odd_text_is_found_and_shown_as_it_was(
    machine: ChatMachine, pool: Pool, text: str, query: str, matches: set[str]
) -> None:
    lists = ChatLists(pool)
    chat_id = await said(machine, pool, text, "Noted.")
    (listed,) = await lists.list_chats(parse_chat_query(query), identity="")
    assert listed.chat.id == chat_id
    assert {piece.text for piece in listed.snippet if piece.is_match} == matches
    shown = "".join(piece.text for piece in listed.snippet)
    assert shown == text


@pytest.mark.parametrize(
    "words", ["a\x00b", "& | ! ( )x", "x' OR 1=1 --", "%_x", ":* <-> x", "\\x"]
)
async def test_hostile_words_harm_nobody(
    machine: ChatMachine, lists: ChatLists, pool: Pool, words: str
) -> None:
    await said(machine, pool, "Where is the boat?", "At sea.")
    found = await lists.list_chats(ChatFilter(search=words, title=words), identity=words)
    assert found == ()


async def test_what_is_deleted_or_for_the_model_alone_is_not_found(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    chat_id = await said(machine, pool, "Where is the boat?", "The anchor holds.")
    await sql(pool, "UPDATE chat_messages SET deleted = true WHERE role = 'assistant'")
    await sql(pool, "UPDATE chat_messages SET visibility = 'model' WHERE role = 'user'")
    assert await ids(lists, "search:anchor") == []
    assert await ids(lists, "search:boat") == []
    assert await ids(lists) == [chat_id]


async def test_a_search_that_takes_too_long_is_ended_and_told(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    await said(machine, pool, "boat", "boat")
    async with pool.session() as connection, connection.transaction():
        await connection.execute("LOCK TABLE chat_messages")
        with pytest.raises(ListTooSlow):
            await lists.list_chats(ChatFilter(search="boat"), identity="", seconds_max=0.05)
    assert len(await lists.list_chats(ChatFilter(search="boat"), identity="")) == 1


# -- unread ---------------------------------------------------------------------------------------


async def test_each_reader_has_read_what_they_have_read(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    reads = Reads(pool)
    chat_id = await new_chat(machine)
    silent = await new_chat(machine)
    for reader in ("ada", "bo"):
        assert await ids(lists, "has_unread:true", identity=reader) == []
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),)))
    assert await ids(lists, "has_unread:true") == [chat_id]
    assert await reads.mark_read(chat_id, "ada")
    assert await ids(lists, "has_unread:true") == []
    assert await ids(lists, "has_unread:false") == [silent, chat_id]
    assert await ids(lists, "has_unread:true", identity="bo") == [chat_id]


async def test_a_mark_never_moves_back_and_never_beyond_what_there_is(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    reads = Reads(pool)
    chat_id = await waiting_chat(machine, pool)
    assert await reads.mark_read(chat_id, "a\x00da", MessageId(2**63 - 1))
    (row,) = await sql(pool, "SELECT message_id FROM chat_reads")
    (newest,) = await sql(pool, "SELECT max(id) AS id FROM chat_messages")
    assert row["message_id"] == newest["id"]
    await reads.mark_read(chat_id, "a\x00da", MessageId(0))
    assert await sql(pool, "SELECT message_id FROM chat_reads") == [row]
    assert await ids(lists, "has_unread:true", identity="a\x00da") == []
    assert not await reads.mark_read(ChatId(uuid4()), "ada")


async def test_what_is_deleted_or_hidden_is_not_unread(
    machine: ChatMachine, lists: ChatLists, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    await sql(pool, "UPDATE chat_messages SET visibility = 'model' WHERE role = 'assistant'")
    assert await ids(lists, "has_unread:true") == []
    await sql(
        pool,
        "UPDATE chat_messages SET visibility = 'both', deleted = true WHERE role = 'assistant'",
    )
    assert await ids(lists, "has_unread:true") == []
    assert await ids(lists) == [chat_id]


async def test_marks_of_many_streams_at_once_are_one(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    reads = Reads(pool)
    marks = [reads.mark_read(chat_id, "ada", MessageId(number)) for number in range(30)]
    assert all(await asyncio.gather(*marks))
    assert len(await sql(pool, "SELECT FROM chat_reads")) == 1


async def test_one_chat_is_seen_as_in_a_list(machine: ChatMachine, lists: ChatLists) -> None:
    chat_id = ChatId(uuid4())
    created = await machine.create(CreateChat(chat_id=chat_id, content=plain("x"), author=BO))
    assert isinstance(created, Created)
    (listed,) = await lists.list_chats(ChatFilter(), identity=ADA.identity)
    assert await lists.read_listed(chat_id, ADA.identity) == listed
    assert await lists.read_listed(ChatId(uuid4()), ADA.identity) is None
