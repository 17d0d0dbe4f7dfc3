"""Which chat belongs to which thread of a platform. A thread has one chat; a chat may have several."""

from dataclasses import dataclass
from datetime import datetime

from engine.chat.commands import ThreadBinding
from engine.chat.ids import ChatId
from engine.store.errors import StoreUnavailable
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import encode_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One thread and its chat. `last_seen`: the newest event that was read, as the platform names it."""

    id: int
    thread: ThreadBinding
    chat_id: ChatId
    bot: str
    last_seen: str | None
    created_at: datetime


class Bindings:
    """Keeps bindings. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def bind(self, thread: ThreadBinding, chat_id: ChatId, bot: str) -> Binding:
        """Show an existing chat in a thread. A thread that has a chat keeps it: see the answer."""
        place = _place_of(thread)
        row = await self._pool.fetch_one(query("bindings.bind"), *place, chat_id, bot)
        if row is None:
            row = await self._pool.fetch_one(query("bindings.find"), *place)
        if row is None:
            raise StoreUnavailable("the thread's binding was removed while it was looked up")
        return _binding_of(row)

    async def find_binding(
        self, platform: str, installation: str, channel: str, thread: str
    ) -> Binding | None:
        """The thread's binding, if it has one."""
        row = await self._pool.fetch_one(
            query("bindings.find"), platform, installation, channel, thread
        )
        return None if row is None else _binding_of(row)

    async def find_by_page(
        self, platform: str, installation: str, channel: str, message_id: str
    ) -> Binding | None:
        """The binding of the thread in which a message of ours was posted, if the ledger has it."""
        row = await self._pool.fetch_one(
            query("bindings.find_by_page"), platform, installation, channel, encode_text(message_id)
        )
        return None if row is None else _binding_of(row)

    async def bindings_of(self, chat_id: ChatId) -> tuple[Binding, ...]:
        """All threads that show a chat, oldest first."""
        rows = await self._pool.fetch(query("bindings.of_chat"), chat_id)
        return tuple(_binding_of(row) for row in rows)

    async def set_last_seen(self, binding_id: int, last_seen: str) -> bool:
        """Remember how far the thread was read. False: there is no such binding."""
        changed = await self._pool.execute(
            query("bindings.set_last_seen"), binding_id, encode_text(last_seen)
        )
        return changed == 1


def _place_of(thread: ThreadBinding) -> tuple[str, str, str, str]:
    return (thread.platform, thread.installation, thread.channel, thread.thread)


def _binding_of(row: Row) -> Binding:
    return Binding(
        id=row["id"],
        thread=ThreadBinding(
            platform=row["platform"],
            installation=row["installation"],
            channel=row["channel"],
            thread=row["thread"],
        ),
        chat_id=row["chat_id"],
        bot=row["bot"],
        last_seen=row["last_seen"],
        created_at=row["created_at"],
    )
