"""What a follower of a chat is told, over every relay: the same story, once, in order."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.chat.content import TextPart, ToolCallPart
from engine.chat.ids import ChatId, ToolCallId
from engine.chat.snapshot import ChatStatus
from engine.chat.view import ShownStatus
from engine.stream.errors import ChatMissing
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    RetryEvent,
    StatusEvent,
    ToolCallDelta,
)
from tests.unit.engine.stream.committed import CommittedChat
from tests.unit.engine.stream.house import OVERLOADED, RELAYS, RETRY, House, open_house, say


@pytest.fixture(params=RELAYS)
async def house(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[House]:
    async with open_house(request.param, redis_url) as opened:
        yield opened


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
