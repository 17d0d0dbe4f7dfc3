"""A chat that tests change on one side of a relay and follow on the other."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from engine.chat.changes import ChatChange
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.snapshot import ChatStatus
from engine.stream.events import TextDelta
from engine.stream.part_buffer import EpisodeWriter
from engine.stream.relay import Relay
from engine.stream.stream_loop import StreamLoop
from tests.unit.engine.stream.committed import CommittedChat, CommittedChats
from tests.unit.engine.stream.relays import Watched, replicas, stream_loop, watching

RELAYS = ("memory", "redis", "two replicas")
OVERLOADED = ChatError(kind=ErrorKind.OVERLOADED, message="The model is overloaded.")
RETRY = RetryState(attempt=1, delay_ms=2000, retrying_at=1_770_000_000.0, error=OVERLOADED)


@dataclass
class House:
    """A chat, the relay it is changed through, and the loop it is followed by."""

    chat: CommittedChat
    reader: CommittedChats
    near: Relay
    far: Relay
    loop: StreamLoop

    def publish(self, change: ChatChange) -> ChatChange:
        self.near.publish_change(change)
        return change

    def run_turn(self, ask: str) -> EpisodeWriter:
        """A message arrives and a worker begins to answer it."""
        self.publish(self.chat.commit(ask=ask, status=ChatStatus.RUNNING))
        self.publish(self.chat.commit(lease_live=True, next_attempt=True))
        return self.near.open_episode(self.chat.chat_id, self.chat.episode)

    def finish_turn(self, writer: EpisodeWriter, say: str) -> None:
        """The answer is stored."""
        self.publish(self.chat.commit(say=say, status=ChatStatus.WAITING, lease_live=False))
        writer.close()

    def watch(self, after_id: int = 0) -> AbstractAsyncContextManager[Watched]:
        return watching(self.loop, self.chat.chat_id, after_id)


@asynccontextmanager
async def open_house(kind: str, redis_url: str) -> AsyncIterator[House]:
    """A house over one of the RELAYS."""
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        replicas(kind, redis_url) as (near, far),
        stream_loop(reader, far) as loop,
    ):
        yield House(chat=chat, reader=reader, near=near, far=far, loop=loop)


def say(writer: EpisodeWriter, *words: str) -> None:
    for word in words:
        writer.append([TextDelta(text=word)])
