"""Redis goes away, falls silent, forgets and comes back; replicas are cut off and stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit
from uuid import uuid4

from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

from engine.chat.changes import Episode
from engine.chat.ids import ChatId
from engine.stream.events import TextDelta
from engine.stream.redis_subscriber import send
from engine.stream.relay import Wake
from engine.stream.relay_redis import RedisRelay
from tests.fakes.redis import RedisServer
from tests.unit.engine.stream.committed import CommittedChat
from tests.unit.engine.stream.relays import (
    Ear,
    command,
    cut_subscribers,
    redis_relay,
    silence,
    until,
)

FIRST = Episode(history_version=2, attempt=1)
SECOND = Episode(history_version=2, attempt=2)


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
    woken: list[Wake] = []
    async with redis_relay(redis.url, "tw:") as far:
        unsubscribe = far.subscribe_wakes(woken.append)
        # A channel that is subscribed later is confirmed later, so the wakes are heard by then.
        witness = Ear(far, ChatId(uuid4()))
        await witness.subscription.wait_until_ready()
        chat = CommittedChat()
        async with redis_relay(redis.url, "tw:") as near:
            change = chat.commit(wake=True)
            near.publish_change(change)
        await until(lambda: woken == [Wake(change, is_from_elsewhere=True)])
        unsubscribe()
        witness.subscription.close()


async def test_a_connection_that_closes_under_a_command_is_a_lost_connection(
    redis: RedisServer,
) -> None:
    """Whatever moment it closes at: an unknown exception would end the whole process."""
    pool = ConnectionPool.from_url(redis.url, socket_timeout=5)
    for moment in range(8):
        connection = pool.make_connection()
        await connection.connect()
        sending = asyncio.create_task(send(connection, "SUBSCRIBE", b"harbour"))
        for _ in range(moment):
            await asyncio.sleep(0)
        await connection.disconnect(nowait=True)
        with suppress(RedisError, OSError):
            await sending
        await connection.disconnect(nowait=True)


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
