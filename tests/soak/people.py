"""The people of a soak: they begin chats at a steady rate, ask, wait for the answer, ask again."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Self
from uuid import uuid4

from bots.lifecycle import background
from bots.replica import Replica, open_replica
from config.secret import SecretUrl
from config.settings import Settings
from engine.api import StoreUnavailable
from engine.chat.changes import ChatChange
from engine.chat.commands import CreateChat, SendMessage
from engine.chat.content import Author, plain
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus

ADA = Author(identity="soak:ada", name="Ada")
LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 120.0


class People:
    """Talks through an engine of its own that works on nothing. `asked`: questions so far."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.chats: dict[ChatId, int] = {}
        self.asked = 0
        self.open = 0
        self._talks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, database_url: str, redis_url: str) -> AsyncIterator[Self]:
        """People who can talk until the block ends."""
        settings = replace(Settings(), redis=replace(Settings().redis, url=SecretUrl(redis_url)))
        async with AsyncExitStack() as stack, background() as tasks:
            replica = await open_replica(
                stack, tasks, settings, database_url, say=lambda _line: None, works=False
            )
            yield cls(replica)
            await tasks.drain()

    async def warm_up(self, turns: int) -> None:
        """A few chats before anything is measured."""
        await asyncio.gather(*(self._talk(turns) for _ in range(10)))

    async def talk(self, *, rate: float, turns: int, seconds: float) -> None:
        """Begin so many turns a second, in chats of `turns`, for so long; let the last ones end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            task = asyncio.create_task(self._talk(turns))
            self._talks.add(task)
            task.add_done_callback(self._talks.discard)
            await asyncio.sleep(turns / rate)
        while self._talks:
            await asyncio.wait(self._talks)

    async def until_all_rest(self, seconds: float) -> list[ChatId]:
        """Wait for every chat to wait; those that do not."""
        deadline = time.monotonic() + seconds
        while True:
            changes = await self.replica.engine.rows.versions_of(list(self.chats))
            busy = [each.chat_id for each in changes if each.status is not ChatStatus.WAITING]
            if not busy or time.monotonic() > deadline:
                return busy
            await asyncio.sleep(1.0)

    async def _talk(self, turns: int) -> None:
        chat_id = ChatId(uuid4())
        rests = asyncio.Event()

        def on_change(change: ChatChange) -> None:
            if change.status in (ChatStatus.WAITING, ChatStatus.ERROR):
                rests.set()

        subscription = self.replica.relay.subscribe(chat_id, on_change=on_change)
        self.open += 1
        try:
            for turn in range(turns):
                rests.clear()
                await self._ask(chat_id, turn)
                await self._until_rests(chat_id, rests)
        finally:
            self.open -= 1
            subscription.close()

    async def _ask(self, chat_id: ChatId, turn: int) -> None:
        content = plain(f"question {turn}")
        engine = self.replica.engine
        while True:
            try:
                if turn == 0:
                    await engine.create_chat(
                        CreateChat(chat_id=chat_id, content=content, author=ADA, source_key="0")
                    )
                else:
                    command = SendMessage(content=content, author=ADA, source_key=str(turn))
                    await engine.submit(chat_id, command)
            except StoreUnavailable:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                break
        self.chats[chat_id] = turn + 1
        self.asked += 1

    async def _until_rests(self, chat_id: ChatId, rests: asyncio.Event) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await rests.wait()
                    return
            except TimeoutError:
                (change,) = await self.replica.engine.rows.versions_of([chat_id])
                if change.status in (ChatStatus.WAITING, ChatStatus.ERROR):
                    return
