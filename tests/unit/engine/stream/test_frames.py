"""The bytes on Redis."""

from uuid import uuid4

import msgspec
import pytest

from engine.chat.changes import Episode
from engine.chat.content import ToolResultPart
from engine.chat.ids import ChatId, ToolCallId
from engine.stream.events import PartEvent, TextDelta
from engine.stream.frames import (
    FrameInvalid,
    PartsBody,
    chat_channel,
    decode,
    encode_change,
    encode_parts,
    episode_key,
    origin_of,
)
from tests.unit.engine.stream.committed import CommittedChat

ORIGIN = b"replica1"
EPISODE = Episode(history_version=7, attempt=2)


def test_a_hint_survives_the_wire() -> None:
    change = CommittedChat().commit(lease_live=True, wake=True)
    frame = encode_change(ORIGIN, change)
    assert decode(frame) == change
    assert origin_of(frame) == ORIGIN


def test_parts_survive_the_wire() -> None:
    result = ToolResultPart(
        tool_call_id=ToolCallId("call_1"),
        tool_name="tide_table",
        result={"high": [1, None, "\x00"]},
    )
    events = [
        PartEvent(episode=EPISODE, seq=9, part=TextDelta(text="\\u0000 \x00")),
        PartEvent(episode=EPISODE, seq=10, part=result),
    ]
    body = decode(encode_parts(ORIGIN, 4, events))
    assert isinstance(body, PartsBody)
    assert (body.first_seq, body.last_seq, body.episode) == (4, 10, EPISODE)
    assert [part for _, part in body.parts] == [event.part for event in events]


def test_lone_surrogates_anywhere_in_a_part_are_replaced() -> None:
    result = ToolResultPart(
        tool_call_id=ToolCallId("call_1"),
        tool_name="read",
        result={"\udc00key": ["\ud83d", {"ok": 1.5}]},
    )
    body = decode(encode_parts(ORIGIN, 1, [PartEvent(episode=EPISODE, seq=1, part=result)]))
    assert isinstance(body, PartsBody)
    assert body.parts[0][1] == msgspec.structs.replace(
        result, result={"\ufffdkey": ["\ufffd", {"ok": 1.5}]}
    )


def test_fields_of_a_later_release_are_ignored() -> None:
    change = CommittedChat().commit()
    fields = msgspec.to_builtins(change) | {"not_yet_invented": 1}
    frame = b"c" + ORIGIN + msgspec.msgpack.encode(fields)
    assert decode(frame) == change


@pytest.mark.parametrize("frame", [b"", b"c", b"cshort", b"x" + ORIGIN, b"p" + ORIGIN + b"\x80"])
def test_bytes_of_somebody_else_are_refused(frame: bytes) -> None:
    with pytest.raises(FrameInvalid):
        decode(frame)


def test_all_of_a_chat_lies_in_one_slot() -> None:
    chat_id = ChatId(uuid4())
    tag = f"{{{chat_id}}}".encode()
    assert tag in chat_channel("tw:", chat_id)
    assert tag in episode_key("tw:", chat_id, EPISODE)
