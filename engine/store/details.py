"""What people may change of a chat at any time, whatever it is doing: title, pin, model, labels.

None of it is part of the state machine. Each change raises the chat's version and is published, so that
readers see it.
"""

from collections.abc import Callable, Mapping

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import encode_json, encode_optional_text, encode_text


class Details:
    """Changes details. Methods say whether anything changed; they raise StoreUnavailable.

    `publish` must neither wait nor raise.
    """

    def __init__(self, pool: Pool, publish: Callable[[ChatChange], object]) -> None:
        self._pool = pool
        self._publish = publish

    async def set_title(self, chat_id: ChatId, title: str, *, by_human: bool) -> bool:
        """Name the chat. False: there is no such chat, or a generated title met a person's."""
        source = "human" if by_human else "generated"
        return await self._set("set_title", chat_id, encode_text(title), source)

    async def set_pinned(self, chat_id: ChatId, *, pinned: bool) -> bool:
        """Pin or unpin the chat. False: there is no such chat, or it is archived."""
        return await self._set("set_pinned", chat_id, pinned)

    async def set_model(self, chat_id: ChatId, model: str | None) -> bool:
        """Choose the model of the next runs; None: the bot's own."""
        return await self._set("set_model", chat_id, encode_optional_text(model))

    async def set_labels(self, chat_id: ChatId, labels: Mapping[str, str]) -> bool:
        """Replace all labels."""
        return await self._set("set_labels", chat_id, encode_json(dict(labels)))

    async def _set(self, name: str, chat_id: ChatId, *args: object) -> bool:
        row = await self._pool.fetch_one(query(f"details.{name}"), chat_id, *args)
        if row is None:
            return False
        self._publish(
            ChatChange(
                chat_id=chat_id,
                snapshot_version=row["snapshot_version"],
                history_version=row["history_version"],
                queue_version=row["queue_version"],
                retry_version=row["retry_version"],
                generation_attempt=row["generation_attempt"],
                status=ChatStatus(row["status"]),
                archived=row["archived"],
                runner_id=row["runner_id"],
                lease_live=row["lease_live"],
            )
        )
        return True
