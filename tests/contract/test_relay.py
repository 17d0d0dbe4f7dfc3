"""What every relay keeps to, whatever carries it, and what Redis adds: replicas, and going away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from engine.chat.changes import ChatChange, Episode
from engine.chat.ids import ChatId
from engine.stream.episode import START
from engine.stream.events import LivePart, TextDelta
from engine.stream.relay import Relay, Subscription
from engine.stream.relay_redis import RedisRelay
from tests.fakes.redis import RedisServer
from tests.unit.engine.stream.committed import CommittedChat
from tests.unit.engine.stream.relays import (
    command,
    cut_subscribers,
    redis_relay,
    replicas,
    silence,
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


class Ear:
    """A subscription and what it heard."""

    def __init__(self, relay: Relay, chat_id: ChatId) -> None:
        self.changes: list[ChatChange] = []
        self.tells = 0
        self.subscription: Subscription = relay.subscribe(
            chat_id, on_change=self.changes.append, on_parts=self._count
        )

    def _count(self) -> None:
        self.tells += 1

    @property
    def text(self) -> str:
        """The text of the newest episode."""
        buffer = self.subscription.buffer
        parts: list[LivePart] = []
        if buffer is not None:
            parts = [event.part for event in buffer.read(START).events]
        return "".join(part.text for part in parts if isinstance(part, TextDelta))


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
    woken: list[ChatChange] = []
    unsubscribe = far.subscribe_wakes(woken.append)
    chat = CommittedChat()
    async with asyncio.timeout(5):
        while not woken:
            # A relay may lose a wake while a worker's subscription is under way.
            near.publish_change(chat.commit(wake=True))
            near.publish_change(chat.commit())
            await asyncio.sleep(0.01)
    assert all(change.wake for change in woken)
    unsubscribe()


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


# -- Redis going away ----------------------------------------------------------------------------


async def test_without_redis_a_replica_serves_itself_and_publishing_never_waits(
    redis: RedisServer,
) -> None:
    async with redis_relay(redis.url, "tw:") as relay:
        gaps: list[None] = []
        remove = relay.subscribe_gaps(lambda: gaps.append(None))
        redis.stop()
        chat = CommittedChat()
        ear = Ear(relay, chat.chat_id)
        await until(lambda: not relay.healthy)
        await ear.subscription.wait_until_ready()
        assert gaps
        writer = relay.open_episode(chat.chat_id, FIRST)
        for number in range(2000):
            relay.publish_change(chat.commit())
            writer.append([TextDelta(text=f"{number} ")])
        assert len(ear.changes) == 2000
        assert ear.text == "".join(f"{number} " for number in range(2000))
        ear.subscription.close()
        late = Ear(relay, chat.chat_id)
        await late.subscription.wait_until_ready()
        assert late.text == "".join(f"{number} " for number in range(2000))
        writer.close()
        late.subscription.close()
        remove()


async def test_after_redis_is_back_the_other_replica_has_every_part(redis: RedisServer) -> None:
    async with redis_relay(redis.url, "tw:") as near, redis_relay(redis.url, "tw:") as far:
        chat = CommittedChat()
        ear = Ear(far, chat.chat_id)
        await ear.subscription.wait_until_ready()
        writer = near.open_episode(chat.chat_id, FIRST)
        writer.append([TextDelta(text="before, ")])
        await until(lambda: ear.text == "before, ")
        gaps: list[None] = []
        remove = far.subscribe_gaps(lambda: gaps.append(None))
        redis.stop()
        await until(lambda: not near.healthy and not far.healthy)
        assert len(gaps) == 1
        writer.append([TextDelta(text="during, ")])
        near.publish_change(chat.commit())
        redis.start()
        await until(lambda: near.healthy and far.healthy)
        assert len(gaps) == 2
        writer.append([TextDelta(text="after")])
        await until(lambda: ear.text == "before, during, after")
        late_elsewhere = Ear(far, ChatId(uuid4()))
        late_elsewhere.subscription.close()
        ear.subscription.close()
        # Redis lost what it had; one who joins now still gets the beginning.
        late = Ear(far, chat.chat_id)
        await late.subscription.wait_until_ready()
        late.subscription.seek(FIRST)
        await late.subscription.wait_until_ready()
        assert late.text == "before, during, after"
        change = chat.commit()
        near.publish_change(change)
        await until(lambda: change in late.changes)
        late.subscription.close()
        writer.close()
        remove()


async def test_an_episode_that_redis_forgot_is_there_again_without_new_parts(
    redis: RedisServer,
) -> None:
    async with redis_relay(redis.url, "tw:") as near, redis_relay(redis.url, "tw:") as far:
        chat_id = ChatId(uuid4())
        ear = Ear(far, chat_id)
        await ear.subscription.wait_until_ready()
        writer = near.open_episode(chat_id, FIRST)
        writer.append([TextDelta(text="before")])
        await until(lambda: ear.text == "before")
        ear.subscription.close()
        redis.restart()
        await until(lambda: not (near.healthy and far.healthy))
        await until(lambda: near.healthy and far.healthy)
        late = Ear(far, chat_id)
        async with asyncio.timeout(5):
            while late.text != "before":
                late.subscription.seek(FIRST)
                await late.subscription.wait_until_ready()
        late.subscription.close()
        writer.close()


async def test_parts_published_while_a_replica_was_cut_off_are_fetched(redis: RedisServer) -> None:
    async with (
        redis_relay(redis.url, "tw:") as near,
        redis_relay(redis.url, "tw:", backoff_seconds=(0.3, 0.3)) as far,
    ):
        chat_id = ChatId(uuid4())
        ear = Ear(far, chat_id)
        await ear.subscription.wait_until_ready()
        writer = near.open_episode(chat_id, FIRST)
        ear.subscription.seek(FIRST)
        writer.append([TextDelta(text="before, ")])
        await until(lambda: ear.text == "before, ")
        cut_subscribers(redis.url)
        await until(lambda: not far.healthy)
        writer.append([TextDelta(text="meanwhile")])
        key = f"tw:{{{chat_id}}}:ep:2:1"
        await until(lambda: command(redis.url, f"XLEN {key}") == ":2\r\n")
        assert not far.healthy
        await until(lambda: ear.text == "before, meanwhile")
        ear.subscription.close()
        writer.close()


class DeafProxy:
    """Passes everything on to the server; once `deaf`, its replies no longer come back."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.deaf = False
        self._writers: list[asyncio.StreamWriter] = []

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self.cut()

    def cut(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._writers += [writer, back]
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pass(reader, back, is_reply=False))
            tasks.create_task(self._pass(there, writer, is_reply=True))

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_reply: bool
    ) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                if not (is_reply and self.deaf):
                    target.write(data)
                    await target.drain()
        target.close()


