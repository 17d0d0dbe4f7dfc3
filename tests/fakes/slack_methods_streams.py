"""Owns chat.startStream, appendStream and stopStream of fake Slack: states, life, sizes, refusals."""

from __future__ import annotations

import copy
from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import Content, check_message_blocks, dressed, read_metadata
from tests.fakes.slack_limits import MESSAGE_BLOCKS_MAX
from tests.fakes.slack_methods_chat import find_channel, find_message, require_writable, thread_of
from tests.fakes.slack_methods_views import SESSION_STATUSES
from tests.fakes.slack_state import Channel, ChannelKind, Message
from tests.fakes.slack_stream_state import (
    STREAM_BYTES_MAX,
    STREAM_CALL_CHARS_MAX,
    TASK_FIELD_CHARS_MAX,
    LiveStream,
    StreamState,
)
from tests.fakes.slack_wire import Call, SlackError, invalid_arguments

Json = dict[str, Any]

_STATUSES = frozenset({"pending", "in_progress", "complete", "error"})
_MODES = frozenset({"timeline", "plan"})


def start(backend: Backend, call: Call) -> Json:
    """Post an empty message and stream into it. Metadata is not taken here, as on the platform."""
    channel = find_channel(backend, call)
    require_writable(call, channel)
    thread_ts = thread_of(backend, call, channel)
    if thread_ts is None:
        raise invalid_arguments("missing required field: thread_ts")
    _check_recipient(call, channel)
    mode = call.text("task_display_mode") or "timeline"
    if mode not in _MODES:
        raise invalid_arguments(f"task_display_mode must be one of {sorted(_MODES)}")
    chunks = _chunks(call)
    stream = LiveStream(started_at=backend.clock.now(), display_mode=mode)
    _check_size("", stream, chunks)
    empty = Content(text="", blocks=None, attachments=None, metadata=None)
    message = backend.post_as_bot(call.team, call.install, channel, empty, thread_ts=thread_ts)
    message.stream = stream
    _take(message, stream, chunks)
    call.team.extras(channel.id, thread_ts).session_status = "processing"
    return {"channel": channel.id, "ts": message.ts}


def append(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message, stream = _streamed(backend, call, channel)
    _require_live(backend, stream)
    chunks = _chunks(call)
    if not chunks:
        raise SlackError("no_text")
    _check_size(message.text, stream, chunks)
    _take(message, stream, chunks)
    return {"channel": channel.id, "ts": message.ts}


def stop(backend: Backend, call: Call) -> Json:
    channel = find_channel(backend, call)
    message, stream = _streamed(backend, call, channel)
    if stream.look(backend.clock.now()) is not StreamState.LIVE:
        raise SlackError("message_not_in_streaming_state")
    status = call.text("session_status") or "active"
    if status not in SESSION_STATUSES:
        raise invalid_arguments(f"unknown session_status {status}")
    chunks = _chunks(call)
    blocks = call.structure("blocks", "invalid_blocks_format") or []
    if len(blocks) > MESSAGE_BLOCKS_MAX:
        raise SlackError("msg_blocks_too_many")
    check_message_blocks(blocks)
    metadata = read_metadata(call)
    _check_size(message.text, stream, chunks)
    previous = message.snapshot()
    _take(message, stream, chunks)
    message.blocks += dressed(blocks, backend.world.new_id)
    if metadata is not None:
        message.metadata = metadata or None
    stream.state = StreamState.STOPPED
    call.team.extras(channel.id, message.thread_ts or "").session_status = status
    backend.announcer.changed(call.team, message, previous)
    return {"channel": channel.id, "ts": message.ts, "message": {"text": message.text}}


def _streamed(backend: Backend, call: Call, channel: Channel) -> tuple[Message, LiveStream]:
    message = find_message(channel, call.text("ts"))
    if message.bot is not call.install:
        raise SlackError("message_not_owned_by_app")
    if message.stream is None:
        raise SlackError("message_not_in_streaming_state")
    if message.stream.look(backend.clock.now()) is StreamState.TIMED_OUT:
        call.team.extras(channel.id, message.thread_ts or "").session_status = "active"
    return message, message.stream


def _require_live(backend: Backend, stream: LiveStream) -> None:
    match stream.look(backend.clock.now()):
        case StreamState.LIVE:
            return
        case StreamState.STOPPED_BY_USER:
            raise SlackError("stopped_by_user")
        case _:
            raise SlackError("message_not_in_streaming_state")


def _check_recipient(call: Call, channel: Channel) -> None:
    user, team = call.text("recipient_user_id"), call.text("recipient_team_id")
    if channel.kind is not ChannelKind.IM:
        if not user:
            raise SlackError("missing_recipient_user_id")
        if not team:
            raise SlackError("missing_recipient_team_id")
    if user and user not in call.team.accounts:
        raise SlackError("user_not_found")
    if team and team != call.team.id:
        raise SlackError("team_access_not_granted")


def _chunks(call: Call) -> list[Json]:
    """What the call adds. Text that comes as `markdown_text` is a chunk like any other."""
    markdown = call.args.get("markdown_text")
    chunks = call.structure("chunks", "invalid_chunks")
    if chunks is None:
        chunks = [] if markdown is None else [{"type": "markdown_text", "text": markdown}]
    elif markdown is not None:
        raise SlackError("markdown_text_conflict")
    if not isinstance(chunks, list):
        raise SlackError("invalid_chunks")
    for chunk in chunks:
        _check_chunk(chunk)
    said = sum(len(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")
    if said > STREAM_CALL_CHARS_MAX:
        raise SlackError("msg_too_long")
    return copy.deepcopy(chunks)


def _check_chunk(chunk: object) -> None:
    if not isinstance(chunk, dict):
        raise SlackError("invalid_chunks")
    match chunk.get("type"):
        case "markdown_text":
            is_sound = isinstance(chunk.get("text"), str) and bool(chunk["text"])
        case "task_update":
            fields = [chunk.get(name) for name in ("title", "details", "output") if name in chunk]
            is_sound = (
                bool(chunk.get("id"))
                and bool(chunk.get("title"))
                and chunk.get("status") in _STATUSES
                and all(isinstance(f, str) and len(f) <= TASK_FIELD_CHARS_MAX for f in fields)
            )
        case "plan_update":
            title = chunk.get("title")
            is_sound = isinstance(title, str) and 0 < len(title) <= TASK_FIELD_CHARS_MAX
        case _:
            is_sound = False
    if not is_sound:
        raise SlackError("invalid_chunks")


def _check_size(text: str, stream: LiveStream, chunks: list[Json]) -> None:
    if not chunks:
        return
    trial = copy.deepcopy(stream)
    total = _joined(text, trial, chunks)
    if len(trial.tasks) > MESSAGE_BLOCKS_MAX:
        raise SlackError("msg_blocks_too_many")
    if stream.is_too_long or len(total.encode()) + trial.task_bytes() > STREAM_BYTES_MAX:
        stream.is_too_long = True
        raise SlackError("msg_too_long")


def _take(message: Message, stream: LiveStream, chunks: list[Json]) -> None:
    message.text = _joined(message.text, stream, chunks)
    if message.text:
        message.blocks = [{"type": "markdown", "text": message.text, "block_id": "streamed"}]


def _joined(text: str, stream: LiveStream, chunks: list[Json]) -> str:
    """The text with the chunks behind it."""
    for chunk in chunks:
        if chunk["type"] == "markdown_text":
            text += chunk["text"]
        elif chunk["type"] == "task_update":
            stream.merge_task(chunk)
    return text
