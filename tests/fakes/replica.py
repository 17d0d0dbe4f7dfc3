"""A replica for tests: the real engine and worker, as bots/replica.py puts them together.

async with TestReplica.start(database_url, model) as a:
    chat_id = await a.chat("Good morning")
    await a.until(chat_id, ShownStatus.WAITING)
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import uuid4

from bots.lifecycle import Background, background
from bots.replica import Replica, open_replica
from config.secret import Secret
from config.settings import Settings, WorkerSettings
from engine.agent.brain import Brain, BrainRequest, Brains
from engine.api import Applied, ChatFollower, Created, Engine
from engine.chat.changes import ChatChange
from engine.chat.commands import Command, CreateChat, Fence, SendMessage, UserCommand
from engine.chat.content import (
    Author,
    Message,
    NewMessage,
    Role,
    ToolCallPart,
    ToolResultPart,
    plain,
    text_of,
)
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import ChatId, MessageId, RunnerId
from engine.chat.view import ChatView, ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.provider import ProviderConfig
from engine.stream.events import Event, StatusEvent
from engine.tools.builtin import ASK_PEOPLE
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool
from tests.fakes.live_chat import LiveChat
from tests.fakes.replica_settings import FAST, settings_for

ADA = Author(identity="test:T1:ada", name="Ada")
BO = Author(identity="test:T1:bo", name="Bo")
ONLY_WAKES = WorkerSettings(lease_seconds=3600.0, heartbeat_seconds=1200.0, poll_seconds=3600.0)
"""A worker that sees nothing but what it is woken for."""
PATIENCE_SECONDS = 20.0
_STEAL = """
WITH chat AS (
    UPDATE chats SET runner_id = $2, snapshot_version = snapshot_version + 1 WHERE id = $1
)
INSERT INTO chat_heartbeats (chat_id, runner_id, lease) VALUES ($1, $2, '1 hour')
ON CONFLICT (chat_id) DO UPDATE SET
    runner_id = $2, heartbeat_at = now(), lease = excluded.lease
"""
T = TypeVar("T")


async def soon(work: Awaitable[T]) -> T:
    """The result of something that a test cannot go on without."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await work


async def eventually(met: Callable[[], Awaitable[T]], *, seconds: float = PATIENCE_SECONDS) -> T:
    """The first true result of asking again and again."""
    async with asyncio.timeout(seconds):
        while True:
            if result := await met():
                return result
            await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignWorker:
    """A live worker of some other replica, which holds a chat and does what the test says."""

    engine: Engine
    chat_id: ChatId
    runner_id: RunnerId

    def fence(self, history_version: int | None = None) -> Fence:
        """Its fence; without a version any history will do."""
        return Fence(runner_id=self.runner_id, history_version=history_version)

    async def report(self, command: Command) -> Applied | Refusal | None:
        """Submit a worker's command; what came of it."""
        return await self.engine.machine.submit(self.chat_id, command)


class TestReplica:
    """One replica and what tests say to it."""

    __test__ = False

    def __init__(
        self, replica: Replica, serving: "asyncio.Task[None]", stop: asyncio.Event
    ) -> None:
        self.replica = replica
        self._serving = serving
        self._stop = stop

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
        action_seconds: float = 86_400.0,
        silence_seconds: float = 5.0,
        brains: Brains | None = None,
        makes_titles: bool = False,
        notify_after: float | None = None,
        settings: Settings | None = None,
    ) -> AsyncIterator["TestReplica"]:
        """Run a replica until the block ends; then it is drained, as at a shutdown.

        With `settings` it gets its brains as a real replica does: from them and from the database.
        """
        is_real = settings is not None
        settings = settings or settings_for(
            redis_url=redis_url,
            worker=worker,
            action_seconds=action_seconds,
            makes_titles=makes_titles,
            notify_after=notify_after,
        )
        async with AsyncExitStack() as stack:
            if brains is None and not is_real:
                session = await stack.enter_async_context(model_session())
                provider = provider_at(model_url, silence_seconds)
                brain = Brain(
                    model=HttpModel(session, provider),
                    model_name="test-model",
                    system=system,
                    local_tools=tuple(tools),
                    dynamic_tools=tuple(dynamic_tools),
                    context_limit=128_000,
                )
                brains = brains_of(brain)
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
            test = cls(await ready, serving, stop)
            try:
                yield test
            finally:
                await test.close()

    async def close(self) -> None:
        """Shut the replica down in good order. A replica that failed tells by what."""
        self._stop.set()
        await asyncio.wait([self._serving])
        if not self._serving.cancelled() and (error := self._serving.exception()):
            raise error

    async def kill(self) -> None:
        """End the replica at once: nothing is given back, as when its process dies."""
        self._serving.cancel()
        await asyncio.wait([self._serving])

    async def hold(self, chat_id: ChatId) -> ForeignWorker:
        """Let a foreign worker, which lives on, hold a chat that nobody works on."""
        acquired = await self.engine.leases.acquire_chats(1000, 3600.0)
        mine = next(chat for chat in acquired if chat.chat_id == chat_id)
        for chat in acquired:
            self.engine.relay.publish_change(chat.change)
        return ForeignWorker(engine=self.engine, chat_id=chat_id, runner_id=mine.runner_id)

    async def steal(self, chat_id: ChatId) -> ForeignWorker:
        """Let a foreign worker take a chat over from whoever holds it, without a word."""
        runner_id = RunnerId(uuid4())
        async with self.replica.pool.session() as connection:
            await connection.execute(_STEAL, chat_id, runner_id)
        return ForeignWorker(engine=self.engine, chat_id=chat_id, runner_id=runner_id)

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

    async def refused(self, chat_id: ChatId, command: UserCommand) -> RefusalReason:
        """Submit a command that must be refused; why it is."""
        outcome = await self.engine.submit(chat_id, command)
        assert isinstance(outcome, Refusal), outcome
        return outcome.reason

    async def stored(self, chat_id: ChatId) -> ChatChange:
        """The chat's row: the stored status, versions and who holds it."""
        (change,) = await self.engine.rows.versions_of([chat_id])
        return change

    async def queue(self, chat_id: ChatId) -> list[str]:
        """The texts that wait."""
        return [text_of(queued.content) for queued in await self.engine.read_queue(chat_id)]

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
        return said(await self.messages(chat_id))

    async def messages(self, chat_id: ChatId) -> Sequence[Message]:
        """All messages that people may see."""
        return await self.engine.read_messages(chat_id, limit=1000)

    async def results(self, chat_id: ChatId) -> list[ToolResultPart]:
        """Every tool result in the history, in order."""
        return [
            part
            for message in await self.messages(chat_id)
            for part in message.content
            if isinstance(part, ToolResultPart)
        ]

    @asynccontextmanager
    async def watch(self, chat_id: ChatId, *, after_id: int = 0) -> AsyncIterator["Watcher"]:
        """Follow a chat for as long as the block takes."""
        async with self.engine.follow(chat_id, after_id=MessageId(after_id)) as follower:
            yield Watcher(follower)


