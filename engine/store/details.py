"""What people may change of a chat at any time, whatever it is doing: title, pin, model, labels.

None of it is part of the state machine. Each change raises the chat's version and is published, so that
readers see it.
"""

from collections.abc import Callable

from msgspec import UNSET, UnsetType

from engine.chat.changes import ChatChange
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.details import DetailsChange, rank_between
from engine.chat.ids import ChatId
from engine.store.pool import Pool, Row, Transaction
from engine.store.queries import query
from engine.store.rows import change_of
from engine.store.stored_json import encode_json, encode_optional_text, encode_text


class Details:
    """Changes details. Methods raise StoreUnavailable when the database is out of reach.

    `publish` must neither wait nor raise.
    """

    def __init__(self, pool: Pool, publish: Callable[[ChatChange], object]) -> None:
        self._pool = pool
        self._publish = publish

    async def set_title(self, chat_id: ChatId, title: str, *, by_human: bool) -> bool:
        """Name the chat. False: there is no such chat, or a generated title met a person's."""
        if by_human:
            return await self.change(chat_id, DetailsChange(title=title)) is True
        row = await self._pool.fetch_one(
            query("details.set_generated_title"), chat_id, encode_text(title)
        )
        return self._told(row)

    async def change(self, chat_id: ChatId, wanted: DetailsChange) -> bool | Refusal:
        """Change all of it, or nothing. False: there is no such chat. What is archived has no pin."""
        async with self._pool.transaction() as transaction:
            rank = None
            if wanted.pin_order is not UNSET and wanted.pins:
                rank = await _rank_for(transaction, chat_id, wanted.pin_order)
            row = await transaction.fetch_one(
                query("details.change"), chat_id, *_arguments_of(wanted), rank
            )
        if row is None:
            exists = await self._pool.fetch_one(query("details.exists"), chat_id)
            return Refusal(reason=RefusalReason.ARCHIVED) if exists else False
        return self._told(row)

    def _told(self, row: Row | None) -> bool:
        if row is not None:
            self._publish(change_of(row))
        return row is not None


async def _rank_for(transaction: Transaction, chat_id: ChatId, place: int) -> float | None:
    """The rank at this place. Whoever else pins in the organization waits for this transaction.

    Where two neighbours have become too close for a number between them, all get new ranks.
    """
    await transaction.fetch(query("details.lock_pins"), chat_id)
    for is_renumbered in (False, True):
        if is_renumbered:
            await transaction.execute(query("details.renumber_pins"), chat_id)
        around = await transaction.fetch_one(query("details.pins_around"), chat_id, place)
        if around is not None:
            rank = rank_between(around["before"], around["after"])
            if rank is not None:
                return rank
    return None


def _arguments_of(wanted: DetailsChange) -> tuple[object, ...]:
    """For each detail whether it changes, and into what."""
    pinned = None if wanted.pin_order is UNSET else wanted.pins
    labels = None if wanted.labels is UNSET else encode_json(dict(wanted.labels))
    return (
        wanted.title is not UNSET,
        _text_of(wanted.title),
        labels,
        wanted.model is not UNSET,
        _text_of(wanted.model),
        pinned,
        None if wanted.records_calls is UNSET else wanted.records_calls,
    )


def _text_of(value: str | UnsetType | None) -> str | None:
    return None if value is UNSET else encode_optional_text(value)
