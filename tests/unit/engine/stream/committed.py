"""Chats as the database would have them: commits give hints, reads give snapshots."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec

from engine.chat.actions import RequiredAction
from engine.chat.changes import ChatChange, Episode, Versions
from engine.chat.content import Author, Message, QueuedMessage, Role, Visibility, plain
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import (
    DEFAULT_ORGANIZATION,
    ActionId,
    ChatId,
    MessageId,
    QueuedId,
    RunnerId,
    ToolCallId,
)
from engine.chat.snapshot import ChatStatus, Executor
from engine.chat.view import ChatView, SyncRead, shown_status
from engine.chat.writes import ActionState

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ADA = Author(identity="slack:T1:UADA", name="Ada")
UNSET: Any = object()


@dataclass
class CommittedChat:
    """One chat's row and messages; `commit` is a transaction and gives its hint."""

    chat_id: ChatId = field(default_factory=lambda: ChatId(uuid4()))
    snapshot_version: int = 0
    history_version: int = 0
    queue_version: int = 0
    retry_version: int = 0
    generation_attempt: int = 0
    status: ChatStatus = ChatStatus.RUNNING
    archived: bool = False
    lease_live: bool = False
    runner_id: RunnerId | None = None
    error: ChatError | None = None
    retry: RetryState | None = None
    messages: list[Message] = field(default_factory=list)
    queue: tuple[QueuedMessage, ...] = ()
    actions: tuple[RequiredAction, ...] = ()

    def commit(
        self,
        *,
        status: ChatStatus | None = None,
        lease_live: bool | None = None,
        archived: bool | None = None,
        say: str | None = None,
        ask: str | None = None,
        whisper: str | None = None,
        amend: tuple[int, str] | None = None,
        truncate_from: int | None = None,
        next_attempt: bool = False,
        queue: tuple[str, ...] | None = None,
        retry: RetryState | None = UNSET,
        error: ChatError | None = UNSET,
        actions: tuple[str, ...] | None = None,
        wake: bool = False,
    ) -> ChatChange:
        """One transaction. `say` is an answer, `ask` a user's message, `whisper` for the model only."""
        self.snapshot_version += 1
        if next_attempt:
            self.generation_attempt += 1
        if truncate_from is not None:
            self._change(lambda m: m.id >= truncate_from and not m.deleted, deleted=True)
        if amend is not None:
            self._change(lambda m: m.id == amend[0], content=plain(amend[1]))
        if ask is not None:
            self._insert(Role.USER, ask)
        if say is not None:
            self._insert(Role.ASSISTANT, say)
        if whisper is not None:
            self._insert(Role.SYSTEM, whisper, Visibility.MODEL)
        if queue is not None:
            self.queue_version = self.snapshot_version
            self.queue = tuple(
                QueuedMessage(
                    id=QueuedId(n), chat_id=self.chat_id, content=plain(text), created_at=NOON
                )
                for n, text in enumerate(queue, 1)
            )
        if retry is not UNSET and retry != self.retry:
            self.retry, self.retry_version = retry, self.snapshot_version
        if error is not UNSET:
            self.error = error
        if actions is not None:
            self.actions = tuple(self._action(n, name) for n, name in enumerate(actions, 1))
        self.status = status or self.status
        self.lease_live = self.lease_live if lease_live is None else lease_live
        self.archived = self.archived if archived is None else archived
        return self.change(wake=wake)

    def change(self, *, wake: bool = False) -> ChatChange:
        """The hint of the chat as it stands."""
        return ChatChange(
            chat_id=self.chat_id,
            **msgspec.structs.asdict(self.versions),
            status=self.status,
            archived=self.archived,
            runner_id=self.runner_id,
            lease_live=self.lease_live,
            wake=wake,
        )

    @property
    def versions(self) -> Versions:
        return Versions(
            snapshot_version=self.snapshot_version,
            history_version=self.history_version,
            queue_version=self.queue_version,
            retry_version=self.retry_version,
            generation_attempt=self.generation_attempt,
        )

    @property
    def episode(self) -> Episode:
        return self.versions.episode

    def sync_read(self, known: Versions, after_id: MessageId) -> SyncRead:
        """As Reader.read_sync promises."""
        fresh = known.history_version == 0
        messages = tuple(
            m
            for m in self.messages
            if m.revision > known.history_version
            and not (fresh and (m.deleted or m.id <= after_id))
        )
        return SyncRead(
            chat=ChatView(
                id=self.chat_id,
                organization_id=DEFAULT_ORGANIZATION,
                bot="wren",
                status=shown_status(self.status, lease_live=self.lease_live),
                archived=self.archived,
                versions=self.versions,
                created_at=NOON,
                updated_at=NOON,
                last_error=self.error,
                retry=self.retry,
                queue_length=len(self.queue),
            ),
            messages=messages,
            queue=self.queue if self.queue_version > known.queue_version or fresh else None,
            actions=self.actions,
        )

    def _insert(self, role: Role, text: str, visibility: Visibility = Visibility.BOTH) -> None:
        self._touch_history()
        self.messages.append(
            Message(
                id=MessageId(len(self.messages) + 1),
                chat_id=self.chat_id,
                role=role,
                content=plain(text),
                created_at=NOON,
                visibility=visibility,
                author=ADA if role is Role.USER else None,
                revision=self.snapshot_version,
            )
        )

    def _change(self, picks: Any, **changes: Any) -> None:
        self._touch_history()
        self.messages = [
            msgspec.structs.replace(m, **changes, revision=self.snapshot_version) if picks(m) else m
            for m in self.messages
        ]

    def _touch_history(self) -> None:
        self.history_version, self.generation_attempt = self.snapshot_version, 0

    def _action(self, number: int, name: str) -> RequiredAction:
        return RequiredAction(
            id=ActionId(number),
            chat_id=self.chat_id,
            tool_call_id=ToolCallId(f"call_{number}"),
            tool_name=name,
            executor=Executor.PEOPLE,
            args="{}",
            state=ActionState.OPEN,
            created_at=NOON,
            revision=self.snapshot_version,
        )


class CommittedChats:
    """The reader of such chats. A read can be held, or made to fail."""

    def __init__(self, *chats: CommittedChat) -> None:
        self.chats: dict[UUID, CommittedChat] = {chat.chat_id: chat for chat in chats}
        self.reads = 0
        self.polls = 0
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.fails: Exception | None = None

    async def read_sync(
        self, chat_id: ChatId, known: Versions, after_id: MessageId
    ) -> SyncRead | None:
        self.reads += 1
        chat = self.chats.get(chat_id)
        # The snapshot is taken when the statement begins, as a database does.
        read = None if chat is None else chat.sync_read(known, after_id)
        await self.may_read.wait()
        if self.fails is not None:
            raise self.fails
        return read

    async def versions_of(self, chat_ids: list[ChatId]) -> list[ChatChange]:
        self.polls += 1
        if self.fails is not None:
            raise self.fails
        return [self.chats[chat_id].change() for chat_id in chat_ids if chat_id in self.chats]