async def test_parts_whose_receipt_was_lost_are_not_doubled(redis: RedisServer) -> None:
    proxy = DeafProxy(redis.url)
    async with (
        proxy.run() as url,
        redis_relay(url, "tw:") as near,
        redis_relay(redis.url, "tw:") as far,
    ):
        chat_id = ChatId(uuid4())
        ear = Ear(far, chat_id)
        await ear.subscription.wait_until_ready()
        writer = near.open_episode(chat_id, FIRST)
        writer.append([TextDelta(text="one ")])
        await until(lambda: ear.text == "one ")
        copy = ear.subscription.buffer
        proxy.deaf = True
        writer.append([TextDelta(text="two ")])
        await until(lambda: ear.text == "one two ")
        writer.append([TextDelta(text="three")])
        proxy.deaf = False
        proxy.cut()
        await until(lambda: ear.text == "one two three")
        assert ear.subscription.buffer is copy
        ear.subscription.close()
        writer.close()


async def test_a_quiet_connection_stays_up(redis: RedisServer) -> None:
    async with redis_relay(redis.url, "tw:", quiet_seconds=0.05) as relay:
        gaps: list[None] = []
        remove = relay.subscribe_gaps(lambda: gaps.append(None))
        before = _pings(redis.url)
        await until(lambda: _pings(redis.url) >= before + 4)
        assert gaps == []
        assert relay.healthy
        remove()


def _pings(url: str) -> int:
    said = command(url, "INFO commandstats")
    return int(said.split("cmdstat_ping:calls=")[1].split(",")[0]) if "cmdstat_ping" in said else 0


async def test_a_replica_stops_whatever_it_is_doing(redis: RedisServer) -> None:
    """A cancellation that a library swallows must not leave a replica that never ends."""
    async with asyncio.timeout(20):
        for _ in range(60):
            async with redis_relay(redis.url, "tw:", quiet_seconds=0.0002) as relay:
                relay.publish_change(CommittedChat().commit(wake=True))


async def test_the_last_hints_of_a_replica_that_stops_still_arrive(redis: RedisServer) -> None:
    """E37: the chat that it leaves behind wakes another worker."""
    woken: list[ChatChange] = []
    async with redis_relay(redis.url, "tw:") as far:
        unsubscribe = far.subscribe_wakes(woken.append)
        # A channel that is subscribed later is confirmed later, so the wakes are heard by then.
        witness = Ear(far, ChatId(uuid4()))
        await witness.subscription.wait_until_ready()
        chat = CommittedChat()
        async with redis_relay(redis.url, "tw:") as near:
            change = chat.commit(wake=True)
            near.publish_change(change)
        await until(lambda: woken == [change])
        unsubscribe()
        witness.subscription.close()


async def test_a_server_that_falls_silent_is_left(redis: RedisServer) -> None:
    """A half-open connection says nothing; only asking finds out."""
    async with redis_relay(redis.url, "tw:", quiet_seconds=0.05) as relay:
        silence(redis.url, 400)
        await until(lambda: not relay.healthy)
        await until(lambda: relay.healthy)


async def test_it_starts_without_redis_and_finds_it_later(redis: RedisServer) -> None:
    redis.stop()
    relay = RedisRelay(redis.url, backoff_seconds=(0.01, 0.02))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(relay.run())
        chat = CommittedChat()
        ear = Ear(relay, chat.chat_id)
        await ear.subscription.wait_until_ready()
        assert not relay.healthy
        redis.start()
        await until(lambda: relay.healthy)
        async with redis_relay(redis.url, "tw:") as other:
            change = chat.commit()
            other.publish_change(change)
            await until(lambda: ear.changes == [change])
        ear.subscription.close()
        running.cancel()
