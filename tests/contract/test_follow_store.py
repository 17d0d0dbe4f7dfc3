"""Following real chats: what the database says and what a follower shows are the same thing."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from engine.api import Engine
from engine.chat import commands as c
from engine.chat.changes import Episode
from engine.chat.content import Finish, NewMessage, Role, TextPart, ToolCallPart, plain
from engine.chat.ids import ChatId, MessageId, ToolCallId
from engine.chat.snapshot import Executor, OpenCall, Snapshot
from engine.chat.view import ShownStatus
from engine.store.leases import AcquiredChat
from engine.store.outcomes import Applied, Created
from engine.store.pool import Pool
from engine.stream.events import HistoryReset, MessageEvent, TextDelta
from engine.stream.part_buffer import EpisodeWriter
from engine.stream.relay import Relay
from tests.unit.engine.stream.relays import Watched, replicas, watching

ASKS = ToolCallPart(tool_call_id=ToolCallId("call_1"), tool_name="approve_docking", args="{}")
OPEN_CALL = OpenCall(
    tool_call_id=ASKS.tool_call_id, tool_name=ASKS.tool_name, executor=Executor.PEOPLE
)


@dataclass
class Replicas:
    """One replica that works and one that is followed on, over one database."""

    near: Engine
    far: Engine

    async def create(self, text: str) -> ChatId:
        chat_id = ChatId(uuid4())
        created = await self.near.create_chat(
            c.CreateChat(chat_id=chat_id, content=plain(text), system_prompt="You are Wren.")
        )
        assert isinstance(created, Created)
        return chat_id

    async def acquire(self, chat_id: ChatId) -> AcquiredChat:
        (chat,) = await self.near.leases.acquire_chats(1, 30.0)
        assert chat.chat_id == chat_id
        self.near.relay.publish_change(chat.change)
        return chat

    async def submit(self, chat_id: ChatId, command: c.Command) -> Snapshot:
        applied = await self.near.machine.submit(chat_id, command)
        assert isinstance(applied, Applied), applied
        return applied.snapshot


@pytest.fixture(params=["memory", "two replicas"])
async def house(
    request: pytest.FixtureRequest, pool: Pool, redis_url: str
) -> AsyncIterator[Replicas]:
    async with replicas(request.param, redis_url) as (near, far):
        yield Replicas(near=Engine(pool, near), far=Engine(pool, far))


def answer(text: str, *calls: ToolCallPart) -> NewMessage:
    return NewMessage(
        role=Role.ASSISTANT, content=(TextPart(text=text), *calls), finish=Finish.STOP
    )


async def assert_shows_what_is_stored(house: Replicas, chat_id: ChatId, watched: Watched) -> None:
    """The follower's picture and the database's, once the follower has nothing new to say."""
    view = await house.near.read_chat(chat_id)
    assert view is not None
    live = await watched.until(
        lambda live: (
            live.snapshot_version == view.versions.snapshot_version or live.status is view.status
        )
    )
    while await watched.take():
        pass
    assert live.messages == tuple(await house.near.read_messages(chat_id))
    assert live.queue == tuple(await house.near.read_queue(chat_id))
    assert live.actions == tuple(await house.near.read_actions(chat_id))
    assert (live.status, live.archived) == (view.status, view.archived)
    assert (live.error, live.retry) == (view.last_error, view.retry)


async def test_a_follower_shows_what_is_stored_through_a_chats_whole_life(house: Replicas) -> None:
    chat_id = await house.create("May the Ada dock?")
    async with watching(house.far.stream, chat_id) as watched:
        await watched.take()
        assert watched.live.status is ShownStatus.PENDING
        assert [message.role for message in watched.live.messages] == [Role.USER]

        chat = await house.acquire(chat_id)
        fence = c.Fence(runner_id=chat.runner_id)
        at = await house.submit(chat_id, c.RecordAttempt(fence=fence))
        writer = _open(house.near.relay, chat_id, at)
        writer.append([TextDelta(text="I will "), TextDelta(text="ask.")])
        await watched.until(lambda live: live.preview.text == "I will ask.")
        await house.submit(
            chat_id,
            c.EnterRequiresAction(
                fence=fence,
                messages=(answer("I will ask.", ASKS),),
                open_calls=(OPEN_CALL,),
                actions=(
                    c.NewAction(
                        tool_call_id=ASKS.tool_call_id,
                        tool_name=ASKS.tool_name,
                        executor=Executor.PEOPLE,
                        args=ASKS.args,
                    ),
                ),
                deadline_at=datetime.now(UTC) + timedelta(minutes=5),
            ),
        )
        writer.close()
        await watched.until(lambda live: live.actions)
        assert watched.live.preview.content == ()
        await assert_shows_what_is_stored(house, chat_id, watched)

        await house.submit(chat_id, c.SendMessage(content=plain("And when?")))
        await watched.until(lambda live: live.queue)
        (action,) = watched.live.actions
        await house.submit(chat_id, c.AnswerAction(action_id=action.id, result={"approved": True}))
        await watched.until(lambda live: not live.actions)
        await assert_shows_what_is_stored(house, chat_id, watched)

        chat = await house.acquire(chat_id)
        fence = c.Fence(runner_id=chat.runner_id)
        await house.submit(chat_id, c.FinishTurn(fence=fence, messages=(answer("It may."),)))
        await watched.until(lambda live: not live.queue)
        await house.submit(chat_id, c.FinishTurn(fence=fence, messages=(answer("At four."),)))
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        await assert_shows_what_is_stored(house, chat_id, watched)

        first = watched.live.messages[0].id
        await house.submit(
            chat_id, c.EditMessage(message_id=first, content=plain("May the Bo dock?"))
        )
        await watched.until(lambda _: watched.texts == ["May the Bo dock?"])
        assert len(watched.told(HistoryReset)) == 1
        await assert_shows_what_is_stored(house, chat_id, watched)

        await house.submit(chat_id, c.Archive())
        await watched.until(lambda live: live.archived)
        await assert_shows_what_is_stored(house, chat_id, watched)
    told = [(event.message.id, event.message.revision) for event in watched.told(MessageEvent)]
    assert len(told) == len(set(told))


async def test_known_messages_are_not_told_again(house: Replicas) -> None:
    """E29: after=second gives exactly the third."""
    chat_id = await house.create("Is the harbour open?")
    chat = await house.acquire(chat_id)
    fence = c.Fence(runner_id=chat.runner_id)
    await house.submit(chat_id, c.FinishTurn(fence=fence, messages=(answer("Yes."),)))
    second = (await house.near.read_messages(chat_id))[-1].id
    await house.submit(chat_id, c.SendMessage(content=plain("Until when?")))
    async with (
        watching(house.far.stream, chat_id) as everything,
        watching(house.far.stream, chat_id, MessageId(second)) as third,
    ):
        await everything.take()
        await third.take()
    assert everything.texts == ["Is the harbour open?", "Yes.", "Until when?"]
    assert third.texts == ["Until when?"]


async def test_an_interrupt_on_one_replica_is_seen_on_the_other(house: Replicas) -> None:
    """E1: B sees status interrupting, and waiting once the partial answer is stored."""
    chat_id = await house.create("Tell me everything.")
    chat = await house.acquire(chat_id)
    fence = c.Fence(runner_id=chat.runner_id)
    at = await house.submit(chat_id, c.RecordAttempt(fence=fence))
    async with watching(house.far.stream, chat_id) as watched:
        await watched.take()
        writer = _open(house.near.relay, chat_id, at)
        writer.append([TextDelta(text="In the begin")])
        await watched.until(lambda live: live.preview.text == "In the begin")
        await house.submit(chat_id, c.Interrupt())
        await watched.until(lambda live: live.status is ShownStatus.INTERRUPTING)
        assert watched.live.preview.text == "In the begin"
        partial = answer("In the begin")
        await house.submit(chat_id, c.FinishInterruption(fence=fence, messages=(partial,)))
        writer.close()
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        await assert_shows_what_is_stored(house, chat_id, watched)
    assert watched.texts == ["Tell me everything.", "In the begin"]


async def test_nul_and_its_escaped_look_alike_are_shown_byte_for_byte(house: Replicas) -> None:
    """E24: both survive storage and the stream byte for byte."""
    text = "\x00 is not \\u0000"
    chat_id = await house.create(text)
    chat = await house.acquire(chat_id)
    at = await house.submit(chat_id, c.RecordAttempt(fence=c.Fence(runner_id=chat.runner_id)))
    async with watching(house.far.stream, chat_id) as watched:
        await watched.take()
        writer = _open(house.near.relay, chat_id, at)
        writer.append([TextDelta(text=text)])
        await watched.until(lambda live: live.preview.text == text)
        assert watched.texts == [text]
        writer.close()


def _open(relay: Relay, chat_id: ChatId, at: Snapshot) -> EpisodeWriter:
    episode = Episode(history_version=at.history_version, attempt=at.generation_attempt)
    return relay.open_episode(chat_id, episode)
