"""What a follower of a chat is told, over every relay: the same story, once, in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from engine.chat.changes import ChatChange
from engine.chat.content import TextPart, ToolCallPart
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import ChatId, ToolCallId
from engine.chat.snapshot import ChatStatus
from engine.chat.view import ShownStatus
from engine.stream.errors import ChatMissing
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    HistoryReset,
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    RetryEvent,
    StatusEvent,
    TextDelta,
    ToolCallDelta,
)
from engine.stream.part_buffer import EpisodeWriter
from engine.stream.relay import Relay
from engine.stream.stream_loop import StreamLoop
from tests.fakes.redis import RedisServer
from tests.unit.engine.stream.committed import CommittedChat, CommittedChats
from tests.unit.engine.stream.relays import (
    Watched,
    cut_subscribers,
    redis_relay,
    replicas,
    stream_loop,
    until,
    watching,
)

OVERLOADED = ChatError(kind=ErrorKind.OVERLOADED, message="The model is overloaded.")
RETRY = RetryState(attempt=1, delay_ms=2000, retrying_at=1_770_000_000.0, error=OVERLOADED)


@dataclass
class House:
    """A chat, the relay it is changed through, and the loop it is followed by."""

    chat: CommittedChat
    reader: CommittedChats
    near: Relay
    far: Relay
    loop: StreamLoop

    def publish(self, change: ChatChange) -> ChatChange:
        self.near.publish_change(change)
        return change

    def run_turn(self, ask: str) -> EpisodeWriter:
        """A message arrives and a worker begins to answer it."""
        self.publish(self.chat.commit(ask=ask, status=ChatStatus.RUNNING))
        self.publish(self.chat.commit(lease_live=True, next_attempt=True))
        return self.near.open_episode(self.chat.chat_id, self.chat.episode)

    def finish_turn(self, writer: EpisodeWriter, say: str) -> None:
        """The answer is stored."""
        self.publish(self.chat.commit(say=say, status=ChatStatus.WAITING, lease_live=False))
        writer.close()

    def watch(self, after_id: int = 0) -> AbstractAsyncContextManager[Watched]:
        return watching(self.loop, self.chat.chat_id, after_id)


@pytest.fixture(params=["memory", "redis", "two replicas"])
async def house(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[House]:
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        replicas(request.param, redis_url) as (near, far),
        stream_loop(reader, far) as loop,
    ):
        yield House(chat=chat, reader=reader, near=near, far=far, loop=loop)


def say(writer: EpisodeWriter, *words: str) -> None:
    for word in words:
        writer.append([TextDelta(text=word)])


# -- the beginning -------------------------------------------------------------------------------


async def test_the_first_event_is_a_status(house: House) -> None:
    """E23: the first event of every subscription is a status event."""
    house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
    async with house.watch() as pending:
        first = (await pending.take())[0]
    assert first == StatusEvent(status=ShownStatus.PENDING, archived=False, snapshot_version=1)
    house.chat.commit(say="Yes.", status=ChatStatus.WAITING)
    async with house.watch() as waiting, house.watch(2) as knows_all:
        for watched in (waiting, knows_all):
            first = (await watched.take())[0]
            assert isinstance(first, StatusEvent)
            assert first.status is ShownStatus.WAITING


async def test_messages_after_the_known_one_are_told_and_no_others(house: House) -> None:
    """E29: subscribe(after=0) gives all three messages, after=second gives exactly the third."""
    house.chat.commit(ask="Is the harbour open?")
    house.chat.commit(say="Yes.")
    house.chat.commit(ask="Until when?", status=ChatStatus.WAITING)
    async with house.watch() as all_three, house.watch(2) as only_third:
        await all_three.take()
        await only_third.take()
    assert all_three.texts == ["Is the harbour open?", "Yes.", "Until when?"]
    assert only_third.texts == ["Until when?"]


async def test_the_full_state_comes_in_the_promised_order(house: House) -> None:
    """E53: late joiners see the attempt's parts from its beginning, and a retry in progress."""
    chat = house.chat
    house.run_turn("Is the harbour open?")
    house.publish(chat.commit(queue=("And the lighthouse?",), actions=("approve_docking",)))
    house.publish(chat.commit(next_attempt=True, retry=RETRY))
    writer = house.near.open_episode(chat.chat_id, chat.episode)
    say(writer, "Ye", "s")
    chat.error = OVERLOADED  # Not with this status, but then it would be told last.
    async with house.watch() as watched:
        await watched.until(lambda live: live.preview.text == "Yes")
        kinds = [type(event) for event in watched.events]
        if PartEvent in kinds[:3]:
            # Another replica's parts may still be on their way to Redis.
            assert kinds == [
                *(StatusEvent, RetryEvent, PartEvent),
                *(MessageEvent, QueueEvent, ActionsEvent, ErrorEvent),
            ]
        assert watched.live.retry == RETRY
        assert [action.tool_name for action in watched.live.actions] == ["approve_docking"]
    writer.close()


