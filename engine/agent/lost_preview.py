"""What people had been shown of an answer whose worker is gone, so that stopping it loses nothing."""

from engine.chat.changes import ChatChange, Episode
from engine.chat.content import (
    Content,
    Finish,
    NewMessage,
    ReasoningPart,
    Role,
    TextPart,
)
from engine.chat.snapshot import Snapshot
from engine.stream.episode import START, EpisodeBuffer
from engine.stream.events import ReasoningDelta, TextDelta
from engine.stream.relay import Relay


async def lost_preview(relay: Relay, snapshot: Snapshot) -> tuple[NewMessage, ...]:
    """The text that the last worker streamed and could not store, as a message; or nothing.

    `snapshot` is the chat as the next worker acquired it. Waits a second at most, and finds
    nothing where the relay has forgotten or never had it.
    """
    # Acquiring a chat begins a new attempt, so the last worker's is the one before.
    episode = Episode(
        history_version=snapshot.history_version, attempt=snapshot.generation_attempt - 1
    )
    subscription = relay.subscribe(snapshot.chat_id, on_change=_ignore, on_parts=_nothing)
    try:
        subscription.seek(episode)
        await subscription.wait_until_ready()
        buffer = subscription.buffer
        if buffer is None or buffer.episode != episode:
            return ()
        content = _content_of(buffer)
    finally:
        subscription.close()
    if not content:
        return ()
    return (NewMessage(role=Role.ASSISTANT, content=content, finish=Finish.INTERRUPTED),)


def _content_of(buffer: EpisodeBuffer) -> Content:
    """Text and reasoning in order. Calls that were not stored never ran, so they are left out."""
    parts: list[TextPart | ReasoningPart] = []
    for event in buffer.read(START).events:
        part = event.part
        if isinstance(part, TextDelta):
            if parts and isinstance(parts[-1], TextPart):
                part = TextDelta(text=parts.pop().text + part.text)
            parts.append(TextPart(text=part.text))
        elif isinstance(part, ReasoningDelta):
            if parts and isinstance(parts[-1], ReasoningPart):
                part = ReasoningDelta(text=parts.pop().text + part.text)
            parts.append(ReasoningPart(text=part.text))
    return tuple(parts)


def _ignore(_change: ChatChange) -> None:
    """The runner hears of changes itself."""


def _nothing() -> None:
    """Parts are read once, not followed."""
