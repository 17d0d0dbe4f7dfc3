"""Chats by the people and the threads of a platform, and threads by the messages that were posted in them."""

from uuid import uuid4

from engine.chat.commands import Archive, CreateChat
from engine.chat.content import Author, plain
from engine.chat.ids import ChatId
from engine.store.bindings import Bindings
from engine.store.chat_machine import ChatMachine
from engine.store.deliveries import Deliveries
from engine.store.pool import Pool
from engine.store.receipts import Receipts
from engine.store.thread_chats import ThreadChatCursor, ThreadChats
from tests.store.story import ADA, BO, harbour, new_chat

SLACK = ("slack", "T1")


async def test_chats_of_a_person_are_listed_newest_first_in_pages(
    pool: Pool, machine: ChatMachine
) -> None:
    chats = ThreadChats(pool)
    made = [await new_chat(machine, binding=harbour(thread=f"{n}.0")) for n in range(3)]
    bos = CreateChat(
        chat_id=ChatId(uuid4()), content=plain("hi"), author=BO, binding=harbour(thread="9.0")
    )
    await machine.create(bos)
    first = await chats.of_owner(*SLACK, ADA.identity, limit=2)
    assert [each.chat.id for each in first] == [made[2], made[1]]
    last = first[-1].chat
    cursor = ThreadChatCursor(created_at=last.created_at, chat_id=last.id)
    rest = await chats.of_owner(*SLACK, ADA.identity, after=cursor)
    assert [each.chat.id for each in rest] == [made[0]]
    assert rest[0].thread == "0.0"


async def test_chats_of_other_channels_installations_and_put_away_ones_are_left_out(
    pool: Pool, machine: ChatMachine
) -> None:
    chats = ThreadChats(pool)
    kept = await new_chat(machine, binding=harbour())
    gone = await new_chat(machine, binding=harbour(thread="2.0"))
    await machine.submit(gone, Archive())
    found = await chats.of_owner(*SLACK, ADA.identity, channel="#harbour")
    assert [each.chat.id for each in found] == [kept]
    assert not await chats.of_owner(*SLACK, ADA.identity, channel="#quay")
    assert not await chats.of_owner("slack", "T2", ADA.identity)
    assert not await chats.of_owner(*SLACK, Author(identity="\x00", name="").identity)


async def test_channels_are_listed_with_their_chats(pool: Pool, machine: ChatMachine) -> None:
    await new_chat(machine, binding=harbour())
    await new_chat(machine, binding=harbour(thread="2.0"))
    (channel,) = await ThreadChats(pool).channels(*SLACK)
    assert (channel.channel, channel.chats, channel.open_chats) == ("#harbour", 2, 2)
    assert await ThreadChats(pool).channels("slack", "T2") == ()


async def test_the_ledger_knows_which_thread_a_message_of_ours_is_in(
    pool: Pool, machine: ChatMachine
) -> None:
    chat_id = await new_chat(machine, binding=harbour())
    (delivery,) = await Deliveries(pool).claim_due("slack", uuid4(), 1, 30.0)
    receipts, bindings = Receipts(pool), Bindings(pool)
    await receipts.put_delivered(
        delivery.id, delivery.fence, "reply:1", 0, platform_message_id="5.0", content_hash="x"
    )
    found = await bindings.find_by_page(*SLACK, "#harbour", "5.0")
    assert found is not None
    assert found.chat_id == chat_id
    # Timestamps are unique within a channel only.
    assert await bindings.find_by_page(*SLACK, "#quay", "5.0") is None
    assert await bindings.find_by_page("slack", "T2", "#harbour", "5.0") is None
    assert await bindings.find_by_page(*SLACK, "#harbour", "6.0") is None