async def test_a_late_follower_has_the_whole_preview_at_once(house: House) -> None:
    """E53: late joiners see the current attempt's parts from its beginning."""
    writer = house.run_turn("Is the harbour open?")
    say(writer, "Yes, ", "until ", "six.")
    async with house.watch() as first:
        await first.until(lambda live: live.preview.text == "Yes, until six.")
    async with house.watch() as late:
        events = await late.take()
        assert late.live.preview.text == "Yes, until six."
        assert [type(event) for event in events][:2] == [StatusEvent, PartEvent]
    writer.close()


async def test_following_a_chat_that_does_not_exist_says_so(house: House) -> None:
    async with house.loop.follow(ChatId(CommittedChat().chat_id)) as follower:
        with pytest.raises(ChatMissing):
            await follower.take()


async def test_what_only_the_model_may_see_is_not_told(house: House) -> None:
    house.chat.commit(whisper="You are Wren.")
    house.chat.commit(ask="Who are you?", status=ChatStatus.WAITING)
    async with house.watch() as watched:
        await watched.take()
        house.publish(house.chat.commit(whisper="Summary.", status=ChatStatus.WAITING))
        house.publish(house.chat.commit(say="Wren."))
        await watched.until(lambda live: len(live.messages) == 2)
    assert watched.texts == ["Who are you?", "Wren."]


# -- a turn --------------------------------------------------------------------------------------


