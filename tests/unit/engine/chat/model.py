"""One chat in memory: applies decisions as the store must, so that both can be run side by side.

ChatModel knows no rule: it looks up what a decision asks for, decides, and follows the writes.
`view()` is what can be compared with the same chat in Postgres: it holds no generated id.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, assert_never

from msgspec.structs import replace

from engine.chat import commands as c
from engine.chat import writes as w
from engine.chat.content import (
    Content,
    NewMessage,
    Role,
    Visibility,
)
from engine.chat.decide import decide, first_messages
from engine.chat.decision import ChatRow, Decision, Effect, Refusal
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ActionId, MessageId, QueuedId, RunnerId, ToolCallId
from engine.chat.notification import NotificationKind
from engine.chat.snapshot import ChatStatus, EditTarget, OpenCall, Snapshot

WORKS = (ChatStatus.RUNNING, ChatStatus.INTERRUPTING)


@dataclass(slots=True)
class Stored:
    """A message in history."""

    id: MessageId
    message: NewMessage
    deleted: bool = False


@dataclass(slots=True)
class Waiting:
    """A message in the queue."""

    id: QueuedId
    content: Content
    author: Any
    source_key: str | None


@dataclass(slots=True)
class Asked:
    """A required action."""

    id: ActionId
    tool_call_id: ToolCallId
    state: w.ActionState = w.ActionState.OPEN
    answer: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The chat as it can be compared: everything but generated ids and times of creation.

    `history` pairs each message with whether it is deleted; `cleared_after` counts the messages
    that the model has been made to forget. The `summary_of` of a message is a place in it, counted
    from 1. `prompt` holds the places of what the model is told, in order; `notifications` what the
    owner is told, and of which version of the history.
    """

    status: ChatStatus
    archived: bool
    has_runner: bool
    lease_live: bool
    history: tuple[tuple[NewMessage, bool], ...]
    queue: tuple[tuple[Content, str | None], ...]
    open_calls: tuple[OpenCall, ...]
    actions: tuple[tuple[ToolCallId, w.ActionState, Any], ...]
    ledger: tuple[ToolCallId, ...]
    actions_deadline_at: datetime | None
    last_error: ChatError | None
    retry: RetryState | None
    compaction_requested: bool
    cleared_after: int
    prompt: tuple[int, ...]
    notifications: tuple[tuple[NotificationKind, int], ...]
    snapshot_version: int
    history_version: int
    queue_version: int
    retry_version: int
    generation_attempt: int


