"""How a copy of another replica's episode takes frames that come doubled, late, or not at all."""

from uuid import uuid4

from engine.chat.changes import Episode
from engine.chat.ids import ChatId
from engine.stream.episode import START
from engine.stream.events import TextDelta
from engine.stream.frames import PartsBody
from engine.stream.part_buffer import ChatParts, PartBuffer
from engine.stream.redis_mirror import _add

EPISODE = Episode(history_version=7, attempt=1)


def watched() -> tuple[PartBuffer, ChatParts]:
    parts = PartBuffer()
    return parts, parts.watch(ChatId(uuid4()), lambda: None)


def body(first_seq: int, last_seq: int, episode: Episode = EPISODE) -> PartsBody:
    """Parts first..last joined; each part's text is its own number."""
    text = "".join(f"{number} " for number in range(first_seq, last_seq + 1))
    return PartsBody(
        episode=episode, first_seq=first_seq, parts=((last_seq, TextDelta(text=text)),)
    )


def text_of(chat: ChatParts) -> str:
    assert chat.buffer is not None
    parts = [event.part for event in chat.buffer.read(START).events]
    return "".join(part.text for part in parts if isinstance(part, TextDelta))


def test_frames_that_follow_are_added_and_doubles_are_not() -> None:
    parts, chat = watched()
    assert _add(parts, chat, body(1, 2), complete=False)
    first = chat.buffer
    for frame in (body(1, 2), body(3, 3), body(3, 3), body(1, 2)):
        assert _add(parts, chat, frame, complete=False)
    assert text_of(chat) == "1 2 3 "
    assert chat.buffer is first


def test_a_gap_is_not_papered_over() -> None:
    parts, chat = watched()
    assert _add(parts, chat, body(1, 2), complete=False)
    assert not _add(parts, chat, body(4, 5), complete=False)
    assert text_of(chat) == "1 2 "


def test_a_gap_that_nobody_can_fill_is_told_as_a_loss() -> None:
    parts, chat = watched()
    assert _add(parts, chat, body(1, 2), complete=True)
    assert chat.buffer is not None
    position = chat.buffer.read(START).position
    assert _add(parts, chat, body(4, 5), complete=True)
    reading = chat.buffer.read(position)
    assert reading.lost
    assert text_of(chat) == "4 5 "


def test_an_episode_sent_again_from_its_beginning_replaces_the_copy() -> None:
    parts, chat = watched()
    assert _add(parts, chat, body(1, 2), complete=False)
    before = chat.buffer
    assert _add(parts, chat, body(1, 4), complete=True)
    assert chat.buffer is not before
    assert text_of(chat) == "1 2 3 4 "


def test_an_overlap_is_fetched_before_anything_is_given_up() -> None:
    parts, chat = watched()
    assert _add(parts, chat, body(1, 3), complete=False)
    assert not _add(parts, chat, body(2, 5), complete=False)
    assert text_of(chat) == "1 2 3 "


def test_older_episodes_are_ignored_and_newer_ones_take_over() -> None:
    parts, chat = watched()
    newer = Episode(history_version=7, attempt=2)
    assert _add(parts, chat, body(1, 1, newer), complete=False)
    assert _add(parts, chat, body(1, 9), complete=False)
    assert text_of(chat) == "1 "
    assert _add(parts, chat, body(1, 2, Episode(history_version=9, attempt=0)), complete=False)
    assert text_of(chat) == "1 2 "


def test_an_episode_that_runs_here_is_not_copied() -> None:
    parts, chat = watched()
    writer = parts.open(chat.chat_id, EPISODE)
    writer.append([TextDelta(text="ours")])
    assert _add(parts, chat, body(1, 5), complete=False)
    assert text_of(chat) == "ours"