async def test_a_turn_is_told_live_and_ends_with_its_message(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(status=ChatStatus.WAITING)
        await watched.take()
        writer = house.run_turn("Is the harbour open?")
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
        say(writer, "Yes, ", "until ", "six.")
        await watched.until(lambda live: live.preview.text == "Yes, until six.")
        house.finish_turn(writer, "Yes, until six.")
        live = await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert live.preview.text == ""
    assert watched.texts == ["Is the harbour open?", "Yes, until six."]
    last = watched.events[-3:]
    assert last[0] == PreviewReset(reason=PreviewResetReason.COMMITTED)
    assert isinstance(last[1], MessageEvent)
    assert isinstance(last[2], StatusEvent)


async def test_the_same_message_is_never_told_twice(house: House) -> None:
    async with house.watch() as watched:
        for number in range(5):
            writer = house.run_turn(f"Question {number}")
            say(writer, "An", "swer")
            # Doubled and late hints must not matter.
            early = house.chat.change()
            house.finish_turn(writer, f"Answer {number}")
            house.publish(early)
            house.publish(house.chat.change())
            await watched.until(lambda live, n=number: len(live.messages) == 2 * n + 2)
    told = [(event.message.id, event.message.revision) for event in watched.told(MessageEvent)]
    assert len(told) == len(set(told)) == 10


async def test_every_part_is_told_once_however_many_follow_and_whenever(house: House) -> None:
    """E52, E53: bug 10 of the reference: parts delivered twice, or lost."""
    writer = house.run_turn("Count.")
    words = [f"{number} " for number in range(300)]
    texts: list[str] = []

    async def follow_from_now() -> None:
        async with house.watch() as watched:
            await watched.until(lambda live: live.preview.text.endswith("299 "))
            texts.append(watched.live.preview.text)
            assert not watched.told(PreviewReset)

    async with asyncio.TaskGroup() as tasks:
        for number, word in enumerate(words):
            if number % 60 == 0:
                tasks.create_task(follow_from_now())
            say(writer, word)
            await asyncio.sleep(0)
    assert texts == ["".join(words)] * 5
    writer.close()


async def test_parts_of_all_kinds_make_the_preview(house: House) -> None:
    call_id = ToolCallId("call_1")
    call = ToolCallPart(tool_call_id=call_id, tool_name="tide_table", args='{"day": 1}')
    async with house.watch() as watched:
        writer = house.run_turn("When is high tide?")
        say(writer, "One ", "moment.")
        writer.append([ToolCallDelta(tool_call_id=call_id, tool_name="tide_table")])
        writer.append(
            [ToolCallDelta(tool_call_id=call_id, tool_name="tide_table", args_delta='{"day"')]
        )
        writer.append([call])
        live = await watched.until(lambda live: call in live.preview.content)
    assert live.preview.content == (TextPart(text="One moment."), call)
    writer.close()


async def test_interrupting_is_shown_before_waiting(house: House) -> None:
    """E1: B sees status interrupting, and waiting once the partial answer is stored."""
    async with house.watch() as watched:
        writer = house.run_turn("Tell me everything.")
        say(writer, "In the begin")
        await watched.until(lambda live: live.preview.text == "In the begin")
        house.publish(house.chat.commit(status=ChatStatus.INTERRUPTING))
        await watched.until(lambda live: live.status is ShownStatus.INTERRUPTING)
        assert watched.live.preview.text == "In the begin"
        house.finish_turn(writer, "In the begin")
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert watched.texts[-1] == "In the begin"
    assert watched.live.preview.text == ""


async def test_a_failed_attempt_disappears_and_the_retry_is_shown(house: House) -> None:
    """E55: the retry is shown as an event; the partial text of the failed attempt disappears."""
    async with house.watch() as watched:
        failed = house.run_turn("Is the harbour open?")
        say(failed, "Ye")
        await watched.until(lambda live: live.preview.text == "Ye")
        house.publish(house.chat.commit(retry=RETRY, next_attempt=True))
        failed.close()
        await watched.until(lambda live: live.retry == RETRY)
        assert watched.told(PreviewReset) == [PreviewReset(reason=PreviewResetReason.RETRY)]
        assert watched.live.preview.text == ""
        async with house.watch() as late:
            await late.take()
            assert late.live.retry == RETRY
            assert late.live.preview.text == ""
        house.publish(house.chat.commit(retry=None, next_attempt=True))
        again = house.near.open_episode(house.chat.chat_id, house.chat.episode)
        say(failed, "stale")
        say(again, "Yes")
        await watched.until(lambda live: live.retry is None and live.preview.text == "Yes")
        async with house.watch() as late:
            await late.until(lambda live: live.preview.text == "Yes")
            assert not late.told(RetryEvent)
    again.close()


async def test_error_is_told_and_over_with_the_next_turn(house: House) -> None:
    """E22: last_error is shown, and cleared on leaving error."""
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbour open?")
        house.publish(house.chat.commit(status=ChatStatus.ERROR, error=OVERLOADED))
        writer.close()
        await watched.until(lambda live: live.error == OVERLOADED)
        async with house.watch() as late:
            await late.take()
            assert late.live.error == OVERLOADED
        house.chat.error = None
        house.run_turn("And now?").close()
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
    assert watched.live.error is None


async def test_partial_text_that_nobody_kept_is_taken_back(house: House) -> None:
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbour open?")
        say(writer, "Ye")
        await watched.until(lambda live: live.preview.text == "Ye")
        house.publish(house.chat.commit(status=ChatStatus.WAITING))
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        writer.close()
    assert watched.told(PreviewReset) == [PreviewReset(reason=PreviewResetReason.ENDED)]


async def test_queue_and_actions_are_told_when_they_change(house: House) -> None:
    async with house.watch() as watched:
        house.run_turn("Is the harbour open?").close()
        house.publish(house.chat.commit(queue=("And now?", "And then?")))
        await watched.until(lambda live: len(live.queue) == 2)
        house.publish(house.chat.commit(queue=()))
        await watched.until(lambda live: live.queue == ())
        asked = ("approve_docking", "approve_fuel")
        change = house.chat.commit(
            status=ChatStatus.REQUIRES_ACTION, actions=asked, lease_live=False
        )
        house.publish(change)
        await watched.until(lambda live: len(live.actions) == 2)
        assert watched.live.status is ShownStatus.REQUIRES_ACTION
        house.publish(house.chat.commit(actions=(), status=ChatStatus.RUNNING))
        await watched.until(lambda live: live.actions == ())


# -- history changes -----------------------------------------------------------------------------


async def test_an_edit_resets_the_history_and_tells_the_full_state(house: House) -> None:
    """E10: history = [edited]; everybody who followed sees just that."""
    async with house.watch() as watched, house.watch(2) as knows_two:
        house.finish_turn(house.run_turn("Is the harbur open?"), "Yes.")
        house.finish_turn(house.run_turn("Until when?"), "Six.")
        await watched.until(lambda live: len(live.messages) == 4)
        await knows_two.until(lambda live: len(live.messages) == 2)
        edit = house.chat.commit(
            truncate_from=3, ask="Until when on Sunday?", status=ChatStatus.RUNNING
        )
        house.publish(edit)
        await watched.until(lambda live: len(live.messages) == 3)
        await knows_two.until(lambda live: len(live.messages) == 1)
        assert watched.texts == ["Is the harbur open?", "Yes.", "Until when on Sunday?"]
        assert knows_two.texts == ["Until when on Sunday?"]
        assert [event.after_id for event in knows_two.told(HistoryReset)] == [2]
        edit = house.chat.commit(truncate_from=1, ask="Is the harbour open?")
        house.publish(edit)
        await watched.until(lambda _: watched.texts == ["Is the harbour open?"])
        await knows_two.until(lambda _: knows_two.texts == ["Is the harbour open?"])
        assert [event.after_id for event in knows_two.told(HistoryReset)] == [2, 0]


async def test_an_amended_message_replaces_itself(house: House) -> None:
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbur open?")
        say(writer, "What is a harb")
        await watched.until(lambda live: live.preview.text)
        house.publish(house.chat.commit(amend=(1, "Is the harbour open?")))
        await watched.until(lambda _: watched.texts == ["Is the harbour open?"])
        writer.close()
    assert not watched.told(HistoryReset)
    assert watched.told(PreviewReset) == [PreviewReset(reason=PreviewResetReason.HISTORY)]


async def test_a_message_taken_back_before_it_was_told_is_never_told(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        house.chat.commit(say="No.")
        house.publish(house.chat.commit(truncate_from=2, say="Yes."))
        await watched.until(lambda live: len(live.messages) == 2)
    assert watched.texts == ["Is the harbour open?", "Yes."]
    assert not watched.told(HistoryReset)


# -- pace ----------------------------------------------------------------------------------------


async def test_a_slow_follower_gets_joined_parts_and_misses_nothing(house: House) -> None:
    """E52: a slow subscriber never slows the turn."""
    async with house.watch() as slow:
        writer = house.run_turn("Count.")
        await slow.until(lambda live: live.status is ShownStatus.RUNNING)
        words = [f"{number} " for number in range(2000)]
        say(writer, *words)
        async with house.watch() as quick:
            await quick.until(lambda live: live.preview.text == "".join(words))
        before = len(slow.events)
        await slow.until(lambda live: live.preview.text == "".join(words))
        assert len(slow.events) - before <= 3
        house.finish_turn(writer, "".join(words))
        await slow.until(lambda live: live.status is ShownStatus.WAITING)
        assert slow.texts[-1] == "".join(words)


async def test_a_follower_that_slept_through_a_turn_gets_its_messages(house: House) -> None:
    """E52: what it was too slow for is told all the same."""
    async with house.watch() as slow, house.watch() as quick:
        house.chat.commit(status=ChatStatus.WAITING)
        await slow.take()
        for number in range(3):
            writer = house.run_turn(f"Question {number}")
            say(writer, "A long answer. " * 1000)
            house.finish_turn(writer, f"Answer {number}")
        await quick.until(lambda live: len(live.messages) == 6)
        await slow.until(lambda live: live.status is ShownStatus.WAITING and live.messages)
    assert slow.texts == quick.texts
    assert len(slow.texts) == 6


async def test_an_answer_too_long_to_keep_is_reset_then_whole_as_a_message(house: House) -> None:
    """E52: an overflow reaches a subscriber as an explicit reset followed by the full state."""
    page = "x" * 10_000
    writer = house.run_turn("Write a book.")
    for number in range(150):
        writer.append([TextDelta(text=f"<{number}>{page}")])
    async with house.watch() as late:
        live = await late.until(lambda live: live.preview.text.endswith(f"<149>{page}"))
        assert PreviewReset(reason=PreviewResetReason.OVERFLOW) in late.events
        assert live.preview.in_mid_text
        house.finish_turn(writer, "The book.")
        await late.until(lambda live: live.status is ShownStatus.WAITING)
    assert late.texts[-1] == "The book."
    assert late.live.preview.content == ()


async def test_followers_of_one_chat_share_a_read(house: House) -> None:
    async with house.watch() as first, house.watch() as second, house.watch() as third:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        for watched in (first, second, third):
            await watched.take()
        before = house.reader.reads
        house.reader.may_read.clear()
        house.publish(house.chat.commit(say="Yes."))
        async with asyncio.TaskGroup() as tasks:
            for watched in (first, second, third):
                await watched.follower.wait_for_news()
                tasks.create_task(watched.until(lambda live: len(live.messages) == 2))
            await until(lambda: house.reader.reads > before)
            house.reader.may_read.set()
        assert house.reader.reads == before + 1


async def test_a_shared_read_from_before_the_change_is_not_the_last_word(house: House) -> None:
    async with house.watch() as first, house.watch() as second:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await first.take()
        await second.take()
        house.reader.may_read.clear()
        before = house.reader.reads
        house.publish(house.chat.commit(say="Yes."))
        await first.follower.wait_for_news()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first.take())
            await until(lambda: house.reader.reads > before)
            house.publish(house.chat.commit(say="Until six."))
            await until(lambda: second.follower._hint == house.chat.change())
            tasks.create_task(second.take())
            # The second has joined the read once it has picked up the hint.
            await until(lambda: second.follower._hint is None)
            house.reader.may_read.set()
        assert second.texts == ["Is the harbour open?", "Yes.", "Until six."]


async def test_a_change_that_its_hint_tells_whole_is_not_read(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        before = house.reader.reads
        house.publish(house.chat.commit(lease_live=True))
        house.publish(house.chat.commit(next_attempt=True))
        writer = house.near.open_episode(house.chat.chat_id, house.chat.episode)
        say(writer, "Yes")
        await watched.until(lambda live: live.preview.text == "Yes")
        assert house.reader.reads == before
        writer.close()


async def test_iteration_gives_the_events_one_by_one_and_ends_at_close(house: House) -> None:
    house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
    follower = house.loop.follow(house.chat.chat_id)
    kinds: list[type] = []
    async for event in follower:
        kinds.append(type(event))
        if isinstance(event, ActionsEvent):
            asyncio.get_running_loop().call_soon(follower.close)
    assert kinds == [StatusEvent, MessageEvent, QueueEvent, ActionsEvent]
    assert house.loop.follower_count == 0


# -- trouble -------------------------------------------------------------------------------------


async def test_after_things_settle_there_is_no_live_duplicate(house: House) -> None:
    """E28: a subscriber gets a snapshot and no live duplicate within 200 ms."""
    writer = house.run_turn("Is the harbour open?")
    say(writer, "Yes.")
    house.finish_turn(writer, "Yes.")
    async with house.watch() as watched:
        await watched.take()
        await house.loop.poll()
        try:
            async with asyncio.timeout(0.2):
                while True:
                    await watched.follower.wait_for_news()
                    assert await watched.take() == ()
        except TimeoutError:
            pass
    assert watched.texts == ["Is the harbour open?", "Yes."]
    assert not watched.told(PartEvent)


async def test_lost_hints_are_found_by_polling(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        house.chat.commit(say="Yes.", status=ChatStatus.WAITING)
        await house.loop.poll()
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert watched.texts == ["Is the harbour open?", "Yes."]


async def test_a_lease_that_runs_out_is_shown_as_pending(house: House) -> None:
    async with house.watch() as watched:
        writer = house.run_turn("Is the harbour open?")
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
        held = house.chat.change()
        house.chat.lease_live = False
        await house.loop.poll()
        await watched.until(lambda live: live.status is ShownStatus.PENDING)
        house.publish(held)
        await house.loop.poll()
        assert await watched.take() == ()
        writer.close()


async def test_parts_of_an_episode_without_a_hint_wait_for_what_came_before(house: House) -> None:
    """Bug 9 of the reference: a client saw running but no parts."""
    async with house.watch() as watched:
        house.chat.commit(status=ChatStatus.WAITING)
        await watched.take()
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        house.chat.commit(lease_live=True, next_attempt=True)
        writer = house.near.open_episode(house.chat.chat_id, house.chat.episode)
        say(writer, "Yes")
        await watched.until(lambda live: live.preview.text == "Yes")
        kinds = [type(event) for event in watched.events]
        assert kinds.index(PartEvent) > kinds.index(MessageEvent)
        writer.close()


async def test_a_failing_read_loses_nothing(house: House) -> None:
    async with house.watch() as watched:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING)
        await watched.take()
        house.publish(house.chat.commit(lease_live=True))
        await watched.follower.wait_for_news()
        house.publish(house.chat.commit(say="Yes.", status=ChatStatus.WAITING))
        house.reader.fails = ConnectionError("the database is away")

        async def fails() -> bool:
            await watched.follower.wait_for_news()
            try:
                await watched.take()
            except ConnectionError:
                return True
            return False

        async with asyncio.timeout(5):
            while not await fails():
                pass
        house.reader.fails = None
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
    assert watched.texts == ["Is the harbour open?", "Yes."]


async def test_a_cancelled_take_loses_nothing(house: House) -> None:
    async with house.watch() as watched, house.watch() as other:
        house.chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        await other.take()
        house.reader.may_read.clear()
        house.publish(house.chat.commit(say="Yes."))
        await watched.follower.wait_for_news()
        await other.follower.wait_for_news()
        taking = asyncio.create_task(watched.take())
        waiting = asyncio.create_task(other.take())
        await until(lambda: house.reader.reads == 3 or taking.done())
        taking.cancel()
        await asyncio.wait((taking,))
        house.reader.may_read.set()
        await waiting
        await watched.until(lambda live: len(live.messages) == 2)
        await other.until(lambda live: len(live.messages) == 2)


async def test_polling_outlives_a_database_that_is_away() -> None:
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        replicas("memory", "") as (near, _),
        stream_loop(reader, near, poll_seconds=0.01) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        reader.fails = ConnectionError("the database is away")
        polls = reader.polls
        await until(lambda: reader.polls > polls + 1)
        reader.fails = None
        chat.commit(say="Yes.")
        await watched.until(lambda live: len(live.messages) == 2)


async def test_after_a_gap_the_database_is_asked_at_once(redis: RedisServer) -> None:
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        redis_relay(redis.url, "tw:") as relay,
        stream_loop(reader, relay) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
        await watched.take()
        chat.commit(say="Yes.")
        cut_subscribers(redis.url)
        await watched.until(lambda live: len(live.messages) == 2)


async def test_redis_away_during_a_turn_is_only_seen_as_delay(redis: RedisServer) -> None:
    """Redis may vanish and come back: nothing is lost, doubled or out of order."""
    chat = CommittedChat()
    reader = CommittedChats(chat)
    async with (
        redis_relay(redis.url, "tw:") as near,
        redis_relay(redis.url, "tw:") as far,
        stream_loop(reader, far, poll_seconds=0.02) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        house = House(chat=chat, reader=reader, near=near, far=far, loop=loop)
        chat.commit(status=ChatStatus.WAITING)
        await watched.take()
        writer = house.run_turn("Count.")
        say(writer, "one ")
        await watched.until(lambda live: live.preview.text == "one ")
        redis.stop()
        await until(lambda: not far.healthy)
        say(writer, "two ")
        house.finish_turn(writer, "one two ")
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        writer = house.run_turn("Go on.")
        say(writer, "three ")
        await watched.until(lambda live: live.status is ShownStatus.RUNNING)
        redis.start()
        await watched.until(lambda live: live.preview.text == "three ")
        say(writer, "four")
        await watched.until(lambda live: live.preview.text == "three four")
        house.finish_turn(writer, "three four")
        await watched.until(lambda live: live.status is ShownStatus.WAITING)
        assert watched.texts == ["Count.", "one two ", "Go on.", "three four"]