class Watcher:
    """A subscriber that keeps all events in order, and the chat as they show it."""

    def __init__(self, follower: ChatFollower) -> None:
        self.follower = follower
        self.events: list[Event] = []
        self.chat = LiveChat()

    async def until(self, met: Callable[["Watcher"], bool]) -> None:
        """Take events until it is so."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not met(self):
                    self._take(await anext(self.follower))
        except TimeoutError:
            raise AssertionError(f"it did not come: {self.events[-20:]}") from None

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self.chat.apply(event)

    async def until_status(self, status: ShownStatus) -> None:
        """Take events until the newest one tells of this status, and all that came along with it.

        A state that is told anew says its status first and its messages after it.
        """
        await self.until(
            lambda seen: (
                bool(seen.events)
                and isinstance(seen.events[-1], StatusEvent)
                and seen.events[-1].status is status
            )
        )
        while self.follower._ready:
            self._take(await anext(self.follower))

    async def until_text(self, text: str) -> None:
        """Take events until the preview says so much."""
        await self.until(lambda seen: seen.chat.preview.text.startswith(text))

    def all_of(self, kind: type[T]) -> list[T]:
        """The events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def statuses(self) -> list[ShownStatus]:
        """Every status that was told, in order."""
        return [event.status for event in self.all_of(StatusEvent)]

    @property
    def said(self) -> list[tuple[str, str]]:
        """The messages with text as they are shown: (role, text)."""
        return said(self.chat.messages)


def said(messages: Sequence[Message | NewMessage]) -> list[tuple[str, str]]:
    """(role, text) of every message of a person or the model with text."""
    return [
        (message.role.value, text_of(message.content))
        for message in messages
        if message.role in (Role.USER, Role.ASSISTANT) and text_of(message.content)
    ]


def unanswered(messages: Sequence[Message]) -> list[str]:
    """What is wrong with the calls of a history: those without exactly one result after them."""
    calls: dict[str, int] = {}
    for message in messages:
        for part in message.content:
            if isinstance(part, ToolCallPart):
                calls[f"{message.id}/{part.tool_call_id}"] = 0
            elif isinstance(part, ToolResultPart):
                call = next(
                    (key for key in reversed(calls) if key.endswith(f"/{part.tool_call_id}")), None
                )
                calls[call or part.tool_call_id] = calls.get(call or "", 1) + 1
    return [f"{call} has {count} results" for call, count in calls.items() if count != 1]


def provider_at(url: str | None, silence_seconds: float = 5.0) -> ProviderConfig:
    """The fake model as a provider; without a URL one that nobody listens at."""
    return ProviderConfig(
        name="fake",
        display_name="Fake Provider",
        base_url=url or "http://127.0.0.1:9/v1",
        api_key=Secret("sk-test-key"),
        first_token_timeout_seconds=5,
        silence_timeout_seconds=silence_seconds,
    )


def brains_of(brain: Brain) -> Brains:
    """The same brain for every chat, with the model that the chat asks for."""

    async def brain_of(request: BrainRequest) -> Brain:
        return replace(brain, model_name=request.model) if request.model else brain

    return brain_of


async def _serve(
    open_: Callable[[AsyncExitStack, Background], Coroutine[Any, Any, Replica]],
    ready: "asyncio.Future[Replica]",
    stop: asyncio.Event,
) -> None:
    async with AsyncExitStack() as stack, background() as tasks:
        ready.set_result(await open_(stack, tasks))
        await stop.wait()
        await tasks.drain()


def _say(_line: str) -> None:
    """Tests read logs, not progress."""
