"""Bindings, deliveries and receipts: one owner, nothing missed, late writes refused."""

import asyncio
from uuid import UUID, uuid4

import pytest

from engine.chat.commands import SendMessage
from engine.chat.content import plain
from engine.chat.ids import ChatId, MessageId
from engine.store.bindings import Bindings
from engine.store.chat_machine import ChatMachine
from engine.store.deliveries import Deliveries, Delivery
from engine.store.pool import Pool, Transaction
from engine.store.receipts import Receipts, ReceiptState
from tests.store.story import force_running, harbour, new_chat, sql, submit

SECONDS = 30.0
ADAS, BOS = uuid4(), uuid4()
NOTHING = MessageId(0)


@pytest.fixture
def deliveries(pool: Pool) -> Deliveries:
    return Deliveries(pool)


@pytest.fixture
async def chat_id(machine: ChatMachine) -> ChatId:
    return await new_chat(machine, binding=harbour())


async def claim(deliveries: Deliveries, owner: UUID = ADAS) -> list[Delivery]:
    return list(await deliveries.claim_due("slack", owner, 10, SECONDS))


async def run_out(pool: Pool) -> None:
    await sql(pool, "UPDATE deliveries SET lease_until = now()")


# -- bindings ------------------------------------------------------------------------------------


async def test_chat_created_in_a_thread_is_bound_to_it(pool: Pool, chat_id: ChatId) -> None:
    bindings = Bindings(pool)

    found = await bindings.find_binding("slack", "T1", "#harbour", "1.0")

    assert found is not None
    assert (found.chat_id, found.thread, found.bot) == (chat_id, harbour(), "wren")
    assert await bindings.find_binding("slack", "T1", "#lighthouse", "1.0") is None
    assert await bindings.bindings_of(chat_id) == (found,)


async def test_existing_chat_can_be_shown_elsewhere_and_a_thread_keeps_its_chat(
    machine: ChatMachine, pool: Pool, deliveries: Deliveries, chat_id: ChatId
) -> None:
    bindings = Bindings(pool)
    other = await new_chat(machine)

    bound = await bindings.bind(harbour("2.0"), chat_id, "wren")
    taken = await bindings.bind(harbour("2.0"), other, "wren")

    assert bound == taken
    assert bound.chat_id == chat_id
    assert [d.thread.thread for d in await claim(deliveries)] == ["1.0", "2.0"]


async def test_how_far_a_thread_was_read_is_kept(pool: Pool, chat_id: ChatId) -> None:
    bindings = Bindings(pool)
    (binding,) = await bindings.bindings_of(chat_id)

    assert await bindings.set_last_seen(binding.id, "17.5")

    (binding,) = await bindings.bindings_of(chat_id)
    assert binding.last_seen == "17.5"
    assert not await bindings.set_last_seen(10**12, "17.5")


# -- deliveries ----------------------------------------------------------------------------------


async def test_new_chat_is_due_at_once(deliveries: Deliveries, chat_id: ChatId) -> None:
    (due,) = await claim(deliveries)

    assert (due.chat_id, due.thread, due.fence, due.settled_version) == (chat_id, harbour(), 1, 0)
    assert await deliveries.claim_due("discord", ADAS, 10, SECONDS) == ()


async def test_ten_pumps_claim_a_delivery_once(deliveries: Deliveries, chat_id: ChatId) -> None:
    claims = await asyncio.gather(*(claim(deliveries, uuid4()) for _ in range(10)))

    assert [d.chat_id for some in claims for d in some] == [chat_id]


async def test_settled_delivery_is_due_again_after_the_next_change(
    machine: ChatMachine, pool: Pool, deliveries: Deliveries, chat_id: ChatId
) -> None:
    (due,) = await claim(deliveries)
    assert await deliveries.settle(due.id, due.fence, 1, MessageId(5)) is False
    assert await claim(deliveries) == []

    await submit(machine, chat_id, SendMessage(content=plain("and?")))

    (again,) = await claim(deliveries, BOS)
    assert (again.fence, again.settled_version, again.settled_message_id) == (2, 1, 5)
    await force_running(pool, chat_id)
    assert await deliveries.settle(again.id, again.fence, 2, MessageId(5)) is True
    assert len(await claim(deliveries)) == 1