@dataclass(slots=True)
class ChatModel:
    """One chat. `submit` decides and applies; a refusal or a duplicate changes nothing at all."""

    create: c.CreateChat
    row: ChatRow = field(init=False)
    history: list[Stored] = field(default_factory=list)
    queue: list[Waiting] = field(default_factory=list)
    actions: list[Asked] = field(default_factory=list)
    ledger: list[ToolCallId] = field(default_factory=list)
    runner_id: RunnerId | None = None
    lease_live: bool = False
    context_marks: list[MessageId] = field(default_factory=list)
    notifications: list[tuple[NotificationKind, int]] = field(default_factory=list)
    snapshot_version: int = 1
    history_version: int = 1
    queue_version: int = 0
    retry_version: int = 0
    generation_attempt: int = 0
    _ids: int = 0

    def __post_init__(self) -> None:
        self.row = ChatRow(
            status=ChatStatus.RUNNING,
            archived=False,
            open_calls=(),
            actions_deadline_at=None,
            last_error=None,
            retry=None,
            compaction_requested=False,
            keep_runner=True,
            next_attempt=False,
        )
        messages = first_messages(self.create)
        assert not isinstance(messages, Refusal)
        self._insert(messages)
        self.history_version = 1

    def submit(self, command: c.Command, now: datetime) -> Decision | Refusal:
        """Decide and apply, as one transaction."""
        outcome = decide(self.snapshot(command), command, now)
        if isinstance(outcome, Decision) and outcome.effect is not Effect.DUPLICATE:
            self._apply(outcome)
        return outcome

    def acquire(self, runner_id: RunnerId) -> bool:
        """Take the chat for a worker, if it needs one and has none."""
        if self.row.status not in WORKS or self.lease_live:
            return False
        self.snapshot_version += 1
        self.runner_id, self.lease_live = runner_id, True
        return True

    def lose_lease(self) -> None:
        """The holder's heartbeat is no longer fresh; the row still names it."""
        self.lease_live = False

    def snapshot(self, command: c.Command | None = None) -> Snapshot:
        """What a decision on `command` may know; the version is bumped already."""
        edit_target, source_seen, action_target, asking_message = None, False, None, None
        match command:
            case c.EditMessage():
                edit_target = self._edit_target(command.message_id)
            case c.SendMessage():
                source_seen = self._source_seen(command.source_key)
            case c.AnswerAction():
                action_target = self._action_target(command.action_id)
            case c.SubmitToolResults(message_id=int()):
                asking_message = self._asking_message()
            case _:
                pass
        return Snapshot(
            chat_id=self.create.chat_id,
            organization_id=self.create.organization_id,
            status=self.row.status,
            archived=self.row.archived,
            snapshot_version=self.snapshot_version + 1,
            history_version=self.history_version,
            queue_version=self.queue_version,
            retry_version=self.retry_version,
            generation_attempt=self.generation_attempt,
            runner_id=self.runner_id,
            lease_live=self.lease_live,
            queue=tuple(waiting.id for waiting in self.queue),
            open_calls=self.row.open_calls,
            actions_deadline_at=self.row.actions_deadline_at,
            last_error=self.row.last_error,
            retry=self.row.retry,
            compaction_requested=self.row.compaction_requested,
            edit_target=edit_target,
            source_seen=source_seen,
            action_target=action_target,
            asking_message=asking_message,
        )

    def view(self) -> View:
        """The comparable whole."""
        return View(
            status=self.row.status,
            archived=self.row.archived,
            has_runner=self.runner_id is not None,
            lease_live=self.lease_live,
            history=tuple(
                (self._placed(stored.message), stored.deleted) for stored in self.history
            ),
            queue=tuple((waiting.content, waiting.source_key) for waiting in self.queue),
            open_calls=self.row.open_calls,
            actions=tuple((a.tool_call_id, a.state, a.answer) for a in self.actions),
            ledger=tuple(self.ledger),
            actions_deadline_at=self.row.actions_deadline_at,
            last_error=self.row.last_error,
            retry=self.row.retry,
            compaction_requested=self.row.compaction_requested,
            cleared_after=self.cleared_after(),
            prompt=tuple(self.history.index(stored) + 1 for stored in self.prompt()),
            notifications=tuple(self.notifications),
            snapshot_version=self.snapshot_version,
            history_version=self.history_version,
            queue_version=self.queue_version,
            retry_version=self.retry_version,
            generation_attempt=self.generation_attempt,
        )

    def live(self) -> list[Stored]:
        """The messages that are not deleted, in order."""
        return [stored for stored in self.history if not stored.deleted]

    def cleared_after(self) -> int:
        """How many messages, deleted ones too, the model has been made to forget."""
        mark = self.context_marks[-1] if self.context_marks else MessageId(0)
        return sum(stored.id <= mark for stored in self.history)

    def prompt(self) -> list[Stored]:
        """What the model is told: a summary stands before all that it does not replace."""
        cleared = self.context_marks[-1] if self.context_marks else MessageId(0)
        shown = [s for s in self.live() if s.message.visibility is not Visibility.USER]
        summaries = [s for s in shown if s.message.summary_of is not None]
        standing = [s for s in summaries if s.id > cleared][-1:]
        after = max([cleared, *(s.message.summary_of or MessageId(0) for s in standing)])
        others = [s for s in shown if s not in summaries]
        system = [s for s in others if s.id <= after and s.message.role is Role.SYSTEM]
        return [*system, *standing, *(s for s in others if s.id > after)]

    def _placed(self, message: NewMessage) -> NewMessage:
        if message.summary_of is None:
            return message
        place = sum(stored.id <= message.summary_of for stored in self.history)
        return replace(message, summary_of=MessageId(place))

    def _apply(self, outcome: Decision) -> None:
        self.snapshot_version += 1
        if outcome.row.next_attempt:
            self.generation_attempt += 1
        if outcome.row.retry != self.row.retry:
            self.retry_version = self.snapshot_version
        for write in outcome.writes:
            self._write(write)
        self.row = outcome.row
        if not outcome.row.keep_runner:
            self.runner_id, self.lease_live = None, False

    def _write(self, write: w.Write) -> None:
        match write:
            case w.InsertMessages():
                self._insert(write.messages)
            case w.ReplaceMessage():
                stored = self._stored(write.message_id)
                stored.message = replace(stored.message, content=write.content)
                self._history_changed()
            case w.TruncateHistory():
                for stored in self.history:
                    stored.deleted = stored.deleted or stored.id >= write.from_message_id
                self.context_marks = [
                    mark for mark in self.context_marks if mark < write.from_message_id
                ]
                self._history_changed()
            case w.InsertReplacement():
                old = self._stored(write.replaces).message
                author = write.author or old.author
                self._insert((replace(old, content=write.content, author=author),))
            case w.Enqueue():
                waiting = Waiting(
                    QueuedId(self._next_id()), write.content, write.author, write.source_key
                )
                self._set_queue([*self.queue, waiting])
            case w.ReplaceQueued():
                self._waiting(write.queued_id).content = write.content
                self._set_queue(self.queue)
            case w.DeleteQueued():
                self._take(write.queued_id)
            case w.MoveToHead():
                self._set_queue([self._take(write.queued_id), *self.queue])
            case w.PromoteQueued():
                taken = self._take(self.queue[0].id if write.queued_id is None else write.queued_id)
                message = NewMessage(
                    role=Role.USER,
                    content=taken.content,
                    author=taken.author,
                    source_key=taken.source_key,
                )
                self._insert((message,))
            case w.ClearQueue():
                self._set_queue([])
            case w.ReserveToolCalls():
                self.ledger += [reserved.tool_call_id for reserved in write.reservations]
            case w.OpenActions():
                self.actions += [
                    Asked(ActionId(self._next_id()), action.tool_call_id)
                    for action in write.actions
                ]
            case w.CloseActions():
                self._close(write)
            case w.MarkContextCleared():
                self.context_marks.append(self.history[-1].id)
            case w.QueueNotification():
                self._notify(write.kind)
            case _:
                assert_never(write)

    def _insert(self, messages: tuple[NewMessage, ...]) -> None:
        assert messages, "a decision inserts something or says nothing"
        self.history += [Stored(MessageId(self._next_id()), message) for message in messages]
        self._history_changed()

    def _close(self, write: w.CloseActions) -> None:
        answers = dict(write.answers)
        for action in self.actions:
            is_open = action.state is w.ActionState.OPEN
            if is_open and action.tool_call_id in write.tool_call_ids:
                action.state = write.state
                action.answer = answers.get(action.tool_call_id)

    def _notify(self, kind: NotificationKind) -> None:
        """Tell the owner once of the same history; a chat without owner or thread has nobody."""
        told = (kind, self.history_version)
        has_owner = self.create.author is not None and self.create.binding is not None
        if has_owner and told not in self.notifications:
            self.notifications.append(told)

    def _history_changed(self) -> None:
        self.history_version = self.snapshot_version
        self.generation_attempt = 0

    def _set_queue(self, queue: list[Waiting]) -> None:
        self.queue = queue
        self.queue_version = self.snapshot_version

    def _take(self, queued_id: QueuedId) -> Waiting:
        taken = self._waiting(queued_id)
        self._set_queue([waiting for waiting in self.queue if waiting is not taken])
        return taken

    def _waiting(self, queued_id: QueuedId) -> Waiting:
        return next(waiting for waiting in self.queue if waiting.id == queued_id)

    def _stored(self, message_id: MessageId) -> Stored:
        return next(stored for stored in self.history if stored.id == message_id)

    def _edit_target(self, message_id: MessageId) -> EditTarget | None:
        for stored in self.live():
            if stored.id == message_id:
                role = stored.message.role
                is_summary = stored.message.summary_of is not None
                return None if is_summary else EditTarget(id=message_id, role=role)
        return None

    def _source_seen(self, source_key: str | None) -> bool:
        keys = {stored.message.source_key for stored in self.history}
        keys |= {waiting.source_key for waiting in self.queue}
        return source_key is not None and source_key in keys

    def _asking_message(self) -> MessageId | None:
        spoken = [
            stored.id
            for stored in self.history
            if stored.message.role is Role.ASSISTANT
            and stored.message.visibility is not Visibility.USER
            and not stored.deleted
        ]
        return spoken[-1] if spoken else None

    def _action_target(self, action_id: ActionId) -> ToolCallId | None:
        for action in self.actions:
            if action.id == action_id and action.state is w.ActionState.OPEN:
                return action.tool_call_id
        return None

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids
