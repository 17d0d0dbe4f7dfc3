"""Followers at any pace, and of histories that change: nothing is missed, nothing told twice."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.chat.snapshot import ChatStatus
from engine.chat.view import ShownStatus
from engine.stream.events import (
    ActionsEvent,
    HistoryReset,
    MessageEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    StatusEvent,
    TextDelta,
)
from tests.unit.engine.stream.house import RELAYS, House, open_house, say
from tests.unit.engine.stream.relays import (
    until,
)


@pytest.fixture(params=RELAYS)
async def house(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[House]:
    async with open_house(request.param, redis_url) as opened:
        yield opened


async def test_an_edit_resets_the_history_and_tells_the_full_state(house: House) -> None:
    """E10: history = [edited]; everybody who followed sees just that."""
    async with house.watch() as watched, house.watch(2) as knows_two:
        house.finish_turn(house.run_turn("Is the harbur open?"), "Yes.")
        house.finish_turn(house.run_turn("Until when?"), "Six.")
        await watched.until(lambda live: len(live.messages) == 4)
        await knows_two.until(lambda live: len(live.messages) == 2)
        edit = house.chat.commit(
            truncate_from=3, ask="Until when on Sunday?", status=ChatStatus.RUNNING
        )
        house.publish(edit)
        await watched.until(lambda live: len(live.messages) == 3)
        await knows_two.until(lambda live: len(live.messages) == 1)
        assert watched.texts == ["Is the harbur open?", "Yes.", "Until when on Sunday?"]
        assert knows_two.texts == ["Until when on Sunday?"]
        assert [event.after_id for event in knows_two.told(HistoryReset)] == [2]
        edit = house.chat.commit(truncate_from=1, ask="Is the harbour open?")
        house.publish(edit)
        await watched.until(lambda _: watched.texts == ["Is the harbour open?"])
        await knows_two.until(lambda _: knows_two.texts == ["Is the harbour open?"])
        assert [event.after_id for event in knows_two.told(HistoryReset)] == [2, 0]


async def test_an_amended_message_replaces_itself(house: House) -> None:
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbur open?")
        say(writer, "What is a harb")
        await watched.until(lambda live: live.preview.text)
        house.publish(house.chat.commit(amend=(1, "Is the harbour open?")))
        await watched.until(lambda _: watched.texts == ["Is the harbour open?"])
        writer.close()
    assert not watched.told(HistoryReset)
    assert watched.told(PreviewReset) == [PreviewReset(reason=PreviewResetReason.HISTORY)]


async def test_a_message_taken_back_before_it_was_told_is_never_told(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        house.chat.commit(say="No.")
        house.publish(house.chat.commit(truncate_from=2, say="Yes."))
        await watched.until(lambda live: len(live.messages) == 2)
    assert watched.texts == ["Is the harbour open?", "Yes."]
    assert not watched.told(HistoryReset)


async def test_a_slow_follower_gets_joined_parts_and_misses_nothing(house: House) -> None:
    """E52: a slow subscriber never slows the turn."""
    async with house.watch() as slow:
        writer = house.run_turn("Count.")
        await slow.until(lambda live: live.status is ShownStatus.RUNNING)
        words = [f"{number} " for number in range(2000)]
        say(writer, *words)
        async with house.watch() as quick:
            await quick.until(lambda live: live.preview.text == "".join(words))
        before = len(slow.events)
        await slow.until(lambda live: live.preview.text == "".join(words))
        assert len(slow.events) - before <= 3
        house.finish_turn(writer, "".join(words))
        await slow.until(lambda live: live.status is ShownStatus.WAITING)
        assert slow.texts[-1] == "".join(words)


async def test_a_follower_that_slept_through_a_turn_gets_its_messages(house: House) -> None:
    """E52: what it was too slow for is told all the same."""
    async with house.watch() as slow, house.watch() as quick:
        house.chat.commit(status=ChatStatus.WAITING)
        await slow.take()
        for number in range(3):
            writer = house.run_turn(f"Question {number}")
            say(writer, "A long answer. " * 1000)
            house.finish_turn(writer, f"Answer {number}")
        await quick.until(lambda live: len(live.messages) == 6)
        await slow.until(lambda live: live.status is ShownStatus.WAITING and live.messages)
    assert slow.texts == quick.texts
    assert len(slow.texts) == 6


async def test_an_answer_too_long_to_keep_is_reset_then_whole_as_a_message(house: House) -> None:
    """E52: an overflow reaches a subscriber as an explicit reset followed by the full state."""
    page = "x" * 10_000
    writer = house.run_turn("Write a book.")
    for number in range(150):
        writer.append([TextDelta(text=f"<{number}>{page}")])
    async with house.watch() as late:
        live = await late.until(lambda live: live.preview.text.endswith(f"<149>{page}"))
        assert PreviewReset(reason=PreviewResetReason.OVERFLOW) in late.events
        assert live.preview.in_mid_text
        house.finish_turn(writer, "The book.")
        await late.until(lambda live: live.status is ShownStatus.WAITING)
    assert late.texts[-1] == "The book."
    assert late.live.preview.content == ()


async def test_followers_of_one_chat_share_a_read(house: House) -> None:
    async with house.watch() as first, house.watch() as second, house.watch() as third:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        for watched in (first, second, third):
            await watched.take()
        before = house.reader.reads
        house.reader.may_read.clear()
        house.publish(house.chat.commit(say="Yes."))
        async with asyncio.TaskGroup() as tasks:
            for watched in (first, second, third):
                await watched.follower.wait_for_news()
                tasks.create_task(watched.until(lambda live: len(live.messages) == 2))
            await until(lambda: house.reader.reads > before)
            house.reader.may_read.set()
        assert house.reader.reads == before + 1


async def test_a_shared_read_from_before_the_change_is_not_the_last_word(house: House) -> None:
    async with house.watch() as first, house.watch() as second:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await first.take()
        await second.take()
        house.reader.may_read.clear()
        before = house.reader.reads
        house.publish(house.chat.commit(say="Yes."))
        await first.follower.wait_for_news()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first.take())
            await until(lambda: house.reader.reads > before)
            house.publish(house.chat.commit(say="Until six."))
            await until(lambda: second.follower._hint == house.chat.change())
            tasks.create_task(second.take())
            # The second has joined the read once it has picked up the hint.
            await until(lambda: second.follower._hint is None)
            house.reader.may_read.set()
        assert second.texts == ["Is the harbour open?", "Yes.", "Until six."]


async def test_a_change_that_its_hint_tells_whole_is_not_read(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        before = house.reader.reads
        house.publish(house.chat.commit(lease_live=True))
        house.publish(house.chat.commit(next_attempt=True))
        writer = house.near.open_episode(house.chat.chat_id, house.chat.episode)
        say(writer, "Yes")
        await watched.until(lambda live: live.preview.text == "Yes")
        assert house.reader.reads == before
        writer.close()


async def test_iteration_gives_the_events_one_by_one_and_ends_at_close(house: House) -> None:
    house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
    follower = house.loop.follow(house.chat.chat_id)
    kinds: list[type] = []
    async for event in follower:
        kinds.append(type(event))
        if isinstance(event, ActionsEvent):
            asyncio.get_running_loop().call_soon(follower.close)
    assert kinds == [StatusEvent, MessageEvent, QueueEvent, ActionsEvent]
    assert house.loop.follower_count == 0
