"""From reads and hints to events: whatever is lost or late, the picture ends as the chat is."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.chat.changes import NOTHING_KNOWN, ChatChange
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import MessageId
from engine.chat.snapshot import ChatStatus
from engine.stream.events import ErrorEvent, Event, HistoryReset, MessageEvent, StatusEvent
from engine.stream.sync import (
    FROM_THE_START,
    Cursor,
    Update,
    advance,
    advance_by_hint,
    begin,
    begin_again,
    is_news,
    restart_after,
)
from tests.fakes.live_chat import LiveChat
from tests.unit.engine.stream.committed import CommittedChat

BROKEN = ChatError(kind=ErrorKind.GENERIC, message="The model is broken.")
RETRY = RetryState(attempt=1, delay_ms=10, retrying_at=0.0, error=BROKEN)


class Follower:
    """A cursor, what it was told, and how things stand by it."""

    def __init__(self, chat: CommittedChat, after_id: MessageId = FROM_THE_START) -> None:
        self.chat = chat
        self.live = LiveChat()
        self.events: list[Event] = []
        self.cursor: Cursor = self._tell(begin(chat.sync_read(NOTHING_KNOWN, after_id), after_id))

    def hear(self, change: ChatChange, *, polled: bool = False) -> None:
        """A hint, lost ones before it included, handled as the stream loop does."""
        if not is_news(self.cursor, change, polled=polled):
            return
        update = advance_by_hint(self.cursor, change)
        self.cursor = self._tell(update) if update else self.read()

    def read(self) -> Cursor:
        read = self.chat.sync_read(self.cursor.versions, FROM_THE_START)
        after_id = restart_after(self.cursor, read)
        if after_id is None:
            return self._tell(advance(self.cursor, read))
        return self._tell(begin_again(self.chat.sync_read(NOTHING_KNOWN, after_id), after_id))

    def _tell(self, update: Update) -> Cursor:
        events = (*update.events, *update.after_parts)
        self.events += events
        self.live.apply_all(events)
        return update.cursor


COMMITS = st.fixed_dictionaries(
    {},
    optional={
        "ask": st.sampled_from(["Is the harbour open?", "Until when?"]),
        "say": st.sampled_from(["Yes.", "Six."]),
        "whisper": st.just("You are Wren."),
        "status": st.sampled_from(ChatStatus),
        "lease_live": st.booleans(),
        "archived": st.booleans(),
        "next_attempt": st.booleans(),
        "truncate_from": st.integers(1, 6),
        "amend": st.tuples(st.integers(1, 6), st.sampled_from(["Edited.", "Edited again."])),
        "queue": st.lists(st.sampled_from(["Next?", "And?"]), max_size=2).map(tuple),
        "retry": st.sampled_from([None, RETRY]),
        "actions": st.lists(st.just("approve_docking"), max_size=2).map(tuple),
    },
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(COMMITS, st.booleans()), max_size=25), st.randoms(use_true_random=False))
def test_lost_doubled_and_late_hints_never_leave_a_false_picture(
    steps: list[tuple[dict[str, Any], bool]], random: Random
) -> None:
    chat = CommittedChat()
    chat.commit(ask="Hello?")
    follower = Follower(chat)
    hints: list[ChatChange] = []
    for commit, is_heard in steps:
        # A chat is in error with an error, and asks only in requires_action; its rules say so.
        status = commit.get("status", chat.status)
        error = BROKEN if status is ChatStatus.ERROR else None
        asks = commit.get("actions", ()) if status is ChatStatus.REQUIRES_ACTION else ()
        hints.append(chat.commit(**{**commit, "error": error, "actions": asks}))
        if is_heard:
            follower.hear(random.choice(hints))
            follower.hear(hints[-1])
    follower.hear(chat.change(), polled=True)

    stored = LiveChat()
    whole = begin(chat.sync_read(NOTHING_KNOWN, FROM_THE_START), FROM_THE_START)
    stored.apply_all((*whole.events, *whole.after_parts))
    live = follower.live
    assert live.messages == stored.messages
    assert (live.status, live.archived) == (stored.status, stored.archived)
    assert (live.queue, live.actions) == (stored.queue, stored.actions)
    assert (live.retry, live.error) == (stored.retry, stored.error)
    told = [
        (event.message.id, event.message.revision)
        for event in _since_last_reset(follower.events)
        if isinstance(event, MessageEvent)
    ]
    assert len(told) == len(set(told))


def _since_last_reset(events: list[Event]) -> list[Event]:
    resets = [index for index, event in enumerate(events) if isinstance(event, HistoryReset)]
    return events[resets[-1] :] if resets else events


def test_status_comes_after_all_that_led_to_it() -> None:
    chat = CommittedChat()
    chat.commit(ask="Is the harbour open?", lease_live=True)
    follower = Follower(chat)
    seen = len(follower.events)
    follower.hear(chat.commit(say="Yes.", queue=("And now?",), status=ChatStatus.WAITING))
    assert isinstance(follower.events[-1], StatusEvent)
    assert isinstance(follower.events[seen], MessageEvent)


def test_the_same_error_in_the_next_turn_is_told_again() -> None:
    """E22, D9: a failure that a slow follower slept into is not taken for the old one."""
    chat = CommittedChat()
    chat.commit(ask="Is the harbour open?", status=ChatStatus.ERROR, error=BROKEN)
    follower = Follower(chat)
    chat.commit(ask="Again?", status=ChatStatus.RUNNING, error=None)
    follower.hear(chat.commit(status=ChatStatus.ERROR, error=BROKEN))
    errors = [event for event in follower.events if isinstance(event, ErrorEvent)]
    assert errors == [ErrorEvent(error=BROKEN)] * 2


def test_a_message_taken_back_after_an_earlier_one_was_amended_is_taken_back() -> None:
    chat = CommittedChat()
    chat.commit(ask="Is the harbur open?")
    chat.commit(say="Yes.")
    follower = Follower(chat)
    follower.hear(chat.commit(amend=(1, "Is the harbour open?")))
    follower.hear(chat.commit(truncate_from=2))
    assert [message.id for message in follower.live.messages] == [1]


def test_a_late_hint_does_not_undo_what_a_poll_found() -> None:
    chat = CommittedChat()
    held = chat.commit(ask="Is the harbour open?", lease_live=True)
    follower = Follower(chat)
    chat.lease_live = False
    assert is_news(follower.cursor, chat.change(), polled=True)
    follower.hear(chat.change(), polled=True)
    assert not is_news(follower.cursor, held, polled=False)
