"""Pages of long forms that somebody has filled in, kept until the last one is sent. They go with the chat."""

from collections.abc import Mapping
from typing import Any

from engine.chat.ids import ActionId
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_json, encode_json, encode_text


class FormDrafts:
    """Keeps drafts. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def save(self, action_id: ActionId, identity: str, answers: Mapping[str, Any]) -> None:
        """Add answers by field name to what this person has filled in. None: the field is empty.

        A question that is not there any more has no drafts.
        """
        await self._pool.execute(
            query("form_drafts.save"), action_id, encode_text(identity), encode_json(dict(answers))
        )

    async def read(self, action_id: ActionId, identity: str) -> dict[str, Any]:
        """What this person has filled in so far, by field name."""
        row = await self._pool.fetch_one(
            query("form_drafts.read"), action_id, encode_text(identity)
        )
        return {} if row is None else dict(decode_json(row["answers"]))
