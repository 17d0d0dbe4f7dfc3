"""A notification is entered with the report that ends a turn, and has one holder at a time."""

from uuid import UUID, uuid4

from engine.chat.commands import FinishError, FinishTurn
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ChatId
from engine.chat.notification import NotificationKind
from engine.store.chat_machine import ChatMachine
from engine.store.notifications import Notifications
from engine.store.pool import Pool
from tests.store.story import ADA, answer, fence_of, force_running, harbour, new_chat, sql, submit

CLAIM, OTHER = UUID(int=1), UUID(int=2)
BROKEN = ChatError(kind=ErrorKind.GENERIC, message="It broke.")


async def finished(machine: ChatMachine, pool: Pool, *, in_thread: bool = True) -> ChatId:
    """A chat whose long turn is over."""
    binding = harbour(str(uuid4())) if in_thread else None
    chat_id = await new_chat(machine, binding=binding)
    held = await force_running(pool, chat_id)
    command = FinishTurn(fence=fence_of(held), messages=(answer("hi"),), notify=True)
    await submit(machine, chat_id, command)
    return chat_id


async def ready(machine: ChatMachine, pool: Pool) -> int:
    """A notification with words that nobody holds; its id."""
    await finished(machine, pool)
    rows = Notifications(pool)
    (item,) = await rows.claim_new(CLAIM, 10, 60)
    assert await rows.put_text(item.id, CLAIM, "It is done.")
    return item.id


async def lapse(pool: Pool) -> None:
    """Let every claim end."""
    await sql(
        pool, "UPDATE notifications SET claimed_until = now() WHERE claimed_until IS NOT NULL"
    )


async def test_report_that_ends_a_turn_enters_one(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await finished(machine, pool)
    (item,) = await Notifications(pool).claim_new(CLAIM, 10, 60)
    assert (item.kind, item.channel) == (NotificationKind.FINISHED, "slack:T1:#harbour")
    assert (item.chat.chat_id, item.chat.owner, item.chat.bot) == (chat_id, ADA, "wren")
    assert item.attempts == 1


async def test_chat_that_nobody_sees_enters_none(machine: ChatMachine, pool: Pool) -> None:
    await finished(machine, pool, in_thread=False)
    assert await Notifications(pool).claim_new(CLAIM, 10, 60) == ()


async def test_report_that_is_refused_enters_none(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await new_chat(machine, binding=harbour())
    held = await force_running(pool, chat_id)
    finish = FinishTurn(fence=fence_of(held), messages=(answer("hi"),), notify=True)
    await submit(machine, chat_id, finish)
    assert await machine.submit(chat_id, finish) is not None
    error = FinishError(fence=fence_of(held), error=BROKEN, notify=True)
    assert await machine.submit(chat_id, error) is not None
    assert len(await Notifications(pool).claim_new(CLAIM, 10, 60)) == 1


async def test_claim_has_one_holder_until_it_ends(machine: ChatMachine, pool: Pool) -> None:
    await finished(machine, pool)
    rows = Notifications(pool)
    (item,) = await rows.claim_new(CLAIM, 10, 60)
    assert await rows.claim_new(OTHER, 10, 60) == ()
    assert not await rows.put_text(item.id, OTHER, "Mine.")
    await lapse(pool)
    (again,) = await rows.claim_new(OTHER, 10, 60)
    assert again.attempts == 2
    assert not await rows.put_text(item.id, CLAIM, "Too late.")
    assert await rows.put_text(item.id, OTHER, "In time.")


async def test_words_are_claimed_by_their_platform(machine: ChatMachine, pool: Pool) -> None:
    await ready(machine, pool)
    rows = Notifications(pool)
    for platform in ("sla", "discord"):
        assert await rows.claim_ready(platform, claim=OTHER, limit=9, seconds=60) == ()
    (item,) = await rows.claim_ready("slack", claim=OTHER, limit=9, seconds=60)
    assert (item.text, item.title, item.owner) == ("It is done.", "hello", ADA)
    assert (item.installation, item.channel) == ("T1", "#harbour")
    assert item.thread
    assert not item.may_be_sent


async def test_sender_that_did_not_come_back_leaves_its_fate_unknown(
    machine: ChatMachine, pool: Pool
) -> None:
    notification_id = await ready(machine, pool)
    rows = Notifications(pool)
    (first,) = await rows.claim_ready("slack", claim=CLAIM, limit=9, seconds=60)
    assert await rows.mark_sending(notification_id, CLAIM)
    await lapse(pool)
    assert not await rows.mark_sending(notification_id, CLAIM)
    (second,) = await rows.claim_ready("slack", claim=OTHER, limit=9, seconds=60)
    assert (second.may_be_sent, second.nonce) == (True, first.nonce)
    assert not await rows.mark_sent(notification_id, CLAIM)
    assert await rows.mark_sent(notification_id, OTHER)
    await lapse(pool)
    assert await rows.claim_ready("slack", claim=CLAIM, limit=9, seconds=60) == ()


async def test_what_was_let_go_comes_back_in_its_time(machine: ChatMachine, pool: Pool) -> None:
    notification_id = await ready(machine, pool)
    rows = Notifications(pool)
    for is_unsent in (True, False):
        await rows.claim_ready("slack", claim=CLAIM, limit=9, seconds=60)
        assert await rows.mark_sending(notification_id, CLAIM)
        assert await rows.release(notification_id, CLAIM, seconds=60, is_unsent=is_unsent)
        assert await rows.claim_ready("slack", claim=OTHER, limit=9, seconds=60) == ()
        await lapse(pool)
        (item,) = await rows.claim_ready("slack", claim=OTHER, limit=9, seconds=60)
        assert item.may_be_sent is not is_unsent
        await lapse(pool)


async def test_old_ones_are_dropped_and_then_removed(machine: ChatMachine, pool: Pool) -> None:
    await ready(machine, pool)
    rows = Notifications(pool)
    assert await rows.clean_up() == 0
    await sql(pool, "UPDATE notifications SET created_at = now() - interval '2 days'")
    assert await rows.clean_up() == 1
    assert await rows.claim_ready("slack", claim=CLAIM, limit=9, seconds=60) == ()
    await sql(pool, "UPDATE notifications SET done_at = now() - interval '8 days'")
    assert await rows.clean_up() == 1
    async with pool.session() as connection:
        assert await connection.fetchval("SELECT count(*) FROM notifications") == 0
