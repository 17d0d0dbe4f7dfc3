"""One database read for all who ask the same at the same time."""

import asyncio
from typing import Protocol

from engine.chat.changes import ChatChange, Versions
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import SyncRead


class Reader(Protocol):
    """What following needs of the store. Each answer is of one consistent snapshot."""

    async def read_sync(
        self, chat_id: ChatId, known: Versions, after_id: MessageId
    ) -> SyncRead | None:
        """What is new beyond `known`, see SyncRead; None where there is no such chat.

        With nothing known, the messages after `after_id`; otherwise all changed ones.
        """
        ...

    async def versions_of(self, chat_ids: list[ChatId]) -> list[ChatChange]:
        """Where these chats stand, in any order; chats that do not exist are left out."""
        ...


class SharedReads:
    """Joins equal reads that overlap. A read is never shared with one who asked after its end."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._running: dict[
            tuple[ChatId, Versions, MessageId], asyncio.Future[SyncRead | None]
        ] = {}

    async def read_sync(
        self, chat_id: ChatId, known: Versions, after_id: MessageId
    ) -> SyncRead | None:
        """As Reader's. The answer may be of a snapshot from shortly before the question."""
        key = (chat_id, known, after_id)
        while (running := self._running.get(key)) is not None:
            # The one who reads may be cancelled; then somebody else must read.
            await asyncio.wait((running,))
            if not running.cancelled():
                return running.result()
        future = self._running[key] = asyncio.get_running_loop().create_future()
        try:
            read = await self._reader.read_sync(chat_id, known, after_id)
        except Exception as error:
            future.set_exception(error)
            future.exception()  # Seen: the loop must not report it where nobody else waits.
            raise
        else:
            future.set_result(read)
            return read
        finally:
            del self._running[key]
            if not future.done():
                future.cancel()
