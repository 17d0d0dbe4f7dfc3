"""One replica of a scale run: the assembly that the program runs, and the people who talk to it."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_OID, uuid5

from bots.lifecycle import background
from bots.replica import Replica, open_replica
from config.secret import SecretUrl
from config.settings import Settings, WorkerSettings
from engine.agent.brain import Brain
from engine.chat.changes import ChatChange
from engine.chat.commands import CreateChat, SendMessage
from engine.chat.content import Author, plain, text_of
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt, ModelStream
from engine.models.provider import ProviderConfig
from engine.stream.events import PartEvent, TextDelta
from tests.benchmarks.load import cpu_seconds, rss_kib
from tests.benchmarks.scale.load import ScaleLoad, ScaleMeasured
from tests.fakes.replica import brains_of, eventually

ADA = Author(identity="bench:ada", name="Ada")
LOOK_SECONDS = 5.0
"""A turn whose end was not heard of is looked up so often."""


@dataclass(slots=True)
class _Notes:
    to_request_ms: list[float] = field(default_factory=list)
    to_follower_ms: list[float] = field(default_factory=list)
    turn_ms: list[float] = field(default_factory=list)
    heartbeats: int = 0
    memory_kib: float = 0.0


class _Timed(HttpModel):
    """The real client; every question says when it was asked."""

    notes: _Notes

    def stream(self, prompt: ModelPrompt) -> ModelStream:
        asked = text_of(prompt.messages[-1].content).rpartition(" ")[2]
        self.notes.to_request_ms.append((time.time_ns() - int(asked)) / 1e6)
        return super().stream(prompt)


def chat_id_of(load: ScaleLoad, number: int) -> ChatId:
    """The same in every process, so that one can follow the chats of another."""
    return ChatId(uuid5(NAMESPACE_OID, f"{load.database_url} {number}"))


async def run_replica(load: ScaleLoad) -> ScaleMeasured:
    """Drive the own chats through their turns while working on whichever are runnable."""
    settings = replace(Settings(), worker=WorkerSettings(chats_max=max(load.chats, 1)))
    settings = replace(settings, redis=replace(settings.redis, url=SecretUrl(load.redis_url)))
    settings = replace(settings, titles=replace(settings.titles, enabled=False))
    notes = _Notes()
    async with AsyncExitStack() as stack, background() as tasks:
        session = await stack.enter_async_context(model_session())
        config = ProviderConfig(
            name="load", base_url=load.model_url, first_token_timeout_seconds=600
        )
        model = _Timed(session, config)
        model.notes = notes
        brain = Brain(model=model, model_name="m", system="You are Wren.")
        replica = await open_replica(
            stack,
            tasks,
            settings,
            load.database_url,
            say=lambda _line: None,
            brains=brains_of(brain),
        )
        _count_heartbeats(replica, notes)
        result = await _measure(load, replica, notes)
        await tasks.drain()
    return result


async def _measure(load: ScaleLoad, replica: Replica, notes: _Notes) -> ScaleMeasured:
    before_kib, before_statements = rss_kib(), replica.pool.statement_count
    before_cpu, began = cpu_seconds(), time.perf_counter()
    watching = asyncio.create_task(_watch_memory(notes))
    following = [
        asyncio.create_task(_follow(load, replica, number, notes))
        for number in range((load.index + 1) % load.processes, load.chats, load.processes)[
            : load.probes
        ]
    ]
    turns = await asyncio.gather(*(_talk(load, replica, number, notes) for number in load.own))
    for task in (watching, *following):
        task.cancel()
    return ScaleMeasured(
        turns=sum(turns),
        cpu_seconds=cpu_seconds() - before_cpu,
        wall_seconds=time.perf_counter() - began,
        statements=replica.pool.statement_count - before_statements,
        heartbeats=notes.heartbeats,
        memory_kib=notes.memory_kib - before_kib,
        to_request_ms=notes.to_request_ms,
        to_follower_ms=notes.to_follower_ms,
        turn_ms=notes.turn_ms,
    )


async def _talk(load: ScaleLoad, replica: Replica, number: int, notes: _Notes) -> int:
    """One person: a question, its answer, a pause, the next question."""
    chat_id = chat_id_of(load, number)
    rests = asyncio.Event()

    def on_change(change: ChatChange) -> None:
        if change.status is not ChatStatus.RUNNING:
            rests.set()

    # Spread over one pause, so that a paced run is paced from its beginning.
    await asyncio.sleep(load.pause_seconds * number / max(load.chats, 1))
    subscription = replica.relay.subscribe(chat_id, on_change=on_change)
    is_probe = number // load.processes < load.probes
    for turn in range(load.turns):
        if turn:
            await asyncio.sleep(load.pause_seconds)
        rests.clear()
        began = time.perf_counter()
        words = "probe" if is_probe else "question"
        content = plain(f"{words} {turn} {time.time_ns()}")
        if turn == 0:
            await replica.engine.create_chat(
                CreateChat(chat_id=chat_id, content=content, author=ADA)
            )
        else:
            await replica.engine.submit(chat_id, SendMessage(content=content, author=ADA))
        await _until_rests(replica, chat_id, rests)
        notes.turn_ms.append((time.perf_counter() - began) * 1000)
    subscription.close()
    return load.turns


async def _until_rests(replica: Replica, chat_id: ChatId, rests: asyncio.Event) -> None:
    while True:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await rests.wait()
                return
        except TimeoutError:
            (change,) = await replica.engine.rows.versions_of([chat_id])
            if change.status is not ChatStatus.RUNNING:
                return


async def _follow(load: ScaleLoad, replica: Replica, number: int, notes: _Notes) -> None:
    """Another replica's reader: how old is each part when it arrives?"""
    chat_id = chat_id_of(load, number)
    await eventually(lambda: replica.engine.read_chat(chat_id), seconds=3600.0)
    async with replica.engine.follow(chat_id) as follower:
        async for event in follower:
            if isinstance(event, PartEvent) and isinstance(event.part, TextDelta):
                now = time.time_ns()
                notes.to_follower_ms += [
                    (now - int(word)) / 1e6 for word in event.part.text.split() if word.isdigit()
                ]


def _count_heartbeats(replica: Replica, notes: _Notes) -> None:
    renew = replica.engine.leases.renew_chats

    async def counted(*args: object) -> object:
        notes.heartbeats += 1
        return await renew(*args)

    replica.engine.leases.renew_chats = counted


async def _watch_memory(notes: _Notes) -> None:
    while True:
        notes.memory_kib = max(notes.memory_kib, rss_kib())
        await asyncio.sleep(0.5)
