"""What every relay keeps to, whatever carries it: one process, one replica of Redis, or two."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import msgspec
import pytest

from engine.chat.changes import Episode
from engine.chat.ids import ChatId
from engine.stream.events import TextDelta
from engine.stream.relay import Relay, Wake
from tests.unit.engine.stream.committed import CommittedChat
from tests.unit.engine.stream.relays import (
    Ear,
    replicas,
    until,
)

FIRST = Episode(history_version=2, attempt=1)
SECOND = Episode(history_version=2, attempt=2)


@pytest.fixture(params=["memory", "redis", "two replicas"])
async def near_and_far(
    request: pytest.FixtureRequest, redis_url: str
) -> AsyncIterator[tuple[Relay, Relay]]:
    async with replicas(request.param, redis_url) as pair:
        yield pair


async def test_a_change_reaches_its_chats_subscribers_and_no_others(
    near_and_far: tuple[Relay, Relay],
) -> None:
    near, far = near_and_far
    chat, other = CommittedChat(), CommittedChat()
    ear, other_ear = Ear(far, chat.chat_id), Ear(far, other.chat_id)
    await ear.subscription.wait_until_ready()
    await other_ear.subscription.wait_until_ready()
    change, other_change = chat.commit(ask="Is the harbour open?"), other.commit(archived=True)
    near.publish_change(change)
    near.publish_change(other_change)
    await until(lambda: ear.changes and other_ear.changes)
    assert ear.changes == [change]
    assert other_ear.changes == [other_change]
    ear.subscription.close()
    other_ear.subscription.close()


async def test_after_close_nothing_is_heard(near_and_far: tuple[Relay, Relay]) -> None:
    near, far = near_and_far
    chat = CommittedChat()
    ear, witness = Ear(far, chat.chat_id), Ear(far, chat.chat_id)
    await witness.subscription.wait_until_ready()
    ear.subscription.close()
    ear.subscription.close()
    near.publish_change(chat.commit())
    await until(lambda: witness.changes)
    assert ear.changes == []
    witness.subscription.close()


async def test_a_wake_reaches_workers_and_a_plain_change_does_not(
    near_and_far: tuple[Relay, Relay],
) -> None:
    """E49: a created chat runs at once, however long the poll interval is."""
    near, far = near_and_far
    woken: list[Wake] = []
    unsubscribe = far.subscribe_wakes(woken.append)
    chat = CommittedChat()
    async with asyncio.timeout(5):
        while not woken:
            # A relay may lose a wake while a worker's subscription is under way.
            near.publish_change(chat.commit(wake=True))
            near.publish_change(chat.commit())
            await asyncio.sleep(0.01)
    assert all(wake.change.wake for wake in woken)
    unsubscribe()


async def test_workers_are_told_that_a_chat_was_taken_and_whether_it_was_here(
    near_and_far: tuple[Relay, Relay],
) -> None:
    """E49: one of many workers is enough for a chat that was woken."""
    near, far = near_and_far
    heard: list[Wake] = []
    unsubscribe = far.subscribe_wakes(heard.append)
    # A channel that is subscribed later is confirmed later, so the wakes are heard by then.
    witness = Ear(far, ChatId(uuid4()))
    await witness.subscription.wait_until_ready()
    chat = CommittedChat()
    changes = [
        chat.commit(wake=True),
        msgspec.structs.replace(chat.commit(next_attempt=True), taken=True),
    ]
    for change in (*changes, chat.commit()):
        near.publish_change(change)
    await until(lambda: len(heard) == len(changes))
    assert heard == [Wake(change, is_from_elsewhere=near is not far) for change in changes]
    unsubscribe()
    witness.subscription.close()


async def test_parts_reach_those_who_are_there(near_and_far: tuple[Relay, Relay]) -> None:
    near, far = near_and_far
    chat_id = ChatId(uuid4())
    ear = Ear(far, chat_id)
    await ear.subscription.wait_until_ready()
    writer = near.open_episode(chat_id, FIRST)
    for word in ("The ", "tide ", "turns ", "at ", "four."):
        writer.append([TextDelta(text=word)])
    await until(lambda: ear.text == "The tide turns at four.")
    assert ear.tells > 0
    writer.close()
    ear.subscription.close()


async def test_late_subscriber_finds_the_parts_from_the_beginning(
    near_and_far: tuple[Relay, Relay],
) -> None:
    """E53: late joiners see the current attempt's parts from its beginning."""
    near, far = near_and_far
    chat_id = ChatId(uuid4())
    first = Ear(far, chat_id)
    await first.subscription.wait_until_ready()
    writer = near.open_episode(chat_id, FIRST)
    writer.append([TextDelta(text="The tide ")])
    await until(lambda: first.text == "The tide ")
    first.subscription.close()
    writer.append([TextDelta(text="turns")])
    late = Ear(far, chat_id)
    await late.subscription.wait_until_ready()
    late.subscription.seek(FIRST)
    await late.subscription.wait_until_ready()
    assert late.text.startswith("The tide ")
    writer.append([TextDelta(text=" at four.")])
    await until(lambda: late.text == "The tide turns at four.")
    writer.close()
    late.subscription.close()


async def test_parts_of_an_overtaken_episode_are_not_shown(
    near_and_far: tuple[Relay, Relay],
) -> None:
    """E53: and not an old one."""
    near, far = near_and_far
    chat_id = ChatId(uuid4())
    ear = Ear(far, chat_id)
    await ear.subscription.wait_until_ready()
    old = near.open_episode(chat_id, FIRST)
    old.append([TextDelta(text="old")])
    await until(lambda: ear.text == "old")
    new = near.open_episode(chat_id, SECOND)
    new.append([TextDelta(text="new")])
    old.append([TextDelta(text=" and stale")])
    new.append([TextDelta(text="er")])
    await until(lambda: ear.text == "newer")
    assert ear.subscription.buffer is not None
    assert ear.subscription.buffer.episode == SECOND
    old.close()
    new.close()
    ear.subscription.close()


async def test_lone_surrogates_do_not_stop_the_stream(near_and_far: tuple[Relay, Relay]) -> None:
    near, far = near_and_far
    chat_id = ChatId(uuid4())
    ear = Ear(far, chat_id)
    await ear.subscription.wait_until_ready()
    writer = near.open_episode(chat_id, FIRST)
    writer.append([TextDelta(text="a\ud800b"), TextDelta(text="\x00\\u0000 end")])
    await until(lambda: ear.text.endswith("b\x00\\u0000 end"))
    writer.close()
    ear.subscription.close()
