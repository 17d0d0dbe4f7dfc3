"""From what a subscriber has been told and what is read, to what it must be told next. Pure.

Theory of operation. A Cursor is everything about the past of one subscription that matters: known
versions and what is on show. A read at a newer snapshot, or a hint that tells all by itself, gives an
Update: events and the next cursor. Messages are told by revision, so none is told twice and none is
left out whatever was skipped between two reads.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from engine.chat.actions import RequiredAction
from engine.chat.changes import ChatChange, Episode, Versions
from engine.chat.content import Message, Role, Visibility
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ActionId, MessageId
from engine.chat.view import ChatView, ShownStatus, SyncRead, shown_status
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    HistoryReset,
    HistoryResetReason,
    MessageEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    RetryEvent,
    StatusEvent,
)

FROM_THE_START = MessageId(0)
"""The `after_id` of a subscriber that has no messages yet."""
LIVE = frozenset({ShownStatus.PENDING, ShownStatus.RUNNING, ShownStatus.INTERRUPTING})
"""The statuses in which an episode's parts are on show."""
_TOLD_BY_HINT = LIVE | {ShownStatus.WAITING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """What one subscriber has been told.

    `last_id`: of the messages it has, those it had before included. `asked_after`: the id it had
    before. `has_preview`: parts of the episode are on show.
    """

    asked_after: MessageId
    last_id: MessageId
    versions: Versions
    status: ShownStatus
    archived: bool
    actions: tuple[tuple[ActionId, int], ...] = ()
    retry: RetryState | None = None
    error: ChatError | None = None
    has_preview: bool = False

    @property
    def episode(self) -> Episode:
        """The episode whose parts may be shown."""
        return self.versions.episode

    @property
    def is_live(self) -> bool:
        """Whether parts may be shown at all."""
        return self.status in LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What to tell, in two halves with the parts of the current episode between, and what is then known."""

    cursor: Cursor
    events: tuple[Event, ...] = ()
    after_parts: tuple[Event, ...] = ()


def begin(read: SyncRead, asked_after: MessageId) -> Update:
    """The full state, for a subscriber that has the messages up to `asked_after`."""
    chat = read.chat
    messages = shown(read.messages)
    cursor = _cursor_of(read, asked_after, _last_id(messages, asked_after))
    events: list[Event] = [_status_event(cursor)]
    if chat.retry is not None:
        events.append(RetryEvent(retry=chat.retry))
    after: list[Event] = [MessageEvent(message=message) for message in messages]
    after.append(QueueEvent(messages=read.queue or ()))
    after.append(ActionsEvent(actions=read.actions))
    if chat.last_error is not None:
        after.append(ErrorEvent(error=chat.last_error))
    return Update(cursor=cursor, events=tuple(events), after_parts=tuple(after))


def begin_again(read: SyncRead, after_id: MessageId) -> Update:
    """The full state after messages were taken back; `after_id` is what `restart_after` gave."""
    update = begin(read, after_id)
    reset = HistoryReset(reason=HistoryResetReason.TRUNCATED, after_id=after_id)
    return replace(update, events=(reset, *update.events))


def restart_after(cursor: Cursor, read: SyncRead) -> MessageId | None:
    """Where to begin again if the read takes back messages that the subscriber has; else None."""
    gone = [m.id for m in read.messages if m.deleted and m.id <= cursor.last_id and _is_shown(m)]
    if not gone:
        return None
    return cursor.asked_after if min(gone) > cursor.asked_after else FROM_THE_START


def advance(cursor: Cursor, read: SyncRead) -> Update:
    """What a read at the same or a newer snapshot brings."""
    chat = read.chat
    if chat.versions.snapshot_version < cursor.versions.snapshot_version:
        return Update(cursor=cursor)
    messages = shown(read.messages)
    after = _cursor_of(read, cursor.asked_after, _last_id(messages, cursor.last_id))
    events: list[Event] = []
    reset = _preview_reset(cursor, after, messages)
    if reset is not None:
        events.append(reset)
    elif cursor.has_preview:
        after = replace(after, has_preview=True)
    events += [MessageEvent(message=message) for message in messages]
    if read.queue is not None:
        events.append(QueueEvent(messages=read.queue))
    if after.actions != cursor.actions:
        events.append(ActionsEvent(actions=read.actions))
    events += _state_changes(cursor, after)
    return Update(cursor=after, events=tuple(events))


def is_news(cursor: Cursor, change: ChatChange, *, polled: bool) -> bool:
    """Whether a hint says something that the subscriber was not told.

    A lease that ran out changes no version, so only a poll can tell; a late hint must not undo it.
    """
    known = cursor.versions.snapshot_version
    if change.snapshot_version != known:
        return change.snapshot_version > known
    return polled and cursor.status is not _shown_status_of(change)


def advance_by_hint(cursor: Cursor, change: ChatChange) -> Update | None:
    """What a hint that is news tells by itself; None where the chat must be read."""
    status, versions = _shown_status_of(change), cursor.versions
    told = (
        change.history_version == versions.history_version
        and change.queue_version == versions.queue_version
        and change.retry_version == versions.retry_version
        and cursor.status in _TOLD_BY_HINT
        and status in _TOLD_BY_HINT
    )
    if not told:
        return None
    after = replace(cursor, versions=change.versions, status=status, archived=change.archived)
    events: list[Event] = []
    reset = _preview_reset(cursor, after, ())
    if reset is not None:
        after = replace(after, has_preview=False)
        events.append(reset)
    return Update(cursor=after, events=(*events, *_state_changes(cursor, after)))


def shown(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages that stand and are for people, in id order as given."""
    return tuple(m for m in messages if not m.deleted and _is_shown(m))


def _is_shown(message: Message) -> bool:
    return message.visibility is not Visibility.MODEL


def _last_id(messages: tuple[Message, ...], known: MessageId) -> MessageId:
    # An amended message may be the only one that was read, and is not the last.
    return max((known, *(message.id for message in messages)))


def _cursor_of(read: SyncRead, asked_after: MessageId, last_id: MessageId) -> Cursor:
    chat: ChatView = read.chat
    return Cursor(
        asked_after=asked_after,
        last_id=last_id,
        versions=chat.versions,
        status=chat.status,
        archived=chat.archived,
        actions=_keys(read.actions),
        retry=chat.retry,
        error=chat.last_error,
    )


def _keys(actions: tuple[RequiredAction, ...]) -> tuple[tuple[ActionId, int], ...]:
    return tuple((action.id, action.revision) for action in actions)


def _shown_status_of(change: ChatChange) -> ShownStatus:
    return shown_status(change.status, lease_live=change.lease_live)


def _status_event(cursor: Cursor) -> StatusEvent:
    return StatusEvent(
        status=cursor.status,
        archived=cursor.archived,
        snapshot_version=cursor.versions.snapshot_version,
    )


def _state_changes(before: Cursor, after: Cursor) -> list[Event]:
    """Error, retry and, last of all, status."""
    events: list[Event] = []
    # The next turn may have failed in the same words while nobody looked.
    is_same_turn = before.versions.history_version == after.versions.history_version
    if after.error is not None and (after.error != before.error or not is_same_turn):
        events.append(ErrorEvent(error=after.error))
    if after.retry != before.retry:
        events.append(RetryEvent(retry=after.retry))
    if (after.status, after.archived) != (before.status, before.archived):
        events.append(_status_event(after))
    return events


def _preview_reset(
    before: Cursor, after: Cursor, messages: tuple[Message, ...]
) -> PreviewReset | None:
    """Take the preview back once its episode is over."""
    if not before.has_preview:
        return None
    if after.versions.history_version != before.versions.history_version:
        answered = any(m.id > before.last_id and m.role is not Role.USER for m in messages)
        reason = PreviewResetReason.COMMITTED if answered else PreviewResetReason.HISTORY
    elif after.episode != before.episode:
        reason = PreviewResetReason.RETRY
    elif not after.is_live:
        reason = PreviewResetReason.ENDED
    else:
        return None
    return PreviewReset(reason=reason)
