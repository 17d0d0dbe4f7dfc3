"""A replica for tests: the real engine and worker, as bots/replica.py puts them together.

async with TestReplica.start(database_url, model) as a:
    chat_id = await a.chat("Good morning")
    await a.until(chat_id, ShownStatus.WAITING)
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from bots.lifecycle import Background, background
from bots.replica import Replica, open_replica
from config.secret import Secret, SecretUrl
from config.settings import ModelProvider, Settings, WorkerSettings
from engine.agent.brain import Brain, Brains
from engine.api import Applied, Created, Engine
from engine.chat.commands import CreateChat, SendMessage, UserCommand
from engine.chat.content import Author, Content, Message, Role, plain, text_of
from engine.chat.ids import ChatId
from engine.chat.view import ChatView, ShownStatus
from engine.models.client import ChatCompletionsClient, ProviderConfig, model_session
from engine.stream.events import Event, StatusEvent
from engine.tools.builtin import ASK_PEOPLE
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool

ADA = Author(identity="test:ada", name="Ada")
FAST = WorkerSettings(lease_seconds=1.0, heartbeat_seconds=0.2, poll_seconds=0.1)
PATIENCE_SECONDS = 20.0


def settings_for(
    *, redis_url: str | None = None, worker: WorkerSettings = FAST, **sections: Any
) -> Settings:
    """Settings of a test's replica: short leases, the provider of the fake model."""
    settings = replace(Settings(), worker=worker, **sections)
    model = replace(settings.model, provider=ModelProvider.OPENAI, name="test-model")
    settings = replace(settings, model=model)
    if redis_url is None:
        return settings
    return replace(settings, redis=replace(settings.redis, url=SecretUrl(redis_url)))


class TestReplica:
    """One replica and what tests say to it."""

    __test__ = False

    def __init__(self, replica: Replica, group_task: "asyncio.Task[None]") -> None:
        self.replica = replica
        self._serving = group_task

    @property
    def engine(self) -> Engine:
        """The front door."""
        return self.replica.engine

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        database_url: str,
        model_url: str | None = None,
        *,
        redis_url: str | None = None,
        worker: WorkerSettings = FAST,
        tools: Sequence[LocalTool] = (),
        dynamic_tools: Sequence[ToolDefinition] = (ASK_PEOPLE,),
        system: str = "You are Wren.",
        works: bool = True,
    ) -> AsyncIterator["TestReplica"]:
        """Run a replica until the block ends; then it is drained, as at a shutdown."""
        settings = settings_for(redis_url=redis_url, worker=worker)
        async with AsyncExitStack() as stack:
            brains = await _brains(stack, model_url, tools, dynamic_tools, system)
            ready: asyncio.Future[Replica] = asyncio.get_running_loop().create_future()
            stop = asyncio.Event()

            async def open_(own: AsyncExitStack, tasks: Background) -> Replica:
                return await open_replica(
                    own, tasks, settings, database_url, say=_say, works=works, brains=brains
                )

            serving = asyncio.create_task(_serve(open_, ready, stop))
            waited: list[asyncio.Future[Any]] = [serving, ready]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            test = cls(await ready, serving)
            try:
                yield test
            finally:
                if not serving.done():
                    stop.set()
                    await serving

    async def kill(self) -> None:
        """End the replica at once: nothing is given back, as when its process dies."""
        self._serving.cancel()
        await asyncio.wait([self._serving])

    async def chat(self, text: str = "Good morning", **fields: Any) -> ChatId:
        """Create a chat with this first message."""
        command = CreateChat(chat_id=ChatId(uuid4()), content=plain(text), author=ADA, **fields)
        created = await self.engine.create_chat(command)
        assert isinstance(created, Created), created
        return created.chat_id

    async def send(self, chat_id: ChatId, text: str, **fields: Any) -> Applied:
        """Send a message that must be taken."""
        return await self.do(chat_id, SendMessage(content=plain(text), author=ADA, **fields))

    async def do(self, chat_id: ChatId, command: UserCommand) -> Applied:
        """Submit a command that must apply."""
        outcome = await self.engine.submit(chat_id, command)
        assert isinstance(outcome, Applied), outcome
        return outcome

    async def view(self, chat_id: ChatId) -> ChatView:
        """The chat as it stands."""
        view = await self.engine.read_chat(chat_id)
        assert view is not None
        return view

    async def until(
        self,
        chat_id: ChatId,
        wanted: ShownStatus | Callable[[ChatView], bool],
        *,
        seconds: float = PATIENCE_SECONDS,
    ) -> ChatView:
        """Wait until the stored chat is as wanted."""
        view = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    view = await self.view(chat_id)
                    met = wanted(view) if callable(wanted) else view.status is wanted
                    if met:
                        return view
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"wanted {wanted}, the chat stands at {view}") from None

    async def history(self, chat_id: ChatId) -> list[tuple[str, str]]:
        """What was said: (role, text) of every message with text."""
        messages = await self.messages(chat_id)
        return [
            (message.role.value, text_of(message.content))
            for message in messages
            if message.role in (Role.USER, Role.ASSISTANT) and text_of(message.content)
        ]

    async def messages(self, chat_id: ChatId) -> Sequence[Message]:
        """All messages that people may see."""
        return await self.engine.read_messages(chat_id, limit=1000)

    async def collect(
        self, chat_id: ChatId, until: Callable[[list[Event]], bool], *, after_id: int = 0
    ) -> list[Event]:
        """Follow a chat until its events are as wanted."""
        events: list[Event] = []
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            self.engine.follow(chat_id, after_id=after_id) as follower,  # type: ignore[arg-type]
        ):
            async for event in follower:
                events.append(event)
                if until(events):
                    return events
        raise AssertionError("the follower ended")


def ends_with(status: ShownStatus) -> Callable[[list[Event]], bool]:
    """A condition for `collect`: the newest event says this status."""

    def met(events: list[Event]) -> bool:
        last = events[-1]
        return isinstance(last, StatusEvent) and last.status is status

    return met


def content_text(content: Content) -> str:
    """The text of a content."""
    return text_of(content)


async def _brains(
    stack: AsyncExitStack,
    model_url: str | None,
    tools: Sequence[LocalTool],
    dynamic_tools: Sequence[ToolDefinition],
    system: str,
) -> Brains:
    session = await stack.enter_async_context(model_session())
    config = ProviderConfig(
        name="fake",
        display_name="Fake Provider",
        base_url=model_url or "http://127.0.0.1:9/v1",
        api_key=Secret("sk-test-key"),
        first_token_timeout_seconds=5,
        silence_timeout_seconds=5,
    )
    brain = Brain(
        model=ChatCompletionsClient(session, config),
        model_name="test-model",
        system=system,
        local_tools=tuple(tools),
        dynamic_tools=tuple(dynamic_tools),
        context_limit=128_000,
    )
    return lambda _bot, model: replace(brain, model_name=model) if model else brain


async def _serve(
    open_: Callable[[AsyncExitStack, Background], Awaitable[Replica]],
    ready: "asyncio.Future[Replica]",
    stop: asyncio.Event,
) -> None:
    async with AsyncExitStack() as stack, background() as tasks:
        ready.set_result(await open_(stack, tasks))
        await stop.wait()
        await tasks.drain()


def _say(_line: str) -> None:
    """Tests read logs, not progress."""
