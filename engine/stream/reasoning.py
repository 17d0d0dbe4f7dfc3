"""Leaves a model's reasoning out of what readers are told, where it is not switched on. Pure."""

from collections.abc import Iterable

from msgspec.structs import replace

from engine.chat.content import Message, ReasoningPart
from engine.stream.events import Event, MessageEvent, PartEvent, ReasoningDelta


def without_reasoning(message: Message) -> Message:
    """The message as people see it: the same one where it holds no reasoning."""
    shown = tuple(part for part in message.content if not isinstance(part, ReasoningPart))
    return message if len(shown) == len(message.content) else replace(message, content=shown)


def events_without_reasoning(events: Iterable[Event]) -> Iterable[Event]:
    """The events, in order, without parts that are reasoning and without reasoning in messages."""
    for event in events:
        if isinstance(event, MessageEvent):
            message = without_reasoning(event.message)
            yield event if message is event.message else MessageEvent(message=message)
        elif not (isinstance(event, PartEvent) and isinstance(event.part, ReasoningDelta)):
            yield event
