"""What goes over Redis: names of keys and channels, and the bytes of hints and parts. Pure.

A frame is its kind, the replica it comes from and a msgpack body; unknown fields are ignored, so
that replicas of two releases understand each other.
"""

from typing import Any

import msgspec
from msgspec import Struct

from engine.chat.changes import ChatChange, Episode
from engine.chat.content import ToolResultPart
from engine.chat.ids import ChatId
from engine.stream.events import LivePart, PartEvent

CHANGE = b"c"
PARTS = b"p"
ORIGIN_LENGTH = 8
ENTRY_FIELD = b"f"
"""The one field of an entry in an episode's stream: a parts frame."""


class FrameInvalid(Exception):
    """Bytes that no release before this one could have written."""


class PartsBody(Struct, frozen=True, kw_only=True):
    """Consecutive parts of an episode, joined where they could be.

    `first_seq` is the first part's number, each pair has that of the last one joined in it.
    """

    episode: Episode
    first_seq: int
    parts: tuple[tuple[int, LivePart], ...]

    @property
    def last_seq(self) -> int:
        """The last part's number."""
        return self.parts[-1][0]


# A tool's result that is not quite JSON is shown as text rather than not at all.
_encoder = msgspec.msgpack.Encoder(enc_hook=str)
_change_decoder = msgspec.msgpack.Decoder(ChatChange)
_parts_decoder = msgspec.msgpack.Decoder(PartsBody)


def chat_channel(prefix: str, chat_id: ChatId) -> bytes:
    """Where a chat's hints and parts are published."""
    return f"{prefix}{{{chat_id}}}".encode()


def wake_channel(prefix: str) -> bytes:
    """Where chats that need a worker are published, and that they have one."""
    return f"{prefix}wake".encode()


def episode_key(prefix: str, chat_id: ChatId, episode: Episode) -> bytes:
    """The stream of an episode; in the same slot as all else of its chat."""
    return f"{prefix}{{{chat_id}}}:ep:{episode.history_version}:{episode.attempt}".encode()


def encode_change(origin: bytes, change: ChatChange) -> bytes:
    """The frame of a hint."""
    return CHANGE + origin + _encoder.encode(change)


def encode_parts(origin: bytes, first_seq: int, events: list[PartEvent]) -> bytes:
    """The frame of parts, of which there is at least one."""
    pairs = tuple((event.seq, event.part) for event in events)
    body = PartsBody(episode=events[0].episode, first_seq=first_seq, parts=pairs)
    try:
        return PARTS + origin + _encoder.encode(body)
    except UnicodeEncodeError:
        mended = tuple((seq, _mend(part)) for seq, part in pairs)
        return PARTS + origin + _encoder.encode(msgspec.structs.replace(body, parts=mended))


def origin_of(frame: bytes) -> bytes:
    """The replica that sent it."""
    return frame[1 : 1 + ORIGIN_LENGTH]


def decode(frame: bytes) -> ChatChange | PartsBody:
    """What a frame says. Raises FrameInvalid."""
    kind, body = frame[:1], memoryview(frame)[1 + ORIGIN_LENGTH :]
    try:
        if kind == CHANGE:
            return _change_decoder.decode(body)
        if kind == PARTS:
            parts = _parts_decoder.decode(body)
            if parts.parts:
                return parts
    except msgspec.DecodeError as error:
        raise FrameInvalid(str(error)) from error
    raise FrameInvalid(f"a frame of kind {kind!r}")


def _mend(part: LivePart) -> LivePart:
    """The part with lone surrogates replaced; they have no place in UTF-8."""
    changes = {
        name: _mend_value(value)
        for name, value in msgspec.structs.asdict(part).items()
        if isinstance(value, str) or (name == "result" and isinstance(part, ToolResultPart))
    }
    return msgspec.structs.replace(part, **changes)


def _mend_value(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mend_value(key): _mend_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mend_value(item) for item in value]
    return value
