"""A follower and the buffers that it reads: the corners that no relay reaches on purpose."""

from engine.chat.snapshot import ChatStatus
from engine.stream.events import PreviewReset, PreviewResetReason, TextDelta
from engine.stream.part_buffer import PartBuffer
from engine.stream.relay_memory import MemoryRelay
from tests.unit.engine.stream.committed import CommittedChat, CommittedChats
from tests.unit.engine.stream.relays import stream_loop, watching


async def test_an_episode_that_starts_again_is_reset_and_told_from_its_beginning() -> None:
    parts = PartBuffer()
    relay = MemoryRelay(parts)
    chat = CommittedChat()
    chat.commit(ask="Is the harbour open?", status=ChatStatus.RUNNING, lease_live=True)
    async with (
        stream_loop(CommittedChats(chat), relay) as loop,
        watching(loop, chat.chat_id) as watched,
    ):
        writer = relay.open_episode(chat.chat_id, chat.episode)
        writer.append([TextDelta(text="Yes, ")])
        await watched.take()
        held = parts.chat(chat.chat_id)
        assert held is not None
        again = parts.place(held, chat.episode, anew=True)
        again.append([TextDelta(text="Yes, until six.")])
        held.tell()
        await watched.take()
        assert watched.live.preview.text == "Yes, until six."
        assert watched.told(PreviewReset) == [PreviewReset(reason=PreviewResetReason.RESENT)]
        writer.close()
    relay.close()


async def test_a_closed_follower_wakes_who_waits_and_tells_nothing_more() -> None:
    relay = MemoryRelay()
    chat = CommittedChat()
    chat.commit(ask="Is the harbour open?", status=ChatStatus.WAITING)
    async with stream_loop(CommittedChats(chat), relay) as loop:
        follower = loop.follow(chat.chat_id)
        await follower.take()
        follower.close()
        await follower.wait_for_news()
        relay.publish_change(chat.commit(say="Yes."))
        assert await follower.take() == ()
        assert [event async for event in follower] == []
    relay.close()
