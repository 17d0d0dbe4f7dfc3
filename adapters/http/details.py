"""From requests to changes of a chat's details (pure). All mistakes are collected, then raised."""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from adapters.http.fields import Mistakes, ObjectReader
from engine.chat.details import PIN_LAST, DetailsChange
from engine.chat.ids import MessageId
from engine.chat.labels import label_mistakes

NAME_MAX: Final = 200
_KNOWN: Final = ("title", "labels", "pinned", "pin_order", "model", "records_calls")


def details_change(body: Any, *, pin_order_now: int) -> DetailsChange:
    """What is to be changed. `pinned` true leaves a chat that is pinned already where it stands."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=_KNOWN)
    if isinstance(body, dict) and not body:
        mistakes.add("body", f"names nothing to change; it may have {', '.join(_KNOWN)}")
    found = DetailsChange(
        title=_text_or_none(reader, "title"),
        labels=labels_of(reader) if "labels" in reader else UNSET,
        pin_order=_pin_order(reader, pin_order_now, mistakes),
        model=_text_or_none(reader, "model"),
        records_calls=_flag(reader, "records_calls"),
    )
    mistakes.raise_if_any()
    return found


def labels_of(reader: ObjectReader) -> dict[str, str]:
    """The field `labels`; nothing if it is absent or null."""
    raw = reader.value("labels")
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        reader.wrong("labels", "must be an object of texts; {} takes all labels away")
        return {}
    found = label_mistakes(raw)
    for key, detail in found:
        reader.wrong("labels" if key is None else f"labels.{key}", detail)
    return {} if found else raw


def read_mark(body: Any) -> MessageId | None:
    """The message up to which the caller has read; None: all there is."""
    mistakes = Mistakes()
    message_id = ObjectReader(body, mistakes, known=("message_id",)).whole("message_id")
    mistakes.raise_if_any()
    return None if message_id is None else MessageId(message_id)


def _text_or_none(reader: ObjectReader, name: str) -> str | UnsetType | None:
    """A text; null or nothing but spaces take it away."""
    if name not in reader:
        return UNSET
    text = reader.name(name, length_max=NAME_MAX, blank=True)
    return text if text is not None and text.strip() else None


def _pin_order(reader: ObjectReader, pin_order_now: int, mistakes: Mistakes) -> int | UnsetType:
    if "pinned" in reader and "pin_order" in reader:
        reader.wrong("pinned", "goes without pin_order, which says the same and more")
    if "pin_order" in reader:
        already = mistakes.count
        place = reader.whole("pin_order")
        if place is None:
            if mistakes.count == already:
                reader.wrong("pin_order", "is a place from 1 on, or 0 to unpin")
            return UNSET
        return min(place, PIN_LAST)
    if "pinned" not in reader:
        return UNSET
    if not reader.flag("pinned", default=False):
        return 0
    return UNSET if pin_order_now else PIN_LAST


def _flag(reader: ObjectReader, name: str) -> bool | UnsetType:
    return reader.flag(name, default=False) if name in reader else UNSET
