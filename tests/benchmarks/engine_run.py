"""The engine under load: the assembly that the program runs, asked through its front door."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import uuid4

from bots.lifecycle import background
from bots.replica import open_replica
from config.settings import Settings, WorkerSettings
from config.side_settings import TitlesSettings
from engine.agent.brain import Brain
from engine.api import Engine
from engine.chat.changes import ChatChange
from engine.chat.commands import CreateChat
from engine.chat.content import plain
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt, ModelStream
from engine.models.provider import ProviderConfig
from tests.benchmarks.load import Load, Measured
from tests.benchmarks.meter import Meter
from tests.fakes.replica import brains_of


class _Timed(HttpModel):
    """The real client, which notes when it is asked. The chat's number is its message's text."""

    meter: Meter

    def stream(self, prompt: ModelPrompt) -> ModelStream:
        part = prompt.messages[-1].content[0]
        self.meter.asked(int(part.text))  # type: ignore[union-attr]
        return super().stream(prompt)


async def run_engine(load: Load) -> Measured:
    """Answer all chats at once with the engine; one in `system` "engine+readers" is followed."""
    worker = WorkerSettings(chats_max=max(load.chats, 1))
    # What is measured is turns; a title would be one more request for each chat.
    settings = replace(Settings(), worker=worker, titles=TitlesSettings(enabled=False))
    async with AsyncExitStack() as stack, background() as tasks:
        session = await stack.enter_async_context(model_session())
        config = ProviderConfig(
            name="load", base_url=load.model_url, first_token_timeout_seconds=60
        )
        model = _Timed(session, config)
        brain = Brain(model=model, model_name="m", system="You are Wren.")
        replica = await open_replica(
            stack, tasks, settings, load.database_url, say=_quiet, brains=brains_of(brain)
        )
        meter = model.meter = Meter(load)
        before = replica.pool.statement_count
        await _run_chats(load, replica.engine, meter)
        result = meter.result(replica.pool.statement_count - before)
        await tasks.drain()
        return result


async def _run_chats(load: Load, engine: Engine, meter: Meter) -> None:
    numbers: dict[ChatId, int] = {}
    done = asyncio.Event()
    left = load.chats

    def on_change(change: ChatChange) -> None:
        nonlocal left
        if change.status is ChatStatus.WAITING and change.chat_id in numbers:
            meter.ended(numbers.pop(change.chat_id))
            left -= 1
            if left == 0:
                done.set()

    engine.on_change(on_change)
    sampler = asyncio.create_task(meter.sample_memory())
    async with asyncio.TaskGroup() as group:
        for number in range(load.chats):
            group.create_task(_begin(number, load, engine, meter, numbers))
        await done.wait()
    sampler.cancel()


async def _begin(
    number: int, load: Load, engine: Engine, meter: Meter, numbers: dict[ChatId, int]
) -> None:
    chat_id = ChatId(uuid4())
    numbers[chat_id] = number
    meter.begin(number)
    await engine.create_chat(CreateChat(chat_id=chat_id, content=plain(str(number))))
    if load.system != "engine+readers":
        return
    async with engine.follow(chat_id) as follower:
        while chat_id in numbers:
            await follower.wait_for_news()
            await follower.take()


def _quiet(_line: str) -> None:
    """The table says it all."""