async def test_change_committed_while_settling_is_never_missed(
    machine: ChatMachine, pool: Pool, deliveries: Deliveries, chat_id: ChatId,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The settling waits for a commit that is on its way, and sees it."""
    (due,) = await claim(deliveries)
    loaded, may_commit = asyncio.Event(), asyncio.Event()
    end = Transaction.end

    async def end_when_told(self: Transaction) -> None:
        loaded.set()
        await may_commit.wait()
        await end(self)

    monkeypatch.setattr(Transaction, "end", end_when_told)
    sending = asyncio.ensure_future(machine.submit(chat_id, SendMessage(content=plain("just now"))))
    await loaded.wait()
    settling = asyncio.ensure_future(deliveries.settle(due.id, due.fence, 1, NOTHING))
    async with asyncio.timeout(10):
        while not await sql(pool, "SELECT 1 FROM pg_locks WHERE NOT granted"):
            pass
    may_commit.set()
    await sending

    assert await settling is True
    assert len(await claim(deliveries)) == 1


async def test_owner_that_was_succeeded_can_settle_nothing(
    pool: Pool, deliveries: Deliveries, chat_id: ChatId
) -> None:
    """D3 (store part)"""
    (mine,) = await claim(deliveries, ADAS)
    assert await claim(deliveries, BOS) == []
    await run_out(pool)
    (heir,) = await claim(deliveries, BOS)

    assert heir.fence == mine.fence + 1
    assert heir.chat_id == chat_id
    assert await deliveries.settle(mine.id, mine.fence, 1, NOTHING) is None
    assert not await deliveries.fail(mine.id, mine.fence, "late", 0)
    assert not await deliveries.release(mine.id, mine.fence)
    assert await deliveries.renew([mine.id], ADAS, SECONDS) == frozenset()
    assert await deliveries.renew([mine.id], BOS, SECONDS) == {mine.id}
    assert await deliveries.settle(heir.id, heir.fence, 1, NOTHING) is False


@pytest.mark.usefixtures("chat_id")
async def test_failed_delivery_is_tried_again_in_time(pool: Pool, deliveries: Deliveries) -> None:
    (due,) = await claim(deliveries)

    assert await deliveries.fail(due.id, due.fence, "rate_limited", 3600)

    assert await claim(deliveries) == []
    (failing,) = await deliveries.failing()
    assert (failing.attempts, failing.last_error) == (1, "rate_limited")
    await sql(pool, "UPDATE deliveries SET retry_at = now()")
    (again,) = await claim(deliveries)
    assert again.attempts == 1
    assert await deliveries.settle(again.id, again.fence, 1, NOTHING) is False
    assert await deliveries.failing() == ()


@pytest.mark.usefixtures("chat_id")
async def test_released_delivery_is_claimed_at_once(deliveries: Deliveries) -> None:
    (due,) = await claim(deliveries, ADAS)

    assert await deliveries.release(due.id, due.fence)

    assert len(await claim(deliveries, BOS)) == 1


async def test_owner_may_keep_what_it_has_settled(
    machine: ChatMachine, deliveries: Deliveries, chat_id: ChatId
) -> None:
    (due,) = await claim(deliveries, ADAS)
    settled = await deliveries.settle(due.id, due.fence, 1, NOTHING, keeps_lease=True)
    assert settled is False

    await submit(machine, chat_id, SendMessage(content=plain("and?")))

    assert await claim(deliveries, BOS) == []
    assert await deliveries.settle(due.id, due.fence, 2, NOTHING) is False


# -- receipts ------------------------------------------------------------------------------------


async def test_receipt_tells_how_far_a_page_has_come(
    pool: Pool, deliveries: Deliveries, chat_id: ChatId
) -> None:
    receipts = Receipts(pool)
    (due,) = await claim(deliveries)
    at = (due.id, due.fence, f"reply:{chat_id}")
    nonce = uuid4()

    assert await receipts.put_attempt(*at, 0, nonce=nonce, content_hash="h0")
    (receipt,) = await receipts.list_receipts(due.id)
    assert (receipt.state, receipt.nonce, receipt.platform_message_id) == (
        ReceiptState.ATTEMPTING,
        nonce,
        None,
    )

    assert await receipts.put_delivered(*at, 0, platform_message_id="17.1", content_hash="h1")
    assert await receipts.put_attempt(*at, 1, nonce=uuid4(), content_hash="h2")
    first, second = await receipts.list_receipts(due.id)
    assert (first.state, first.platform_message_id, first.content_hash, first.nonce) == (
        ReceiptState.DELIVERED,
        "17.1",
        "h1",
        nonce,
    )
    assert (second.page, second.state) == (1, ReceiptState.ATTEMPTING)

    assert await receipts.mark_deleted(*at, 0)
    assert not await receipts.mark_deleted(*at, 7)
    first, _ = await receipts.list_receipts(due.id)
    assert first.state is ReceiptState.DELETED


@pytest.mark.usefixtures("chat_id")
async def test_late_owner_can_write_no_receipt(pool: Pool, deliveries: Deliveries) -> None:
    """D3 (store part)"""
    receipts = Receipts(pool)
    (mine,) = await claim(deliveries, ADAS)
    await run_out(pool)
    (heir,) = await claim(deliveries, BOS)

    at = (mine.id, mine.fence, "reply:1", 0)
    assert not await receipts.put_attempt(*at, nonce=uuid4(), content_hash="h")
    assert not await receipts.put_delivered(*at, platform_message_id="1", content_hash="h")
    assert await receipts.list_receipts(mine.id) == ()

    at = (heir.id, heir.fence, "reply:1", 0)
    assert await receipts.put_attempt(*at, nonce=uuid4(), content_hash="h")
    assert not await receipts.mark_deleted(mine.id, mine.fence, "reply:1", 0)
