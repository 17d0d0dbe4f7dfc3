"""How far each reader has read each chat. A mark only moves forward, never beyond what there is."""

from engine.chat.ids import ChatId, MessageId
from engine.store.commit import uncancelled
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import encode_text


class Reads:
    """Keeps read marks. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def mark_read(
        self, chat_id: ChatId, identity: str, message_id: MessageId | None = None
    ) -> bool:
        """Note that somebody has read up to this message, or all there is. False: no such chat.

        Once begun it is done, also when the reader goes away meanwhile.
        """
        row = await uncancelled(
            self._pool.fetch_one(query("reads.mark"), chat_id, encode_text(identity), message_id)
        )
        return row is not None
