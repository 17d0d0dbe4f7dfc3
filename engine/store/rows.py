"""Reading chats. Every answer is of one snapshot of the database; nothing here locks or changes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.chat.actions import RequiredAction
from engine.chat.answerers import GROUP
from engine.chat.changes import ChatChange, Versions
from engine.chat.content import Message, QueuedMessage, Role, Visibility
from engine.chat.ids import (
    ActionId,
    ChatId,
    MessageId,
    QueuedId,
)
from engine.chat.snapshot import ChatStatus
from engine.chat.view import ChatView, SyncRead
from engine.store.pool import Pool, Row
from engine.store.queries import query
from engine.store.stored_json import decode_json, decode_text, encode_text

PAGE_MAX = 1000
"""Messages in one page, however many are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the model is told, in order, and the history that it is of, for the fence."""

    history_version: int
    generation_attempt: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRef:
    """A message in the history, found by its source key."""

    message_id: MessageId
    role: Role
    is_last_user_message: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRef:
    """A message that still waits, found by its source key."""

    queued_id: QueuedId


class ChatRows:
    """Reads chats. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read_chat(self, chat_id: ChatId) -> ChatView | None:
        """One chat as readers see it; running without a live lease is shown as pending."""
        row = await self._pool.fetch_one(query("rows.read_chat"), chat_id)
        return None if row is None else decode_json(row["chat"], ChatView)

    async def read_sync(
        self, chat_id: ChatId, known: Versions, after_id: MessageId
    ) -> SyncRead | None:
        """What is new beyond `known`, see SyncRead. Messages for the model alone are left out.

        With nothing known, the messages after `after_id`; otherwise all that changed.
        """
        row = await self._pool.fetch_one(
            query("rows.read_sync"),
            chat_id,
            known.history_version,
            known.queue_version,
            known.snapshot_version == 0,
            after_id,
        )
        return None if row is None else decode_json(row["sync"], SyncRead)

    async def read_messages(
        self,
        chat_id: ChatId,
        *,
        after: MessageId | None = None,
        before: MessageId | None = None,
        limit: int = 100,
        audience: Visibility | None = Visibility.USER,
    ) -> tuple[Message, ...]:
        """A page of the history, in order: the first after `after`, else the last before `before`.

        `audience`: who looks, people or the model; None sees all. Deleted messages are left out.
        """
        name, edge = ("after", after) if after is not None else ("before", before)
        row = await self._pool.fetch_one(
            query(f"rows.messages_{name}"),
            chat_id,
            edge,
            None if audience is Visibility.BOTH else audience,
            min(limit, PAGE_MAX),
        )
        return _messages_of(row)

    async def read_prompt(self, chat_id: ChatId) -> Prompt | None:
        """What the model is told: system messages, the summary that stands, and the rest since then.

        Nothing from before its context was cleared.
        """
        row = await self._pool.fetch_one(query("rows.read_prompt"), chat_id)
        if row is None:
            return None
        return Prompt(
            history_version=row["history_version"],
            generation_attempt=row["generation_attempt"],
            messages=_messages_of(row),
        )

    async def versions_of(self, chat_ids: list[ChatId]) -> list[ChatChange]:
        """Where these chats stand, in any order; chats that do not exist are left out."""
        rows = await self._pool.fetch(query("rows.versions_of"), chat_ids)
        return [change_of(row) for row in rows]

    async def read_queue(self, chat_id: ChatId) -> tuple[QueuedMessage, ...]:
        """What waits, in the order in which it will be answered."""
        row = await self._pool.fetch_one(query("rows.read_queue"), chat_id)
        waiting: tuple[QueuedMessage, ...] = _decode(row, "queue", tuple[QueuedMessage, ...])
        return waiting

    async def read_actions(
        self, chat_id: ChatId, *, only_open: bool = True
    ) -> tuple[RequiredAction, ...]:
        """The actions of a chat, in the order of their calls."""
        row = await self._pool.fetch_one(query("rows.read_actions"), chat_id, only_open)
        actions: tuple[RequiredAction, ...] = _decode(row, "actions", tuple[RequiredAction, ...])
        return actions

    async def read_action(self, action_id: ActionId) -> RequiredAction | None:
        """One action, open or closed."""
        row = await self._pool.fetch_one(query("rows.read_action"), action_id)
        return None if row is None else decode_json(row["action"], RequiredAction)

    async def groups_of(self, chat_id: ChatId, identity: str) -> frozenset[str]:
        """The groups of the chat's organization that somebody is in, as rules for answers write them."""
        row = await self._pool.fetch_one(query("rows.groups_of"), chat_id, encode_text(identity))
        return frozenset() if row is None else frozenset(kept_groups(row["groups"]))

    async def find_by_source(
        self, chat_id: ChatId, source_key: str
    ) -> MessageRef | QueuedRef | None:
        """The message with this source key, in the history or in the queue. Deleted ones are gone."""
        row = await self._pool.fetch_one(
            query("rows.find_by_source"), chat_id, encode_text(source_key)
        )
        if row is None:
            return None
        if row["queued_id"] is not None:
            return QueuedRef(queued_id=row["queued_id"])
        return MessageRef(
            message_id=row["message_id"],
            role=Role(row["role"]),
            is_last_user_message=row["is_last_user_message"],
        )

    async def known_sources(self, chat_id: ChatId, source_keys: Sequence[str]) -> frozenset[str]:
        """Those of the source keys that messages of the chat have, deleted ones as well."""
        rows = await self._pool.fetch(
            query("rows.known_sources"), chat_id, [encode_text(key) for key in source_keys]
        )
        return frozenset(decode_text(row["source_key"]) for row in rows)


def _messages_of(row: Row | None) -> tuple[Message, ...]:
    messages: tuple[Message, ...] = _decode(row, "messages", tuple[Message, ...])
    return messages


def _decode(row: Row | None, column: str, type_: Any) -> Any:
    return () if row is None else decode_json(row[column], type_)


def change_of(row: Row) -> ChatChange:
    """A row of a chat's counters and state as the hint that it stands there."""
    return ChatChange(
        chat_id=row["id"],
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


def kept_groups(names: Iterable[str]) -> Iterator[str]:
    """Stored names of groups as rules for answers write them."""
    return (GROUP + decode_text(name) for name in names)
