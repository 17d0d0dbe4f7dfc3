"""What people think of replies: the last word of each, counted and listed, gone with its chat."""

from datetime import UTC, datetime, timedelta

from engine.chat.commands import FinishTurn, SendMessage
from engine.chat.content import plain
from engine.chat.feedback import FeedbackBy
from engine.chat.ids import ChatId, MessageId
from engine.store.chat_machine import ChatMachine
from engine.store.feedback import Feedback
from engine.store.pool import Pool
from engine.store.rows import ChatRows
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


async def turns_of(pool: Pool, chat_id: ChatId) -> list[MessageId]:
    """The user messages of a chat."""
    messages = await ChatRows(pool).read_messages(chat_id)
    return [message.id for message in messages if message.role == "user"]


async def answered(machine: ChatMachine, pool: Pool, thread: str) -> tuple[ChatId, MessageId]:
    """A chat of a thread in #harbour with one answered question."""
    chat_id = await new_chat(machine, binding=harbour(thread))
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),)))
    (turn,) = await turns_of(pool, chat_id)
    return chat_id, turn


async def test_the_last_word_of_each_person_counts(machine: ChatMachine, pool: Pool) -> None:
    feedback = Feedback(pool)
    chat_id, turn = await answered(machine, pool, "1.0")
    assert await feedback.put(chat_id, turn, ADA, is_good=True)
    assert await feedback.put(chat_id, turn, BO, is_good=True)
    assert await feedback.put(chat_id, turn, ADA, is_good=False, comment="wrong \x00 boat")
    (count,) = await feedback.counts(FeedbackBy.BOT)
    assert (count.key, count.good, count.bad) == ("wren", 1, 1)
    (bad,) = await feedback.newest(only_bad=True)
    assert (bad.name, bad.comment, bad.model) == ("Ada", "wrong \x00 boat", "demo")
    assert bad.channel == "slack:T1:#harbour"


async def test_a_comment_stays_until_the_person_thinks_otherwise(
    machine: ChatMachine, pool: Pool
) -> None:
    feedback = Feedback(pool)
    chat_id, turn = await answered(machine, pool, "1.0")
    await feedback.put(chat_id, turn, ADA, is_good=False, comment="slow")
    await feedback.put(chat_id, turn, ADA, is_good=False)
    assert [rating.comment for rating in await feedback.newest()] == ["slow"]
    await feedback.put(chat_id, turn, ADA, is_good=True)
    assert [rating.comment for rating in await feedback.newest()] == [""]


async def test_what_was_not_answered_cannot_be_rated(machine: ChatMachine, pool: Pool) -> None:
    feedback = Feedback(pool)
    chat_id = await waiting_chat(machine, pool)
    (first,) = await turns_of(pool, chat_id)
    send = SendMessage(content=plain("and?"), author=ADA, source_key="2.0")
    await submit(machine, chat_id, send)
    _, second = await turns_of(pool, chat_id)
    other, _ = await answered(machine, pool, "9.0")
    assert not await feedback.put(chat_id, second, ADA, is_good=True)
    assert not await feedback.put(other, first, ADA, is_good=True)
    assert not await feedback.put(chat_id, MessageId(first + 1), ADA, is_good=True)
    assert await feedback.put(chat_id, first, ADA, is_good=True)


async def test_counts_are_by_what_is_asked_and_of_a_time(machine: ChatMachine, pool: Pool) -> None:
    feedback = Feedback(pool)
    for thread in ("1.0", "2.0"):
        chat_id, turn = await answered(machine, pool, thread)
        await feedback.put(chat_id, turn, ADA, is_good=thread == "1.0")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for by, key in (("bot", "wren"), ("model", "demo"), ("channel", "slack:T1:#harbour")):
        (count,) = await feedback.counts(FeedbackBy(by))
        assert (count.key, count.good, count.bad) == (key, 1, 1)
    (count,) = await feedback.counts(FeedbackBy.DAY)
    assert (count.key or "") >= today
    later = datetime.now(UTC) + timedelta(hours=1)
    assert await feedback.counts(FeedbackBy.BOT, since=later) == ()
    assert len(await feedback.counts(FeedbackBy.BOT, until=later)) == 1
    assert await feedback.newest(since=later) == ()
    assert len(await feedback.newest(limit=1)) == 1


async def test_feedback_goes_with_its_chat(machine: ChatMachine, pool: Pool) -> None:
    feedback = Feedback(pool)
    chat_id, turn = await answered(machine, pool, "1.0")
    await feedback.put(chat_id, turn, ADA, is_good=True)
    await sql(pool, "DELETE FROM chats WHERE id = $1", chat_id)
    assert await feedback.newest() == ()
