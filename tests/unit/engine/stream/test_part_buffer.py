"""Live episodes of one process: told to watchers, kept a little, then gone."""

from uuid import uuid4

from engine.chat.changes import Episode
from engine.chat.ids import ChatId
from engine.stream.events import TextDelta
from engine.stream.part_buffer import PartBuffer
from tests.unit.engine.stream.relays import until

EPISODE = Episode(history_version=2, attempt=1)
LATER = Episode(history_version=2, attempt=2)


async def test_an_ended_episode_is_kept_a_little_and_then_forgotten() -> None:
    parts = PartBuffer(keep_seconds=0.01)
    chat_id = ChatId(uuid4())
    writer = parts.open(chat_id, EPISODE)
    writer.append([TextDelta(text="Yes")])
    writer.close()
    writer.close()
    assert parts.chat(chat_id) is not None
    await until(lambda: parts.chat(chat_id) is None)


async def test_an_episode_that_goes_on_is_not_forgotten() -> None:
    parts = PartBuffer(keep_seconds=0.01)
    chat_id, witness_id = ChatId(uuid4()), ChatId(uuid4())
    parts.open(chat_id, EPISODE).close()
    again = parts.open(chat_id, EPISODE)
    again.append([TextDelta(text="Yes")])
    parts.open(witness_id, EPISODE).close()
    await until(lambda: parts.chat(witness_id) is None)
    chat = parts.chat(chat_id)
    assert chat is not None
    assert chat.buffer is again.buffer


async def test_close_leaves_nothing_in_the_loop() -> None:
    parts = PartBuffer(keep_seconds=1000)
    parts.open(ChatId(uuid4()), EPISODE).close()
    (timer,) = parts._timers.values()
    parts.close()
    assert timer.cancelled()


async def test_a_writer_of_an_overtaken_episode_writes_into_the_void() -> None:
    parts = PartBuffer()
    told: list[None] = []
    chat_id = ChatId(uuid4())
    chat = parts.watch(chat_id, lambda: told.append(None))
    newer = parts.open(chat_id, LATER)
    older = parts.open(chat_id, EPISODE)
    older.append([TextDelta(text="stale")])
    assert chat.buffer is newer.buffer
    assert newer.buffer.last_seq == 0
    older.close()
    assert chat.buffer is newer.buffer
    newer.close()
    parts.close()


async def test_a_watcher_may_leave_while_it_is_told() -> None:
    parts = PartBuffer()
    chat_id = ChatId(uuid4())
    told: list[str] = []

    def leave() -> None:
        told.append("leave")
        parts.unwatch(chat_id, leave)

    def stay() -> None:
        told.append("stay")

    parts.watch(chat_id, leave)
    parts.watch(chat_id, stay)
    writer = parts.open(chat_id, EPISODE)
    writer.append([TextDelta(text="a")])
    writer.append([TextDelta(text="b")])
    assert told == ["leave", "stay", "stay"]


async def test_a_chat_nobody_writes_or_watches_takes_no_room() -> None:
    parts = PartBuffer()
    chat_id = ChatId(uuid4())

    def watcher() -> None:
        return

    parts.watch(chat_id, watcher)
    parts.unwatch(chat_id, watcher)
    assert parts.chat(chat_id) is None
